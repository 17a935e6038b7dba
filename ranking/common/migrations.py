"""Operations for migrations, such as indexes without downtime, and a check for half-applied squashes."""

from collections.abc import Sequence
from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db.migrations import AddIndex, CreateModel, Migration, RemoveIndex
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation


class _Beside:
    """Run `concurrent` on PostgreSQL and `plain` on SQLite (it has one writer anyway). Mix in first."""

    concurrent: Any
    plain: Any

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Apply the operation."""
        self._kind(schema_editor).database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Reverse the operation."""
        self._kind(schema_editor).database_backwards(self, app_label, schema_editor, from_state, to_state)

    def _kind(self, schema_editor: Any) -> Any:
        return self.concurrent if schema_editor.connection.vendor == "postgresql" else self.plain


class IndexAdd(_Beside, AddIndexConcurrently):
    """`AddIndex` that does not block writers on PostgreSQL. The migration needs `atomic = False`."""

    concurrent, plain = AddIndexConcurrently, AddIndex


class IndexRemove(_Beside, RemoveIndexConcurrently):
    """`RemoveIndex` that does not block writers on PostgreSQL. The migration needs `atomic = False`."""

    concurrent, plain = RemoveIndexConcurrently, RemoveIndex


class ModelsCreate(Operation):
    """Several `CreateModel`s in one step. Django would render all related models again after each step."""

    def __init__(self, operations: Sequence[CreateModel]) -> None:
        self.operations = operations

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Add the models to the state, and drop its rendered models, which Django builds again on demand."""
        state.__dict__.pop("apps", None)
        for operation in self.operations:
            operation.state_forwards(app_label, state)

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Create the tables."""
        for operation in self.operations:
            operation.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Drop the tables."""
        for operation in reversed(self.operations):
            operation.database_backwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        """Return the description that `migrate` prints."""
        return f"Create models {', '.join(operation.name for operation in self.operations)}"


def migrations_half_applied(connection: Any) -> list[Migration]:
    """Return squashed migrations that the database has only in part, while some replaced files are gone.

    Django would silently skip them and never create the missing tables.
    """
    loader = MigrationLoader(connection)
    applied, here = loader.applied_migrations or {}, loader.disk_migrations or {}
    return [
        migration
        for migration in loader.replacements.values()
        if any(one in applied for one in migration.replaces)
        and any(one not in applied and one not in here for one in migration.replaces)
    ]
