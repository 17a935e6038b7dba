"""Media: read categories, sounds, films and a picture from an entry of a parsed document.

Entries are mappings as `feedparser` makes them. Values of a wrong type count as missing. Pure.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from digest.feeds.entities import Enclosure
from digest.feeds.links import link_absolute
from digest.feeds.sanitise import guess_to_text, one_line
from ranking.common.text import fold

CATEGORIES_MAX: Final = 10
CATEGORY_MAX_CHARS: Final = 60
ENCLOSURES_MAX: Final = 5
# How many are looked at to find the few we keep.
LISTED_MAX: Final = 50
LENGTH_MAX_BYTES: Final = 1 << 40
TYPE_MAX_CHARS: Final = 60
DURATION_MAX_S: Final = 7 * 24 * 3600

_MIME: Final = re.compile(r"(?:audio|video|image)/[a-z0-9][a-z0-9.+-]{0,60}")
_FILE: Final = re.compile(
    r"application/[a-z0-9][a-z0-9.+-]{0,80}|text/(?:plain|csv|calendar|markdown|x-[a-z]{1,20})"
)
# Types that tell nothing, programs, and files named beside a post that no reader opens.
_NO_FILE: Final = re.compile(
    r"(?:application|binary)/octet-stream"
    r"|application/(?:x-shockwave-flash|(?:x-)?javascript|(?:xhtml|rss|atom|rdf)\+xml|xml|json|ogg)"
)
# Types that servers give to unknown files. A known ending of the name tells more.
_VAGUE: Final = re.compile(r"application/(?:x-)?(?:force-)?(?:download|unknown|save)|text/(?:plain|html)")
_DURATION: Final = re.compile(r"(?:(?:(\d{1,3}):)?(\d{1,3}):)?(\d{1,6})(?:\.\d{0,6})?", re.ASCII)
_ENDING: Final = re.compile(r"\.([a-z0-9]{2,7})(?:[?#].*)?\Z", re.IGNORECASE)
_TYPES: Final = {
    **{"mp3": "audio/mpeg", "m4a": "audio/mp4", "ogg": "audio/ogg", "oga": "audio/ogg", "opus": "audio/ogg"},
    **{"aac": "audio/aac", "wav": "audio/wav", "flac": "audio/flac"},
    **{"mp4": "video/mp4", "m4v": "video/mp4", "webm": "video/webm", "mov": "video/quicktime"},
    **{"jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif"},
    **{"webp": "image/webp", "avif": "image/avif"},
    **{"mkv": "video/x-matroska", "m4b": "audio/mp4", "spx": "audio/ogg", "ogv": "video/ogg"},
}
_FILES: Final = {
    **{"pdf": "application/pdf", "epub": "application/epub+zip", "mobi": "application/x-mobipocket-ebook"},
    **{"azw3": "application/vnd.amazon.ebook", "djvu": "image/vnd.djvu", "zip": "application/zip"},
    **{
        "doc": "application/msword",
        "odt": "application/vnd.oasis.opendocument.text",
        "rtf": "application/rtf",
    },
    **{"docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    **{"torrent": "application/x-bittorrent", "ics": "text/calendar", "csv": "text/csv", "txt": "text/plain"},
    **{"cbz": "application/vnd.comicbook+zip"},
}
# By the first word of a type that is odd ("mp3", "audio/*") or of `medium`.
_MEDIA: Final = {"audio": "audio/mpeg", "video": "video/mp4", "image": "image/jpeg"}
# Categories that only tell that a post was not filed.
_NO_CATEGORY: Final = frozenset({"uncategorized", "uncategorised"})


def entry_categories(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the categories of an entry as plain text, without addresses and without repeats in
    another case."""
    found: dict[str, str] = {}
    for tag in _mappings(raw.get("tags")):
        name = one_line(guess_to_text(_text(tag.get("label")) or _text(tag.get("term"))))
        if name and len(name) <= CATEGORY_MAX_CHARS and "://" not in name and fold(name) not in _NO_CATEGORY:
            found.setdefault(fold(name), name)
        if len(found) == CATEGORIES_MAX:
            break
    return tuple(found.values())


def entry_enclosures(raw: Mapping[str, Any], *, base: str) -> tuple[Enclosure, ...]:
    """Return the sounds, films, pictures and files of an entry, each address once, addresses absolute."""
    found: dict[str, Enclosure] = {}
    for one in _media_rows(raw):
        url = link_absolute(_text(one.get("url") or one.get("href")), base=base)
        is_file = "medium" not in one and "group" not in one
        place = url.partition("://")[2]  # with and without TLS it is one
        if url and place not in found and (kind := _mime_type(one, url, is_file=is_file)):
            length = _count(one.get("length") or one.get("filesize"), LENGTH_MAX_BYTES)
            found[place] = Enclosure(url, kind, length, _duration(one.get("duration")))
        if len(found) == ENCLOSURES_MAX:
            break
    return tuple(_with_durations(raw, found.values()))


# How WordPress and others name the sizes of a picture: `river-300x200.jpg`.
_SIZE: Final = re.compile(r"-[0-9]{1,5}x[0-9]{1,5}(?=\.[a-z]{3,4}\Z)", re.IGNORECASE)


def entry_image(raw: Mapping[str, Any], enclosures: Iterable[Enclosure], *, base: str, first: str) -> str:
    """Return the address of the one picture of an entry. `first` is the first picture in its HTML, or "".

    The publisher's choice comes first: a thumbnail, the cover of an episode, an enclosed picture.
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


def _media_rows(raw: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    links = [one for one in _mappings(raw.get("links")) if one.get("rel") == "enclosure"]
    return _one_each([*_mappings(raw.get("enclosures")), *links, *_mappings(raw.get("media_content"))])


def _one_each(contents: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return media of which each stands once: of the forms of one thing the default, else the largest.

    Forms of one thing are in one `media:group`, or are pictures at one path but for their size.
    """
    found: dict[tuple[object, ...], Mapping[str, Any]] = {}
    for number, one in enumerate(contents):
        url = _text(one.get("url") or one.get("href"))
        kind, path = _mime_type(one, url).partition("/")[0], _SIZE.sub("", url.partition("?")[0])
        group = one.get("group")
        key = (kind, "group", group) if group else (kind, path) if kind == "image" and path else (number,)
        if key not in found or _rank(one) > _rank(found[key]):
            found[key] = one
    return list(found.values())


def _rank(one: Mapping[str, Any]) -> tuple[bool, tuple[int, ...]]:
    """Return a sort key for the forms of one picture or sound; larger is better, and equal ones keep their
    order."""
    sizes = (_text(one.get(name)).partition(".")[0] for name in ("width", "height", "bitrate"))
    is_default = _text(one.get("isdefault")).lower() == "true"
    return is_default, tuple(int(size) if re.fullmatch("[0-9]{1,7}", size) else 0 for size in sizes)


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value[:LISTED_MAX] if isinstance(one, Mapping)] if isinstance(value, list) else []


def _mime_type(one: Mapping[str, Any], url: str, *, is_file: bool = False) -> str:
    """Return the type of a sound, film or picture, or of a file if `is_file`, or "" for anything else.

    If the type is unknown, the ending of the name decides, or else the first word of the type.
    """
    named = one_line(_text(one.get("type"))).partition(";")[0].strip().lower()
    if _MIME.fullmatch(named):
        return "" if "svg" in named else named
    found = _ENDING.search(url.partition("?")[0][-12:])
    ending = found[1].lower() if found else ""
    first = named.partition("/")[0] or _text(one.get("medium")).lower()
    is_vague = _NO_FILE.fullmatch(named) or _VAGUE.fullmatch(named)
    is_odd = not named or is_vague or not re.fullmatch("[a-z]+/[a-z0-9.+-]+", named)
    if is_odd and (media := _TYPES.get(ending) or _TYPES.get(named) or _MEDIA.get(first)):
        return media if len(named) <= TYPE_MAX_CHARS else ""
    if not is_file:
        return ""
    by_ending = _FILES.get(ending, "") if is_odd else ""
    return by_ending or (named if _FILE.fullmatch(named) and not _NO_FILE.fullmatch(named) else "")


def _with_durations(raw: Mapping[str, Any], found: Iterable[Enclosure]) -> Iterator[Enclosure]:
    """Yield the enclosures. An episode's duration goes to its first sound or film."""
    duration = _duration(raw.get("itunes_duration"))
    for one in found:
        is_timed = duration and not one.duration_s and not one.mime_type.startswith("image/")
        yield replace(one, duration_s=duration) if is_timed else one
        duration = None if is_timed else duration


def _duration(value: object) -> int | None:
    """Return the seconds in `h:mm:ss`, `m:ss` or `s`, or None if there are none or too many."""
    parts = _DURATION.fullmatch(_text(value).strip())
    if not parts:
        return None
    hours, minutes, seconds = (int(part or 0) for part in parts.groups())
    return _within(hours * 3600 + minutes * 60 + seconds, DURATION_MAX_S)


def _count(value: object, most: int) -> int | None:
    digits = _text(value).strip()
    return _within(int(digits), most) if re.fullmatch("[0-9]{1,15}", digits) else None


def _within(value: int, most: int) -> int | None:
    return value if 0 < value <= most else None


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
