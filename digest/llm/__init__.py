"""Calls of language models: providers, prices, the spend ledger. Only this folder imports `openai`."""
