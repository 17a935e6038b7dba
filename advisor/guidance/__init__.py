"""Guidance before each tool call of a run, and the memories it rests on.

`memories` derives what rows teach; `store` stores it, and what operators write, which `admission` checks. For
a call, `run_context` reads what is known, `ranking` chooses a few memories, `wording` puts them beside the
result. `engine` joins these, stops calls by rule, and stores an event of each, which `events` credits and
counts. A failure is counted and costs a run nothing.
"""
