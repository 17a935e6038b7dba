"""The JSON API of all rooms (routes, error codes, description, idempotency keys) and the MCP endpoint."""
