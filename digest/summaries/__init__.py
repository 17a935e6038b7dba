"""Summaries: extracts, summaries by a model, and the check that they are grounded."""
