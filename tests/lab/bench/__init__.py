"""What is measured, each by a command of its own."""
