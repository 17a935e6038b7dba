"""Whether what a reader agreed to still stands in their settings. Pure."""

from ranking.body import body_effective
from ranking.entities import EffectiveConfig
from ranking.matching import topic_key
from ranking.presenters import SAME_WEIGHT
from suggestions.models import Outcome, Suggestion


def undone_since(suggestion: Suggestion, decision: Outcome | None, effective: EffectiveConfig) -> bool:
    """Whether the settings are as they were before the reader agreed; unknown where they are archived."""
    if not decision or not decision.config_before:
        return False
    before, target = body_effective(decision.config_before), suggestion.target_key
    if suggestion.field == Suggestion.Field.SOURCE_WEIGHTS:
        return abs(before.weight(target) - effective.weight(target)) < SAME_WEIGHT
    key = topic_key(target)
    had, has = (key in map(topic_key, one.config.topics) for one in (before, effective))
    return had == has
