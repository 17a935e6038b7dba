"""Formats of dates and times where a page names none, as in the admin."""
