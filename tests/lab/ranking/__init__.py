"""Compare the order of items with the later choices of readers in open histories."""
