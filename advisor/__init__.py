"""Owns: the agent — its loop, tools, prompts, planner, reviewers, memories, runs and their audit.
Takes in: a reader's feedback, config and outcomes through tools; turns from a model chain.
Gives out: proposals (never changes) and an audit row for each thing it did.
May import: suggestions (not its `resolve` door), digest, ranking (not its services).
"""
