"""Which database a command works on, in words for whoever called it."""

from django.db import connections

KINDS = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


def database_told(*, using: str = "default") -> str:
    """`SQLite, FILE` or `PostgreSQL, NAME at HOST:PORT`; never a user or a password."""
    connection = connections[using]
    told = connection.settings_dict
    words = f"{KINDS.get(connection.vendor, connection.vendor)}, {told['NAME']}"
    if connection.vendor == "sqlite":
        return words
    host = told.get("HOST") or "this machine"
    return f"{words} at {host}:{told['PORT']}" if told.get("PORT") else f"{words} at {host}"
