"""Changes of a reader's settings: one value, and one file for each kind of them."""
