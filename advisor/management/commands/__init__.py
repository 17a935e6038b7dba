"""Commands of the advisor room."""
