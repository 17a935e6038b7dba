"""What the advisor room can be asked to do."""
