"""Mail and feeds of digests: content, rendering, who is due, sending, signed links, syndication."""
