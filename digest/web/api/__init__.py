"""The JSON API, and each reader's own feed as Atom and JSON Feed."""
