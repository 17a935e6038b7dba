"""Feeds: what the peers' suites state about documents, against what is read here."""
