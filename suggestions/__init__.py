"""Owns: proposals, the rules they must pass, evidence, decisions, outcomes and the preference profile.
Takes in: drafts by `services.propose` (the agent's door); answers by `services.resolve`, `undo`, `drafts`.
Gives out: pending suggestions, outcomes in three layers and their effects, hypotheses with forecasts.
May import: digest, ranking. Never talks to a model.
"""
