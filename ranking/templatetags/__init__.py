"""Template filters of the ranking room."""
