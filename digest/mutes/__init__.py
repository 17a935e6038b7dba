"""What readers have muted: changing it, looking at its effect first, and its page."""
