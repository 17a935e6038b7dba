"""Guidance, measured in situations that can occur in production: `python -m tests.lab guidance`."""
