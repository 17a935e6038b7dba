"""Guidance before each tool call of a run, and the memories it rests on.

`memories` derives memories from rows. `store` stores them, and operators' own, which `admission` checks. For
a call, `run_context` reads the known facts, `ranking` chooses a few memories, and `wording` puts them beside
the result. `engine` joins these, stops calls by rule, and stores an event of each, which `events` credits and
counts. A failure is counted and costs a run nothing.
"""
