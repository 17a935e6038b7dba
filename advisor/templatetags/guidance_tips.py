"""A tip for whoever opens a page, for rooms that know nothing of guidance."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils import timezone

from advisor.guidance.tips import tip_for
from digest.readers import fetched_ahead

register = template.Library()


@register.inclusion_tag("advisor/_tip.html", takes_context=True)
def guidance_tip(context: Mapping[str, Any]) -> dict[str, Any]:
    """The tip of `tip_for`, once a page; none for a page that a browser fetches before anybody asked."""
    request = context["request"]
    tip = None if fetched_ahead(request) else tip_for(reader_id=request.user.pk, now=timezone.now())
    return {"tip": tip, "here": request.path, "csrf_token": context.get("csrf_token")}
