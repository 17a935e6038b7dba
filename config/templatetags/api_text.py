"""Template filters for the API's documentation page."""

import re

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.filter
def code_spans(text: str) -> SafeString:
    """Return escaped text with `<code>` around parts between backticks."""
    return mark_safe(re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text)))


@register.filter
def breakable(path: str) -> SafeString:
    """Return an escaped path or name that can break after `/`, `.` or `_` on a narrow screen."""
    return mark_safe(re.sub(r"([/._])(?=.)", r"\1<wbr>", escape(path)))
