"""Reviewers of a proposal: the reflector, the panel, and the rules that vote where no model does."""
