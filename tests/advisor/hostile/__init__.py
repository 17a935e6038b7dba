"""The advisor against a model that does whatever an injection tells it to."""
