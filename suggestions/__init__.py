"""Owns: proposals, the rules they must pass, evidence, decisions, outcomes and the preference profile.
Takes in: drafts by `services.propose` (the agent's door), decisions by `services.resolve` (a person's).
Gives out: pending suggestions, outcomes in three layers, hypotheses with forecasts.
May import: digest, ranking. Never talks to a model.
"""
