"""`manage.py migrate`: Django's command with the checks of settings and the database, and fewer words."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.core.checks import Tags
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.executor import MigrationExecutor

from config.shared_sqlite3.base import DatabaseWrapper
from ranking.common.start import CHECKED

# With one of these options more than "bring everything up to date" is asked for.
SPECIAL: Final = ("app_label", "plan", "check_unapplied", "prune", "run_syncdb")


class Command(migrate.Command):
    """Bring the tables up to date, without loading any page. If they are, say so in one line."""

    requires_system_checks = [*CHECKED, Tags.database]

    def handle(self, *args: Any, **options: Any) -> None:
        """Apply what is missing. Errors are Django's own."""
        with _alone(options["database"]):
            self._migrate(*args, **options)

    def _migrate(self, *args: Any, **options: Any) -> None:
        is_plain = options["verbosity"] == 1 and not any(options[name] for name in SPECIAL)
        if not is_plain or _missing(options["database"]):
            super().handle(*args, **options)
            return
        super().handle(*args, **{**options, "verbosity": 0})
        self.stdout.write("The database is up to date.")


@contextmanager
def _alone(database: str) -> Iterator[None]:
    """Let the migrations of a new database follow at once: a first start waited 3 s in 27 pauses."""
    connection = connections[database]
    if not isinstance(connection, DatabaseWrapper) or connection.introspection.table_names():
        yield
        return
    connection.is_shared = False
    try:
        yield
    finally:
        connection.is_shared = True


def _missing(database: str) -> bool:
    """Return whether a migration is to be applied."""
    executor = MigrationExecutor(connections[database])
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
