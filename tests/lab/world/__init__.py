"""A simulated world with known truth: topics, sources, items, readers. Arrays and no database. Pure."""
