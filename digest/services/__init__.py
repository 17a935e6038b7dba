"""What the digest room can be asked to do."""
