"""The value of meaning vectors over words."""
