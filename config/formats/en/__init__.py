"""Formats of the English pages."""
