"""The meaning of a text as a vector: texts with the same meaning are close even if they share no word."""
