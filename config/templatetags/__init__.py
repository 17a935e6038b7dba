"""Template filters of config."""
