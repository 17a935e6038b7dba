"""Guidance, measured on what can occur in production: `python -m tests.lab guidance`."""
