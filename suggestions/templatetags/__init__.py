"""Template tags of the suggestions room; templates of any room may load them."""
