"""Template tags: the panel of a reader's runs, whether thumbs are too few for one, and the tip of a page."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils import timezone
from django.utils.translation import gettext as _

from advisor.guidance.tips import tip_for
from advisor.run.status_words import script_messages
from advisor.run.why_none import NO_WORKER, THIN_DATA, advice_off, run_outcome, why_none
from advisor.run_values import BY_PLANNER
from advisor.selectors import ACTIVE_STATUSES, feedback_is_thin
from digest.models import Reader
from digest.requests import is_seen

register = template.Library()


def run_panel_of(*, reader: Reader, pending: int) -> dict[str, Any]:
    """Return the data of the "Generate" panel: why none waits, last run, texts; at most six queries."""
    why = why_none(reader=reader, now=timezone.now())
    last, active = why.last, why.last if why.last and why.last.status in ACTIVE_STATUSES else None
    return {
        "pending": pending,
        "why": why,
        "active": active,
        "last": None if active else last,
        "by_planner": _(BY_PLANNER) if last and last.message == BY_PLANNER else "",
        "outcome": run_outcome(last) if last else "",
        "missing": why.words if why.code == THIN_DATA else "",
        "no_worker": _(NO_WORKER) if why.idle else "",
        "words": script_messages(),
    }


@register.inclusion_tag("advisor/_run_panel.html", takes_context=True)
def run_panel(context: Mapping[str, Any], pending: int) -> dict[str, Any]:
    """Render the panel for the reader of the page."""
    panel = run_panel_of(reader=context["request"].user, pending=pending)
    return {**panel, "csrf_token": context.get("csrf_token")}


@register.simple_tag(takes_context=True)
def suggestions_lack_thumbs(context: Mapping[str, Any]) -> bool:
    """Return whether the reader has some thumbs, but too few for the suggestions they want; one query."""
    reader = context["request"].user
    return not advice_off(reader) and feedback_is_thin(reader_id=reader.pk)


@register.inclusion_tag("advisor/_tip.html", takes_context=True)
def guidance_tip(context: Mapping[str, Any]) -> dict[str, Any]:
    """Render the reader's tip, unless a browser prefetches the page."""
    request = context["request"]
    tip = tip_for(reader_id=request.user.pk, now=timezone.now()) if is_seen(request) else None
    return {"tip": tip, "here": request.path, "csrf_token": context.get("csrf_token")}
