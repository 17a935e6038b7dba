"""Template filters of this room."""
