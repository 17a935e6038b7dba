"""The state of a reader's runs, for pages of rooms that may not know of runs."""

from collections.abc import Mapping
from typing import Any

from django import template

from advisor.pages import run_panel_of

register = template.Library()


@register.inclusion_tag("advisor/_run_panel.html", takes_context=True)
def run_panel(context: Mapping[str, Any], pending: int) -> dict[str, Any]:
    """The panel of `run_panel_of` for whoever asks for the page."""
    reader = context["request"].user
    panel = run_panel_of(reader_id=reader.pk, pending=pending)
    return {**panel, "wanted": reader.suggestions_enabled, "csrf_token": context.get("csrf_token")}
