"""What remembering costs, and what the outcome check finds."""
