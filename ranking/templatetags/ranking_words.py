"""The words of `ranking.presenters`, for templates."""

from collections.abc import Mapping
from typing import Any

from django import template

from ranking import presenters
from ranking.selectors import SnapshotRow

register = template.Library()


@register.filter
def change_words(change: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """One change of a config as a sentence."""
    return presenters.change_words(change, names)


@register.filter
def learned_words(step: SnapshotRow) -> str:
    """One step of the learning loop as a sentence."""
    return presenters.learned_words(step.before, step.after, step.reason)
