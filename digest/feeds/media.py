"""Media: what an entry of a parsed document brings beside its text: categories, sounds, films, a picture.

Entries are mappings as `feedparser` makes them; values of wrong types count as missing. Pure.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from digest.feeds.entities import Enclosure
from digest.feeds.links import link_absolute
from digest.feeds.sanitise import one_line, title_to_text
from ranking.common.text import fold

CATEGORIES_MAX: Final = 10
CATEGORY_MAX_CHARS: Final = 60
ENCLOSURES_MAX: Final = 5
# Looked at before the first so many good ones are found.
LISTED_MAX: Final = 50
LENGTH_MAX_BYTES: Final = 1 << 40
DURATION_MAX_S: Final = 7 * 24 * 3600

_MIME: Final = re.compile(r"(?:audio|video|image)/[a-z0-9][a-z0-9.+-]{0,60}")
_DURATION: Final = re.compile(r"(?:(?:(\d{1,3}):)?(\d{1,3}):)?(\d{1,6})(?:\.\d{0,6})?", re.ASCII)
_ENDING: Final = re.compile(r"\.([a-z0-9]{2,4})(?:[?#].*)?\Z", re.IGNORECASE)
_TYPES: Final = {
    **{"mp3": "audio/mpeg", "m4a": "audio/mp4", "ogg": "audio/ogg", "oga": "audio/ogg", "opus": "audio/ogg"},
    **{"aac": "audio/aac", "wav": "audio/wav", "flac": "audio/flac"},
    **{"mp4": "video/mp4", "m4v": "video/mp4", "webm": "video/webm", "mov": "video/quicktime"},
    **{"jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif"},
    **{"webp": "image/webp", "avif": "image/avif"},
}
# What says only that a post was not filed.
_NO_CATEGORY: Final = frozenset({"uncategorized", "uncategorised"})
# What the fast parser leaves out of an item.
_ITEM: Final = re.compile(r"<(?:item|entry)(?=[\s>])")
_ITUNES_DURATION: Final = re.compile(r"<itunes:duration[^<>]*+>\s*+([0-9:.]{1,16})\s*+<")
_ITUNES_IMAGE: Final = re.compile(r"<itunes:image\s[^<>]*?\bhref\s*+=\s*+[\"']([^\"'<>]++)")
_THUMBNAIL: Final = re.compile(r"<media:thumbnail\s[^<>]*?\burl\s*+=\s*+[\"']([^\"'<>]++)")


def media_complete(entries: Iterable[Any], text: str) -> None:
    """Add to each of `entries` the iTunes fields and the thumbnail that the XML document `text` has for it.

    Items and entries are matched by their order; where their numbers differ, nothing is added.
    """
    if not any(name in text for name in ("<itunes:", "<media:thumbnail")):
        return
    entries, items = list(entries), _ITEM.split(text)[1:]
    if len(items) != len(entries):
        return
    for entry, item in zip(entries, items, strict=True):
        if found := _ITUNES_DURATION.search(item):
            entry["itunes_duration"] = found[1]
        if found := _ITUNES_IMAGE.search(item):
            entry["image"] = {"href": found[1].replace("&amp;", "&")}
        if found := _THUMBNAIL.search(item):
            entry["media_thumbnail"] = [{"url": found[1].replace("&amp;", "&")}]


def entry_categories(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the categories of an entry as plain text, each once whatever its case, without addresses."""
    found: dict[str, str] = {}
    for tag in _mappings(raw.get("tags")):
        name = title_to_text(_text(tag.get("label")) or _text(tag.get("term")))
        if name and len(name) <= CATEGORY_MAX_CHARS and "://" not in name and fold(name) not in _NO_CATEGORY:
            found.setdefault(fold(name), name)
        if len(found) == CATEGORIES_MAX:
            break
    return tuple(found.values())


def entry_enclosures(raw: Mapping[str, Any], *, base: str) -> tuple[Enclosure, ...]:
    """Return the sounds, films and pictures of an entry, each address once, addresses absolute."""
    found: dict[str, Enclosure] = {}
    for one in _listed(raw):
        url = link_absolute(_text(one.get("url") or one.get("href")), base=base)
        if url and url not in found and (kind := _mime_type(one, url)):
            length = _count(one.get("length") or one.get("filesize"), LENGTH_MAX_BYTES)
            found[url] = Enclosure(url, kind, length, _duration(one.get("duration")))
        if len(found) == ENCLOSURES_MAX:
            break
    return tuple(_with_durations(raw, found.values()))


def entry_image(raw: Mapping[str, Any], enclosures: Iterable[Enclosure], *, base: str, first: str) -> str:
    """Return the address of the one picture of an entry; `first` is the first in its HTML, "" for none.

    The publisher's own choice comes first: a thumbnail, the cover of an episode, an enclosed picture.
    """
    image = raw.get("image")
    contents = _mappings(raw.get("media_content"))
    named = (
        *(one.get("url") for one in _mappings(raw.get("media_thumbnail"))),
        *(one.get("thumbnail_url") for one in contents),
        image.get("href") if isinstance(image, Mapping) else image,
        raw.get("banner_image"),
        *(one.url for one in enclosures if one.mime_type.startswith("image/")),
        first,
    )
    return next((url for one in named if (url := link_absolute(_text(one), base=base))), "")


def _listed(raw: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from _mappings(raw.get("enclosures"))
    yield from (one for one in _mappings(raw.get("links")) if one.get("rel") == "enclosure")
    yield from _mappings(raw.get("media_content"))


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value[:LISTED_MAX] if isinstance(one, Mapping)] if isinstance(value, list) else []


def _mime_type(one: Mapping[str, Any], url: str) -> str:
    """Return the type of a sound, film or picture, by its name where none is given; "" for anything else."""
    named = one_line(_text(one.get("type"))).partition(";")[0].strip().lower()
    if named in ("", "application/octet-stream"):
        ending = _ENDING.search(url.partition("?")[0][-12:])
        medium = _text(one.get("medium"))
        named = _TYPES.get(ending[1].lower() if ending else "", "image/jpeg" if medium == "image" else "")
    return named if _MIME.fullmatch(named) and "svg" not in named else ""


def _with_durations(raw: Mapping[str, Any], found: Iterable[Enclosure]) -> Iterator[Enclosure]:
    """Yield the enclosures; an episode's duration goes to its first sound or film."""
    duration = _duration(raw.get("itunes_duration"))
    for one in found:
        is_timed = duration and not one.duration_s and not one.mime_type.startswith("image/")
        yield replace(one, duration_s=duration) if is_timed else one
        duration = None if is_timed else duration


def _duration(value: object) -> int | None:
    """Return the seconds in `h:mm:ss`, `m:ss` or `s`; None where there are none or too many."""
    parts = _DURATION.fullmatch(_text(value).strip())
    if not parts:
        return None
    hours, minutes, seconds = (int(part or 0) for part in parts.groups())
    return _bounded(hours * 3600 + minutes * 60 + seconds, DURATION_MAX_S)


def _count(value: object, most: int) -> int | None:
    digits = _text(value).strip()
    return _bounded(int(digits), most) if re.fullmatch("[0-9]{1,15}", digits) else None


def _bounded(value: int, most: int) -> int | None:
    return value if 0 < value <= most else None


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
