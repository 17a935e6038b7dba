"""Ground floor of every room: text matching, admin bases, retention, bulk rows, migration operations."""
