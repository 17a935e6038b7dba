"""Rows of the list of sources, built in Python.

At a thousand sources, a template took four fifths of the page's time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django import template
from django.urls import reverse
from django.utils.html import escape, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from digest.articles.favicons import favicon_box
from digest.sources.list_page import TROUBLES, SourceLine
from ranking.setting_scale import LEVELS, level_words

register = template.Library()
# A longer name may be cut in a row of figures.
NAME_CHARS = 18
ROW = """<li data-source="{}" data-also="{}" data-level="{}"{}>
<input type="checkbox" name="feed" value="{}" form="many" aria-label="{}">
<div class="who"><p>{}<strong><a href="{}" dir="auto"{}>{}</a></strong>{} <span class="meta">{}{}</span></p>
{}<p class="meta state">{}{}</p>
<p class="figures meta"><span>{}</span><span>{}</span><span>{}</span><span>{}</span></p></div>
<div class="act"><span class="levels" role="group" aria-label="{}">{}</span>{}
<a href="{}" aria-label="{}">{}</a></div></li>"""


@dataclass(frozen=True, slots=True)
class _Words:
    """The texts of all rows, translated once."""

    choose: str
    from_it: str
    change: str
    change_it: str
    retry: str
    retry_it: str
    at_address: str
    levels: Mapping[str, str]


@register.simple_tag
def source_rows(lines: Sequence[SourceLine]) -> SafeString:
    """Return a list item for each source: checkbox, name, status, figures, levels and links."""
    items, page = reverse("digest:all"), reverse("digest:source", args=[0]).removesuffix("0")
    words = _Words(
        choose=_("Choose {name}"),
        from_it=_("How much from {name}"),
        change=_("Change"),
        change_it=_("Change {name}"),
        retry=_("Retry"),
        retry_it=_("Retry {name}"),
        at_address=_("{name} at {address}"),
        levels={level: level_words(level) for level in LEVELS},
    )
    return format_html_join("\n", ROW, (_cells(line, items, page, words) for line in lines))


def _cells(line: SourceLine, items: str, page: str, words: _Words) -> tuple[object, ...]:
    """Return the values for `ROW`. Each name is escaped once."""
    feed, name = line.subscription.feed, escape(line.name)
    pk, address = feed.pk, escape(line.address)
    exact = f"<span data-exact>· {line.exact}</span> " if line.exact else ""
    retry_it = words.retry_it.format(name=name)
    retry = (
        f'<button class="text" form="many" name="fetch" value="{pk}" aria-label="{retry_it}">'
        f"{words.retry}</button>"
    )
    called = words.at_address.format(name=name, address=address) if address else name
    return (
        feed.source_id,
        line.also,
        line.level,
        SafeString("" if line.trouble else " data-well"),
        pk,
        SafeString(words.choose.format(name=name)),
        favicon_box(feed.source),
        f"{items}?{urlencode({'source': feed.source_id})}",
        SafeString(f' title="{name}"' if len(line.name) > NAME_CHARS else ""),
        name,
        SafeString(f' <span class="tail meta">· {escape(line.tail)}</span>' if line.tail else ""),
        SafeString(exact),
        f"· {line.remarks}" if line.remarks else "",
        SafeString(f'<p class="meta address">{address}</p>' if address else ""),
        SafeString(_trouble(line)),
        line.health,
        line.unread,
        line.pace,
        line.came,
        line.liked,
        SafeString(words.from_it.format(name=name)),
        SafeString("".join(_button(*level, pk, line.level) for level in words.levels.items())),
        SafeString(retry if line.trouble else ""),
        f"{page}{pk}",
        SafeString(words.change_it.format(name=called)),
        words.change,
    )


def _button(level: str, words: str, pk: int, current: str) -> str:
    pressed = "true" if level == current else "false"
    return f'<button form="many" name="{level}" value="{pk}" aria-pressed="{pressed}">{words}</button>'


def _trouble(line: SourceLine) -> str:
    why = {"moved": f"{escape(line.moved)} ", "empty": f"{_('It answers, but has had no item so far.')} "}
    if not line.trouble:
        return ""
    words = why.get(line.trouble, "")
    return f'<strong class="trouble">{_(TROUBLES[line.trouble])}</strong> · {words}'
