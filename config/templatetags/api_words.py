"""How the page about the API writes words and paths."""

import re

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.filter
def ticked(text: str) -> SafeString:
    """Escaped text with what stands between backticks as code."""
    return mark_safe(re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text)))


@register.filter
def breakable(path: str) -> SafeString:
    """An escaped path or name that a narrow screen may break after a `/`, `.` or `_`."""
    return mark_safe(re.sub(r"([/._])(?=.)", r"\1<wbr>", escape(path)))
