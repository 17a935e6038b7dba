"""Template tags of the digest room. Templates of any room may load them."""
