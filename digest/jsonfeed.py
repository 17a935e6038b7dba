"""JSON Feed 1.0 and 1.1 (jsonfeed.org) as the same mappings that the XML parsers give."""

import json
from typing import Any

from digest.feeds import FeedProblem


def json_feed(text: str) -> dict[str, Any]:
    """The feed's own fields, and its entries under "entries". Wrong types read as missing.

    Raises `FeedProblem`: `malformed`, `too_deep`, `not_a_feed`.
    """
    try:
        found = json.loads(text)
    except RecursionError as error:
        raise FeedProblem("too_deep", "The JSON document is nested too deep.") from error
    except ValueError as error:
        raise FeedProblem("malformed", f"The JSON document is broken ({str(error)[:150]}).") from error
    if not isinstance(found, dict) or not isinstance(found.get("items"), list):
        raise FeedProblem("not_a_feed", "This JSON document is no JSON Feed: it has no list of items.")
    return {
        "title": found.get("title"),
        "link": found.get("home_page_url"),
        "language": found.get("language"),
        "entries": [_entry(item) for item in found["items"] if isinstance(item, dict)],
    }


def _entry(item: dict[str, Any]) -> dict[str, Any]:
    contents = (("text/html", item.get("content_html")), ("text/plain", item.get("content_text")))
    return {
        "id": item.get("id"),
        "link": item.get("url") or item.get("external_url"),
        "title": item.get("title"),
        "content": [{"type": kind, "value": value} for kind, value in contents if value],
        "description": item.get("summary"),
        "author": _author(item),
        "language": item.get("language"),
        "published": item.get("date_published"),
        "updated": item.get("date_modified"),
    }


def _author(item: dict[str, Any]) -> object:
    authors = item.get("authors") or [item.get("author")]
    first = authors[0] if isinstance(authors, list) and authors else None
    return first.get("name") if isinstance(first, dict) else first
