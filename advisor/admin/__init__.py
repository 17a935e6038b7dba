"""The advisor for operators: runs and reviews to look at; guidance, its rules and insights."""

from advisor.admin import guidance, runs

__all__ = ["guidance", "runs"]
