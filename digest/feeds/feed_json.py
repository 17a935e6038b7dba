"""Feed JSON: the text of a JSON Feed document to the fields that `digest.feeds.parse` reads. Pure."""

import json
from math import isfinite
from typing import Any

from digest.feeds.entities import FeedProblem
from ranking.language import gettext_noop

JSON: str = "json"


def feed_json_read(text: str) -> dict[str, Any]:
    """Return the feed's own fields, with its entries under "entries", named as feedparser names them.

    Raises `FeedProblem`: `too_deep`, `malformed`, `not_a_feed`.
    """
    try:
        # Line breaks and tabs that a publisher forgot to escape within a text are read as they are.
        found = json.loads(text, strict=False)
    except RecursionError as error:
        raise FeedProblem("too_deep", gettext_noop("The JSON document is nested too deep.")) from error
    except ValueError as error:
        raise FeedProblem("malformed", f"The JSON document is broken ({str(error)[:150]}).") from error
    if not isinstance(found, dict) or not isinstance(found.get("items"), list):
        raise FeedProblem(
            "not_a_feed", gettext_noop("This JSON document is no JSON Feed: it has no list of items.")
        )
    return {
        "version": JSON,
        "title": found.get("title"),
        "link": found.get("home_page_url"),
        "language": found.get("language"),
        "authors": _authors(found),
        "entries": [_entry(item) for item in found["items"] if isinstance(item, dict)],
    }


def _entry(item: dict[str, Any]) -> dict[str, Any]:
    contents = (("text/html", item.get("content_html")), ("text/plain", item.get("content_text")))
    return {
        "id": item.get("id"),
        "link": item.get("url") or item.get("external_url"),
        "title": item.get("title"),
        "content": [{"type": kind, "value": value, "declared": True} for kind, value in contents if value],
        "summary": item.get("summary"),
        "summary_detail": {"type": "text/plain", "declared": True},
        "authors": _authors(item),
        "language": item.get("language"),
        "published": item.get("date_published"),
        "updated": item.get("date_modified"),
        "tags": [{"term": tag} for tag in _list(item.get("tags"))],
        "enclosures": [_attachment(one) for one in _list(item.get("attachments")) if isinstance(one, dict)],
        "image": item.get("image"),
        "banner_image": item.get("banner_image"),
    }


def _authors(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the authors of a feed or an item. Version 1.0 has one `author`, and some write it as a
    string."""
    authors = _list(found.get("authors")) or [found.get("author")]
    return [one if isinstance(one, dict) else {"name": one} for one in authors if one]


def _attachment(one: dict[str, Any]) -> dict[str, Any]:
    return {
        "url": one.get("url"),
        "type": one.get("mime_type"),
        "length": one.get("size_in_bytes"),
        "duration": _whole(one.get("duration_in_seconds")),
    }


def _whole(value: object) -> object:
    """Return a number of seconds without its fraction."""
    return int(value) if isinstance(value, float) and isfinite(value) else value


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
