"""OAuth 2.1 for assistants: the page that asks a reader, and the endpoints that issue tokens."""
