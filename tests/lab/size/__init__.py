"""How large the product is, and how many of its files a change of one thing passes through."""
