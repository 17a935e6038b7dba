"""Django's backend for SQLite, for processes that share a file and its one write lock."""
