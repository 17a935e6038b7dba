"""Template tags: the panel of a reader's runs, whether thumbs are too few for one, and the tip of a page."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django import template
from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from advisor.guidance.tips import tip_for
from advisor.run.status_words import last_run_message, script_messages
from advisor.run_values import BY_PLANNER
from advisor.selectors import (
    feedback_is_thin,
    feedback_missing,
    run_active,
    run_last,
    run_reason,
    run_suggestions_count,
)
from digest.requests import is_seen

register = template.Library()


def run_panel_of(*, reader_id: UUID, pending: int) -> dict[str, Any]:
    """Return the data of the "Generate" panel: last run, missing feedback, texts; four queries."""
    last, active = run_last(reader_id=reader_id), run_active(reader_id=reader_id)
    created = run_suggestions_count(run_id=last.pk) if last else 0
    return {
        "pending": pending,
        "active": active,
        "last": None if active else last,
        "by_planner": _(BY_PLANNER) if last and last.message == BY_PLANNER else "",
        "outcome": last_run_message(last.status, created, run_reason(last)) if last else "",
        "missing": feedback_missing(reader_id=reader_id),
        "words": script_messages(),
    }


@register.inclusion_tag("advisor/_run_panel.html", takes_context=True)
def run_panel(context: Mapping[str, Any], pending: int) -> dict[str, Any]:
    """Render the panel for the reader of the page."""
    reader = context["request"].user
    panel = run_panel_of(reader_id=reader.pk, pending=pending)
    return {**panel, "wanted": reader.suggestions_enabled, "csrf_token": context.get("csrf_token")}


@register.simple_tag(takes_context=True)
def suggestions_lack_thumbs(context: Mapping[str, Any]) -> bool:
    """Return whether the reader has some thumbs, but too few for the suggestions they want; one query."""
    reader = context["request"].user
    wanted = settings.ADVISOR_ENABLED and reader.suggestions_enabled
    return wanted and feedback_is_thin(reader_id=reader.pk)


@register.inclusion_tag("advisor/_tip.html", takes_context=True)
def guidance_tip(context: Mapping[str, Any]) -> dict[str, Any]:
    """Render the reader's tip, unless a browser prefetches the page."""
    request = context["request"]
    tip = tip_for(reader_id=request.user.pk, now=timezone.now()) if is_seen(request) else None
    return {"tip": tip, "here": request.path, "csrf_token": context.get("csrf_token")}
