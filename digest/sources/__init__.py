"""Sources of a reader: subscriptions, adding and changing them, lists, and their pages."""
