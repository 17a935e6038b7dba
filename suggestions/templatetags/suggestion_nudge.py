"""Tags for pages below suggestions: the number of pending ones, and the offer after an interview."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils import timezone

from digest.requests import reader_of
from suggestions.selectors import suggestions_pending_count
from suggestions.services.ordering import OrderOffer, order_offer

register = template.Library()


@register.simple_tag(takes_context=True)
def suggestions_waiting(context: Mapping[str, Any]) -> int:
    """Return the number of pending suggestions; 0 if they are off or hidden for a week. One query."""
    reader = reader_of(context["request"])
    quiet = reader.nudge_quiet_until is not None and reader.nudge_quiet_until > timezone.now()
    if quiet or not reader.suggestions_enabled:
        return 0
    return suggestions_pending_count(reader_id=reader.pk)


@register.simple_tag(takes_context=True)
def order_offered(context: Mapping[str, Any]) -> OrderOffer | None:
    """Return the offer to order the page by the reader's thumbs, or `None`."""
    return order_offer(reader=reader_of(context["request"]), now=timezone.now())
