"""Mails of digests: content, rendering, due times, sending and signed links."""
