"""Render stored HTML for a page: our own picture URLs, and tables that scroll.

The stored HTML is cleaned once more by the policy it was stored under. So nothing runs, even if a stranger
wrote to the database, and it has exactly the spelling that this module parses. Pure.
"""

import html
import re
from collections.abc import Callable, Sequence
from typing import Final, Literal

from digest.feeds.body_html import html_recheck
from digest.feeds.mails import UNSUBSCRIBE
from ranking.language import gettext as _

Mode = Literal["shown", "tap", "never"]
Href = Callable[[str], str]

# Matches every tag that nh3 writes. In texts and attribute values it writes an angle bracket as an entity.
_TAG: Final = re.compile(r'<(/?)([a-z][a-z0-9]*)((?: [a-z-]+="[^"]*")*)>')
# Up to the address of a picture as it is stored. nh3 writes each attribute once.
_PICTURE_ADDRESS: Final = re.compile(r'(<img(?: [a-z-]+="[^"]*")*?) data-src=')
_ATTRIBUTE: Final = re.compile(r' ([a-z-]+)="([^"]*)"')
_SCROLLS: Final = '<div class="scrolls" role="group" aria-label="{}" tabindex="0">'
_COPIED: Final = ("title", "width", "height")


def article_render(stored: str, *, pictures: Mode, href: Href) -> str:
    """Return stored HTML for a page.

    `href` turns a picture's address into a URL on our site. `pictures` is the reader's choice: "shown", "tap"
    or "never". Links open a new tab, because going back would show our page from its top.
    """

    def rewritten(tag: re.Match[str]) -> str:
        closing, name, rest = tag.groups()
        if name == "img":
            return _picture(dict(_ATTRIBUTE.findall(rest)), pictures, href)
        if name == "table":
            return "</table></div>" if closing else f"{_SCROLLS.format(_('Table'))}<table{rest}>"
        if name == "pre" and not closing:
            return f'<pre{rest} tabindex="0">'
        if name == "a" and not closing and 'href="mailto:' not in rest:
            return f'<a{rest} target="_blank">'
        return tag[0]

    cleaned = html_recheck(stored).replace(f">{UNSUBSCRIBE}</a>", f">{_(UNSUBSCRIBE)}</a>")
    return _TAG.sub(rewritten, _unlink_pictures(cleaned) if pictures == "tap" else cleaned)


def _unlink_pictures(cleaned: str) -> str:
    """Move pictures out of links, behind them: one tap cannot both open a link and show a picture."""
    parts: list[str] = []
    link, pictures, at = 0, list[str](), 0
    for tag in _TAG.finditer(cleaned):
        parts.append(cleaned[at : tag.start()])
        at, name = tag.end(), tag[2]
        if name == "a" and tag[1]:
            if pictures and not "".join(parts[link + 1 :]).strip():
                del parts[link:]  # Drop a link that has no words left.
            else:
                parts.append(tag[0])
            parts += pictures
            pictures.clear()
            link = 0
        elif name == "a":
            link = len(parts)
            parts.append(tag[0])
        elif name == "img" and link:
            pictures.append(tag[0])
        else:
            parts.append(tag[0])
    return "".join([*parts, cleaned[at:]])


def addresses_render(stored: str) -> str:
    """Return stored HTML for a program: pictures have their publisher's address in `src`."""

    return _PICTURE_ADDRESS.sub(r"\1 src=", html_recheck(stored))


def pictures_render(addresses: Sequence[str], *, pictures: Mode, href: Href) -> str:
    """Return the pictures at `addresses` as HTML, for pictures that the text does not contain."""
    return "".join(_picture({"data-src": html.escape(one)}, pictures, href) for one in addresses)


def pictures_in(stored: str) -> set[str]:
    """Return the addresses of the pictures in stored HTML."""
    return {
        html.unescape(value)
        for _, name, rest in _TAG.findall(stored)
        if name == "img"
        for key, value in _ATTRIBUTE.findall(rest)
        if key == "data-src"
    }


def _picture(found: dict[str, str], mode: Mode, href: Href) -> str:
    """Return one picture as the reader's mode `mode` wants it. The values in `found` are escaped already."""
    alt = found.get("alt", "")
    address = html.unescape(found.get("data-src", ""))
    if mode == "never" or not address:
        words = _("Picture: {alt}").format(alt=alt) if alt else _("Picture")
        return f'<span class="no-picture">{words}</span>'
    more = "".join(f' {name}="{found[name]}"' for name in _COPIED if name in found)
    source = html.escape(href(address))
    picture = (
        f'<img src="{source}" alt="{alt}"{more} loading="lazy" decoding="async" referrerpolicy="no-referrer">'
    )
    if mode == "shown":
        return picture
    # Browsers do not fetch a lazy picture in a closed disclosure.
    words = _("Show picture: {alt}").format(alt=alt) if alt else _("Show picture")
    return f'<details class="picture"><summary>{words}</summary>{picture}</details>'
