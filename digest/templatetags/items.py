"""Template tags for the parts of a page that repeat per item, and for favicons."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.safestring import SafeString

from digest.models import Source
from digest.web.pages import item_parts

register = template.Library()


@register.simple_tag(takes_context=True)
def item_part(context: Mapping[str, Any], name: str, *values: Any) -> SafeString:
    """Return the output of the macro `name` in `templates/jinja2/items.html` for `values`."""
    return item_parts.item_part(context["request"], name, *values)


@register.simple_tag(takes_context=True)
def favicon(context: Mapping[str, Any], source: Source) -> SafeString:
    """Return a source's favicon in a box; a letter if it has none or the reader wants no pictures."""
    return item_parts.favicon(context["user"], source)
