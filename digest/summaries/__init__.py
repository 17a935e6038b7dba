"""Summaries: extracts, summaries by a model, and the check that a summary is grounded in its text."""
