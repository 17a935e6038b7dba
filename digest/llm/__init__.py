"""The door to language models: the only importer of `openai`."""
