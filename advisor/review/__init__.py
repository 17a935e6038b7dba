"""Reviewers of a proposal: the reflector, the panel, and the checks that decide without a model."""
