"""Template tags of the advisor, for templates of any room."""
