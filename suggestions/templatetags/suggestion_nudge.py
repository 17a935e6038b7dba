"""How many suggestions wait, for pages of rooms that know nothing of suggestions."""

from collections.abc import Mapping
from typing import Any

from django import template

from digest.pages import NUDGE_DISMISSED
from suggestions.selectors.pending import suggestions_pending_count

register = template.Library()


@register.simple_tag(takes_context=True)
def suggestions_waiting(context: Mapping[str, Any]) -> int:
    """How many suggestions wait for the reader's word: one query; 0 and none once told to be quiet."""
    request = context["request"]
    if request.session.get(NUDGE_DISMISSED):
        return 0
    return suggestions_pending_count(reader_id=request.user.pk)
