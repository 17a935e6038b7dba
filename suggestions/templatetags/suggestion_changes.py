"""Tags for pages below suggestions: the effect of a change on today's page, and an early change to offer."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from digest.daily.changes import OrderChange, change_words
from digest.requests import reader_of
from ranking.config_words import LEARNED_FROM_ANSWERS, LEARNED_OVERNIGHT, cause_words
from ranking.selectors import config_version
from suggestions.services.early import EarlyChange, early_change_find

register = template.Library()


@register.simple_tag(takes_context=True)
def early_change(context: Mapping[str, Any]) -> EarlyChange | None:
    """Return the early change to offer the reader of the page; `None` if there is none."""
    return early_change_find(reader=reader_of(context["request"]), now=timezone.now())


@register.inclusion_tag("suggestions/_change.html", takes_context=True)
def change_strip(context: Mapping[str, Any], change: OrderChange) -> dict[str, Any]:
    """Return the strip about `change`: why, the moves, a link to read more. One query at most."""
    cause = LEARNED_FROM_ANSWERS if change.answers else LEARNED_OVERNIGHT
    # Answers that moved no weight show in likeness alone, which no page lists.
    href = f"{reverse('ranking:versions')}#learned" if change.cycle else ""
    if change.version:
        row = config_version(reader_id=reader_of(context["request"]).pk, version=change.version)
        cause = cause_words(row.cause, row.cause_ref) if row else _("Your settings changed")
        href = reverse("ranking:version", args=[change.version])
    return {
        "change": change,
        "cause": _(cause),
        "words": change_words(change),
        "href": href,
        "csrf_token": context.get("csrf_token"),
    }
