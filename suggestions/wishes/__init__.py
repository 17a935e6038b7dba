"""Read a reader's wish in plain words as changes of settings, by a grammar and without a model."""
