"""Audit: timeline of a run, figures, health, autonomy."""
