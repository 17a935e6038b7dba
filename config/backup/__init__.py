"""Backups: archives, and moving between databases."""
