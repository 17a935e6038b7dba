"""The advisor against a model that obeys every injection."""
