"""Guidance's benchmark on the real services: stored, found, ranked, gated, and all of it undone."""
