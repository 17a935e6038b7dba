"""Open histories of readers below TIDINGS_DATA, and what the advisor makes of them."""
