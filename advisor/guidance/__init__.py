"""Guidance before each tool call of a run, and the memories it rests on.

`memories` derives what rows teach; `store` stores it, and what operators write. For a call, `run_context`
reads what is known, `conditions` stops it by rule, `ranking` chooses a few memories, and `wording` puts them
beside the result. `engine` joins these and stores an event of each call, which `events` credits and counts. A
failure is counted and costs a run nothing.
"""
