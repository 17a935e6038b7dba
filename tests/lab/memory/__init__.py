"""The cost of memory, and the findings of the outcome check."""
