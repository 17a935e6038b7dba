"""Parts of pages that come once an item, and the favicon of a source."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.safestring import SafeString

from digest.models import Source
from digest.web import item_parts

register = template.Library()


@register.simple_tag(takes_context=True)
def item_part(context: Mapping[str, Any], name: str, *values: Any) -> SafeString:
    """Return what the macro `name` of `templates/jinja2/items.html` makes of `values`."""
    return item_parts.item_part(context["request"], name, *values)


@register.simple_tag(takes_context=True)
def favicon(context: Mapping[str, Any], source: Source) -> SafeString:
    """Return the favicon of a source in a box of its own, a letter where there is none or none is wanted."""
    return item_parts.favicon(context["user"], source)
