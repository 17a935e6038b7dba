"""Writes of the suggestions room: proposing, deciding, settling drafts, expiring."""
