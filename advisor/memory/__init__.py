"""What outlives a run: curated insights (Markdown files, reviewed like code) and patterns over many readers.

`insights` reads the files, `patterns` sums up readers, `recall` finds what may help; the service that
stores them is `advisor.services.memories`. No model writes here.
"""
