"""What vectors of meaning tell that words do not."""
