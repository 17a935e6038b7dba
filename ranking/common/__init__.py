"""Helpers for every room: text matching, admin base classes, retention, bulk rows, migration operations."""
