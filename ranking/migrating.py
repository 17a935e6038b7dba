"""Indexes of large tables made and dropped beside the code at work, on both databases."""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db.migrations import AddIndex, RemoveIndex


class _Beside:
    """What PostgreSQL does, and what SQLite does, which has one writer at a time. Mix in first."""

    concurrent: Any
    plain: Any

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Do it, by what this database can."""
        self._kind(schema_editor).database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Take it back, by what this database can."""
        self._kind(schema_editor).database_backwards(self, app_label, schema_editor, from_state, to_state)

    def _kind(self, schema_editor: Any) -> Any:
        return self.concurrent if schema_editor.connection.vendor == "postgresql" else self.plain


class IndexAdd(_Beside, AddIndexConcurrently):
    """`AddIndex` that on PostgreSQL keeps nobody from writing, in a migration with `atomic = False`."""

    concurrent, plain = AddIndexConcurrently, AddIndex


class IndexRemove(_Beside, RemoveIndexConcurrently):
    """`RemoveIndex` that on PostgreSQL keeps nobody from writing, in a migration with `atomic = False`."""

    concurrent, plain = RemoveIndexConcurrently, RemoveIndex
