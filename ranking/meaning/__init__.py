"""What a text is about, as a vector: texts that mean the same are close even if they share no word."""
