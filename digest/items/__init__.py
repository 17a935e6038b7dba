"""Items: stories, vectors, search, what a reader may see, read and save."""
