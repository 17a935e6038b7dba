"""A tag for pages below suggestions: the changes that a reader's own words beside a rating ask for."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.utils import timezone

from digest.requests import reader_of
from suggestions.services.wishes import WishOffer, wish_offer

register = template.Library()


@register.simple_tag(takes_context=True)
def wish_written(context: Mapping[str, Any], lines: Sequence[str]) -> WishOffer | None:
    """Return the changes that one of these lines clearly asks for, or `None`. Three queries, or none."""
    return wish_offer(reader=reader_of(context["request"]), lines=lines, now=timezone.now())
