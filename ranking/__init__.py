"""The ranking room: configs and their versions, learned weights, scoring, similarity.

Its input is `Candidate`s and plain counts. A source is a text key here, never a feed. Its output is scores
with a breakdown, and the effective config, which only this room may write. It imports no other room.
"""
