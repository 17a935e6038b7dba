"""Commands of the suggestions room."""
