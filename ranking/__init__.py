"""The ranking room: configs and their versions, learned weights, scoring, similarity.

It takes `Candidate`s and plain tallies; sources are text keys, never feeds. It gives scores with their
breakdown, the effective config, and the only write path to it. It imports no other room.
"""
