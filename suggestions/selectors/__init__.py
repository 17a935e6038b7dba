"""What the suggestions room can be asked; each reader's answer holds that reader's rows alone."""

from suggestions.selectors.facts import facts_for
from suggestions.selectors.hypotheses import hypotheses_for
from suggestions.selectors.outcomes import outcomes_detail, outcomes_search, outcomes_timeline
from suggestions.selectors.pending import (
    profile_for,
    suggestion_for,
    suggestions_created_between,
    suggestions_pending,
)
from suggestions.selectors.preview import preview_of, suggestion_preview, suggestion_previews

__all__ = [
    "facts_for",
    "hypotheses_for",
    "outcomes_detail",
    "outcomes_search",
    "outcomes_timeline",
    "preview_of",
    "profile_for",
    "suggestion_for",
    "suggestion_preview",
    "suggestion_previews",
    "suggestions_created_between",
    "suggestions_pending",
]
