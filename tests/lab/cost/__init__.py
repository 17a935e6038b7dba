"""The cost of a typical run of the advisor."""
