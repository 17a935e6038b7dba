"""Feedback: ratings and their reasons, import and export, trends, and other readers' ratings."""
