"""The advisor's tables: runs and their audit, reviews, memories and guidance."""

from advisor.models.memory import GuidanceEvent, GuidanceInsight, GuidanceRule, Memory, Tip
from advisor.models.runs import Decision, Heartbeat, Judgment, PanelVote, Run, Spent, Step

__all__ = [
    "Decision",
    "GuidanceEvent",
    "GuidanceInsight",
    "GuidanceRule",
    "Heartbeat",
    "Judgment",
    "Memory",
    "PanelVote",
    "Run",
    "Spent",
    "Step",
    "Tip",
]
