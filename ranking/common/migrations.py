"""Indexes of large tables created and dropped while the site is up, on both databases."""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db.migrations import AddIndex, RemoveIndex


class _Beside:
    """Run `concurrent` on PostgreSQL and `plain` on SQLite, which has one writer at a time. Mix in first."""

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
    """`AddIndex` that on PostgreSQL does not block writers, in a migration with `atomic = False`."""

    concurrent, plain = AddIndexConcurrently, AddIndex


class IndexRemove(_Beside, RemoveIndexConcurrently):
    """`RemoveIndex` that on PostgreSQL does not block writers, in a migration with `atomic = False`."""

    concurrent, plain = RemoveIndexConcurrently, RemoveIndex
