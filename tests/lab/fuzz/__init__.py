"""The API tried by schemathesis."""
