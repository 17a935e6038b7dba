"""Run commands in a temporary copy of the demo, with its own database and folder.

The commands cannot touch the site's tables, cache, mail or nightly run. The folder is always deleted.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from ranking.common.commands import manage_command, sigterm_as_exit


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command: its exit code, its output, and the end of its log."""

    code: int
    output: str
    log: str


LOG_CHARS = 2000


def throwaway_run(arguments: Sequence[str], *, environment: Mapping[str, str]) -> CommandResult:
    """Run `manage.py ARGUMENTS` with a new empty database, and `environment` added to this process's own.

    The database is deleted at the end, also after Ctrl-C or SIGTERM.
    """
    with sigterm_as_exit(), TemporaryDirectory(prefix="tidings-", ignore_cleanup_errors=True) as folder:
        alone = {
            "DATABASE_URL": f"sqlite:///{folder}/tidings.sqlite3",
            "TIDINGS_VAR_DIR": folder,
            "REDIS_URL": "",
            "ALLOWED_HOSTS": "127.0.0.1",
            "EMAIL_URL": "dummymail://",
            "ALERT_EMAILS": "",
            "DATABASE_POOL": "0",
        }
        whole = {**os.environ, **alone, **environment}
        migrated = _manage(["migrate", "-v0"], whole)
        return migrated if migrated.code else _manage(arguments, whole)


def _manage(arguments: Sequence[str], environment: Mapping[str, str]) -> CommandResult:
    pipe, command = subprocess.PIPE, manage_command(*arguments)
    with subprocess.Popen(command, env=dict(environment), stdout=pipe, stderr=pipe, text=True) as process:
        try:
            output, log = process.communicate()
        finally:
            # No process may still write into the folder while it is deleted.
            process.kill()
            process.wait()
    return CommandResult(process.returncode, output, log[-LOG_CHARS:])
