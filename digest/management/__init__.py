"""Commands of the digest room."""
