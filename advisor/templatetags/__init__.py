"""Template tags of the advisor room; templates of any room may load them."""
