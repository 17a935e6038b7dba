"""Extracts and the grounding check on publishers' own summaries."""
