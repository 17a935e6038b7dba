"""How many suggestions wait, for pages of rooms that know nothing of suggestions."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils import timezone

from digest.readers import reader_of
from suggestions.selectors.pending import suggestions_pending_count

register = template.Library()


@register.simple_tag(takes_context=True)
def suggestions_waiting(context: Mapping[str, Any]) -> int:
    """How many suggestions wait for the reader's word: one query; 0 and none where they are switched off, or
    for a week once told to be quiet."""
    reader = reader_of(context["request"])
    quiet = reader.nudge_quiet_until is not None and reader.nudge_quiet_until > timezone.now()
    if quiet or not reader.suggestions_enabled:
        return 0
    return suggestions_pending_count(reader_id=reader.pk)
