"""Links to feeds: which feeds a web page names, where sites usually have them, and typed addresses. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urljoin, urlsplit

from digest.feeds.identity import canonical_url
from digest.feeds.sanitise import one_line, title_to_text

FEED_TYPES: Final = frozenset(
    {
        "application/rss+xml",
        "application/atom+xml",
        "application/feed+json",
        "application/rdf+xml",
        "application/json",
        "application/xml",
        "text/xml",
    }
)
# Where sites have their feed when no page of theirs names it, most usual first.
USUAL_PATHS: Final = ("/feed", "/rss.xml", "/atom.xml", "/index.xml", "/feed.json")
# Links to feeds are in the head of a page; the rest of a large page is not worth reading.
HTML_MAX_CHARS: Final = 512 * 1024
LINKS_MAX: Final = 10
TITLE_MAX_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class LinkedFeed:
    """A feed that a page names. `title` is the page's name for it, or ""."""

    url: str
    title: str


def site_address(text: str) -> str:
    """Return the address of what a reader typed: `example.org` and `//example.org` mean https.

    `feed:` addresses, which some programs use, become web addresses. Nothing else is checked.
    """
    text = text.strip()
    if text.lower().startswith("feed://"):
        return f"https://{text[7:]}"
    if text.lower().startswith(("feed:http://", "feed:https://")):
        return text[5:]
    if text.startswith("//"):
        return f"https:{text}"
    return f"https://{text}" if _is_bare(text) else text


def site_addresses(text: str) -> tuple[str, ...]:
    """Return the addresses to try: `site_address`, then the same over http where no scheme was typed."""
    address, text = site_address(text), text.strip()
    bare = _is_bare(text) or text.startswith("//")
    return (address, f"http:{address.removeprefix('https:')}") if bare else (address,)


def _is_bare(text: str) -> bool:
    return bool(text) and "://" not in text


def page_feeds(markup: str, *, url: str) -> list[LinkedFeed]:
    """Return the feeds that the page at `url` names by `<link rel=alternate>`, in its order, at most ten.

    Comments feeds of blogs come last: hardly anybody looks for those.
    """
    parser = _LinkParser()
    parser.feed(markup[:HTML_MAX_CHARS])
    base = _join(url, parser.base) or url
    found: dict[str, LinkedFeed] = {}
    for href, title in parser.links:
        address = canonical_url(_join(base, href))
        if address and address not in found:
            found[address] = LinkedFeed(address, one_line(title_to_text(title), limit=TITLE_MAX_CHARS))
    return sorted(found.values(), key=_is_about_comments)[:LINKS_MAX]


def usual_addresses(url: str) -> Sequence[str]:
    """Return where the site of the page at `url` may have a feed that no page names."""
    parts = urlsplit(url)
    return [f"{parts.scheme}://{parts.netloc}{path}" for path in USUAL_PATHS]


def _is_about_comments(feed: LinkedFeed) -> bool:
    return "comments" in feed.url.lower() or "comments" in feed.title.lower()


def _join(base: str, href: str) -> str:
    try:
        return urljoin(base, href.strip())
    except ValueError:
        return ""  # brackets that are no IPv6 address


class _LinkParser(HTMLParser):
    """Collect feed links and the base address."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[tuple[str, str]] = []
        self.base = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("link", "base"):
            return
        attributes = {name: value or "" for name, value in attrs}
        if tag == "base":
            self.base = self.base or attributes.get("href", "")
            return
        kind = attributes.get("type", "").partition(";")[0].strip().lower()
        relations = attributes.get("rel", "").lower().split()
        is_feed = "alternate" in relations and kind in FEED_TYPES and "hreflang" not in attributes
        if attributes.get("href") and (is_feed or "feed" in relations):
            self.links.append((attributes["href"], attributes.get("title", "")))
