"""The advisor for operators: runs and reviews to look at; guidance, its rules and insights."""

from advisor.admin import curated, guidance, runs

__all__ = ["curated", "guidance", "runs"]
