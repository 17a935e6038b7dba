"""Feeds: fetch, rate limit, sandbox, parse, identity, dedupe, ingest, poll, subscribe, OPML, discovery."""
