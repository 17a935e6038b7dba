"""Owns: proposals, the rules for them, evidence, decisions, outcomes and the preference profile.
Takes in: drafts by `services.lifecycle` (the agent), answers by `services.resolve` and `services.drafts`.
Gives out: pending suggestions, outcomes in three layers and their effects, hypotheses with forecasts.
May import: digest, ranking. Never talks to a model.
"""
