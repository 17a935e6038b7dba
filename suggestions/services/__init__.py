"""What the suggestions room can be asked to do."""
