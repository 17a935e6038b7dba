"""Rows of the list of sources. Of a thousand, a template took four fifths of the page's time."""

from collections.abc import Sequence

from django import template
from django.urls import reverse
from django.utils.html import escape, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from digest.articles.favicons import favicon_box
from digest.web.source_list import SourceLine
from ranking.levels import LEVELS

register = template.Library()
ROW = """<li data-source="{}" data-folder="{}">
<input type="checkbox" name="feed" value="{}" form="many" aria-label="Choose {}">
<div class="who"><p>{}<strong><a href="{}" dir="auto">{}</a></strong> <span class="meta">{}{}</span></p>
{}<p class="meta">{}{}</p></div>
<div class="act"><span class="levels" role="group" aria-label="How much from {}">{}</span>{}
<a href="{}" aria-label="Change {}">Change</a></div></li>"""


@register.simple_tag
def source_rows(lines: Sequence[SourceLine]) -> SafeString:
    """Return a list item for each source: its box, what is known of it, its levels and its links."""
    items, page = reverse("digest:all"), reverse("digest:source", args=[0]).removesuffix("0")
    return format_html_join("\n", ROW, (_cells(line, items, page) for line in lines))


def _cells(line: SourceLine, items: str, page: str) -> tuple[object, ...]:
    """Return the values of `ROW`, each name escaped once."""
    feed, name = line.subscription.feed, escape(line.name)
    pk, address = feed.pk, escape(line.address)
    exact = f"<span data-exact>· {line.exact}</span> " if line.exact else ""
    retry = (
        f'<button class="text" form="many" name="fetch" value="{pk}" aria-label="Retry {name}">Retry</button>'
    )
    return (
        feed.source_id,
        line.folder,
        pk,
        name,
        favicon_box(feed.source),
        f"{items}?{urlencode({'source': feed.source_id})}",
        name,
        SafeString(exact),
        f"· {line.remarks}" if line.remarks else "",
        SafeString(f'<p class="meta address">{address}</p>' if address else ""),
        SafeString(_trouble(line)),
        line.health,
        name,
        SafeString("".join(_button(level, pk, line.level) for level in LEVELS)),
        SafeString(retry if line.trouble else ""),
        f"{page}{pk}",
        SafeString(f"{name} at {address}" if address else name),
    )


def _button(level: str, pk: int, current: str) -> str:
    pressed = "true" if level == current else "false"
    return f'<button form="many" name="{level}" value="{pk}" aria-pressed="{pressed}">{level}</button>'


def _trouble(line: SourceLine) -> str:
    why = {"moved": f"{escape(line.moved)} ", "empty": "It answers, but has had no item so far. "}
    if not line.trouble:
        return ""
    words = why.get(line.trouble, "")
    return f'<strong class="trouble">{line.trouble.title()}</strong> · {words}'
