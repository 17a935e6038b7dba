"""Owns: what order, and why — configs and their versions, learned deltas, scoring, posteriors, forecasts.
Takes in: frozen `Candidate`s and plain tallies; sources are text keys, never feeds.
Gives out: scores with their parts, the effective config, the only write path to it.
May import: no other room.
"""
