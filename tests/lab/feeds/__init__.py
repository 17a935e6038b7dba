"""Feeds: compare the statements of peers' test suites about documents with our reading."""
