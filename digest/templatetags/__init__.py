"""Template tags of the digest room; templates of any room may load them."""
