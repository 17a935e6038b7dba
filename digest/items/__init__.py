"""Items: stories, vectors, search, and the items that a reader may see, reads and saves."""
