"""Accounts: sign-up, sign-in, tokens, export and deletion."""
