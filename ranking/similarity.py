"""Likeness of items to what a reader found useful. Pure."""
