"""Commands of the config room."""
