"""Saved searches of readers: in the list of sources, on the search page, and over the API."""
