"""Indexes of large tables made and dropped beside the code at work, on both databases."""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db.migrations import AddIndex, RemoveIndex

POSTGRESQL = "postgresql"


class IndexAdd(AddIndexConcurrently):
    """`AddIndex` that keeps nobody from writing meanwhile, in a migration with `atomic = False`.

    PostgreSQL makes the index concurrently; SQLite, which knows one writer at a time, as ever.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Make the index."""
        kind = AddIndexConcurrently if schema_editor.connection.vendor == POSTGRESQL else AddIndex
        kind.database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Drop it again."""
        kind = AddIndexConcurrently if schema_editor.connection.vendor == POSTGRESQL else AddIndex
        kind.database_backwards(self, app_label, schema_editor, from_state, to_state)


class IndexRemove(RemoveIndexConcurrently):
    """`RemoveIndex` that keeps nobody from writing meanwhile, in a migration with `atomic = False`."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Drop the index."""
        kind = RemoveIndexConcurrently if schema_editor.connection.vendor == POSTGRESQL else RemoveIndex
        kind.database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Make it again."""
        kind = RemoveIndexConcurrently if schema_editor.connection.vendor == POSTGRESQL else RemoveIndex
        kind.database_backwards(self, app_label, schema_editor, from_state, to_state)
