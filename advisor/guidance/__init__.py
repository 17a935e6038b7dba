"""Guidance before each tool call of a run: what is known that this call should know, and no more.

Memories are admitted (`distilling`), found and ranked (`retrieval`, `ranking`), let through or held back
(`gate`), and told in few words (`wording`); `engine` puts these together within its budget of time. Only
deterministic rules block (`predicates`). A failure here is counted and costs the run nothing.
"""
