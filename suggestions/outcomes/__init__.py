"""Outcomes of suggestions: decisions, the check after two weeks, the preference profile."""
