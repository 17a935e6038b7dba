"""Commands of the config room, one a file."""
