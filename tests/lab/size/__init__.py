"""The size of the product, and the number of files that one change touches."""
