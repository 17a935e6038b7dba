"""Audit: the figures of an installation to watch, and the autonomy report."""
