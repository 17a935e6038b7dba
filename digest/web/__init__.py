"""Pages and the JSON API of the digest room."""
