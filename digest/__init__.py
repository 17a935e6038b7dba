"""Owns: readers, feeds, items, digests, impressions, feedback, and the spend ledger.
Takes in: HTTP (`digest.feeds`) and language models (`digest.llm`, the only importer of `openai`).
Gives out: candidates, digests, feedback and its aggregates.
May import: ranking.
"""
