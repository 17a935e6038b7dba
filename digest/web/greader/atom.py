"""Streams as Atom documents, as clients from before the JSON of Google Reader ask for them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from xml.etree import ElementTree as ET

from digest.web.syndication import ATOM, element_add

GR: Final = "http://www.google.com/schemas/reader/atom/"
# Of the categories that are states and labels.
SCHEME: Final = "http://www.google.com/reader/"
TAG: Final = "tag:google.com,2005:reader/"


def atom_write(page: Mapping[str, Any]) -> bytes:
    """Return a page of a stream, as `stream/contents` answers it, as an Atom document (RFC 4287).

    States and labels are categories of the scheme that Google Reader had; the rest are the publisher's.
    """
    ET.register_namespace("", ATOM)
    root = ET.Element(f"{{{ATOM}}}feed")
    element_add(root, "id", f"{TAG}{page['id']}")
    element_add(root, "title", page["items"][0]["origin"]["title"] if page["items"] else page["id"])
    element_add(root, "updated", _moment(page["updated"]))
    if page.get("continuation"):
        ET.SubElement(root, f"{{{GR}}}continuation").text = page["continuation"]
    for item in page["items"]:
        entry = element_add(root, "entry")
        element_add(entry, "id", item["id"])
        element_add(entry, "title", item["title"], type="text")
        element_add(entry, "published", _moment(item["published"]))
        element_add(entry, "updated", _moment(item["updated"]))
        for link in item["alternate"]:
            element_add(entry, "link", rel="alternate", href=link["href"], type="text/html")
        for link in item.get("enclosure", ()):
            element_add(entry, "link", rel="enclosure", href=link["href"], type=link["type"])
        element_add(element_add(entry, "author"), "name", item.get("author") or item["origin"]["title"])
        for name in item["categories"]:
            ours = {"scheme": SCHEME, "label": name.rpartition("/")[2]} if name.startswith("user/") else {}
            element_add(entry, "category", term=name, **ours)
        element_add(entry, "content", item["summary"]["content"], type="html")
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
