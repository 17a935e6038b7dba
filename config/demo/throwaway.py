"""A world of the demo's that is thrown away: a database of its own in a folder of its own.

Nothing of it reaches the site's tables, cache, mail or night, and nothing is left of it, whatever happens.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from ranking.common.commands import manage_command, sigterm_as_exit


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit code, what it printed, the end of its log."""

    code: int
    output: str
    log: str


LOG_CHARS = 2000


def throwaway_run(arguments: Sequence[str], *, environment: Mapping[str, str]) -> Ended:
    """Run `manage.py ARGUMENTS` in a fresh world with `environment` over this process's own.

    The world is deleted however this ends, Ctrl-C and SIGTERM included.
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


def _manage(arguments: Sequence[str], environment: Mapping[str, str]) -> Ended:
    pipe, command = subprocess.PIPE, manage_command(*arguments)
    with subprocess.Popen(command, env=dict(environment), stdout=pipe, stderr=pipe, text=True) as process:
        try:
            output, log = process.communicate()
        finally:
            # Nobody may be left who writes into a folder that is being deleted.
            process.kill()
            process.wait()
    return Ended(process.returncode, output, log[-LOG_CHARS:])
