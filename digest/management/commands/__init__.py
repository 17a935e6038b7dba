"""Commands of the digest room, one a file."""
