"""Open histories of readers below TIDINGS_DATA, and the advisor's results on them."""
