"""Guidance before each tool call of a run, and the memories it rests on.

`memories` derives what rows teach and `store` keeps it; `curated` holds what operators write. For a call,
`facts` reads what is known, `conditions` stops it by rule, `ranking` and `gate` choose a few memories, and
`wording` puts them beside the result. `engine` joins these; a failure here is counted and costs a run
nothing.
"""
