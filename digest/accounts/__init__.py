"""Accounts: sign-up, tokens, deletion, export."""
