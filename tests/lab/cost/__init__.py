"""What a typical run of the advisor costs."""
