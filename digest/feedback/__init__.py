"""Feedback: ratings and their reasons, import and export, trends, ratings of other readers."""
