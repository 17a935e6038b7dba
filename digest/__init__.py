"""The digest room. It owns readers, feeds, items, digests, impressions, feedback and the spend ledger.

It talks to the web (`digest.feeds`) and to language models (`digest.llm`, the only importer of `openai`).
Other rooms get candidates, digests, feedback and sums over feedback from it. It may import ranking.
"""
