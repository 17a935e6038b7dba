"""Read the words of Google Reader's clients: ids of items, names of streams, moments, and requests.

As in the API's description by its users (https://feedhq.readthedocs.io/en/latest/api/). Pure.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Final
from urllib.parse import unquote

ITEM: Final = "tag:google.com,2005:reader/item/"
STATE: Final = "user/-/state/com.google/"
LABEL: Final = "user/-/label/"
FEED: Final = "feed/"
TODAY, USEFUL, NOT_USEFUL = "Today", "Useful", "Not useful"
# The label of a saved search begins so.
SEARCH: Final = "Search: "
SIZE: Final = 20
# The most items and ids in one answer. A continuation leads to the rest.
CONTENTS_MAX, IDS_MAX = 1_000, 10_000
MICROSECONDS: Final = 1_000_000
# The last second that a date can hold.
SECONDS_MAX: Final = 253_402_300_799
ID_MAX: Final = 2**63 - 1
# The ending of a folder's id, if the folder has the name of a label.
FOLDER_END: Final = " (folder)"
# Some clients leave out the user, or all but the name of a state: `state/com.google/read`, `reading-list`.
_USER: Final = re.compile(r"(?:user/[^/]*/)?(state/[a-z.]{1,40}|label)/(.+)", re.DOTALL)
_SHORT: Final = re.compile(r"(?:user/[^/]*/)?(?:com\.google/)?([a-z-]{1,20})/?")
_WEB: Final = re.compile(r"https?:/", re.IGNORECASE)
_GOOGLE: Final = "state/com.google"
_HEX: Final = re.compile(r"[0-9a-fA-F]{1,16}")
_DECIMAL: Final = re.compile(r"-?[0-9]{1,19}")


class Kind(Enum):
    """The contents of a stream. `OTHER` is a state that Tidings does not know, and is empty."""

    ALL = "reading-list"
    READ = "read"
    UNREAD = "kept-unread"
    STARRED = "starred"
    FEED = "feed"
    FOLDER = "folder"
    TODAY = TODAY
    USEFUL = USEFUL
    NOT_USEFUL = NOT_USEFUL
    SEARCH = "search"
    OTHER = "other"


LABELS: Final = (Kind.TODAY, Kind.USEFUL, Kind.NOT_USEFUL)
_LIKE_LABEL: Final = re.compile(
    rf"(?:{'|'.join(re.escape(kind.value) for kind in LABELS)})(?:{re.escape(FOLDER_END)})*+|{SEARCH}.*",
    re.DOTALL,
)
_STATES: Final = {kind.value: kind for kind in (Kind.ALL, Kind.READ, Kind.UNREAD, Kind.STARRED)}
_STATES["unread"] = Kind.UNREAD  # as FreshRSS names it


@dataclass(frozen=True, slots=True)
class Stream:
    """A list of items; `name` is a folder's name, a saved search's, or a feed's id or address."""

    kind: Kind
    name: str = ""


def stream_read(text: str) -> Stream:
    """Return the stream of this id, also if a client shortened it, escaped it twice or ended it in a slash.

    Raises `ValueError` for any other text.
    """
    found = _stream_of(text) or _stream_of(unquote(text))
    if found is None or "\0" in found.name:  # PostgreSQL compares no text with a NUL
        raise ValueError(f"“{text[:80]}” is not a stream. Ask for one that a list of this server names.")
    return found


def _stream_of(text: str) -> Stream | None:
    if found := _USER.fullmatch(text):
        space, name = found.groups()
        if space != "label":
            return Stream(_STATES.get(name.removesuffix("/"), Kind.OTHER) if space == _GOOGLE else Kind.OTHER)
        label = next((kind for kind in LABELS if kind.value == name), None)
        if name.startswith(SEARCH) and not name.endswith(FOLDER_END):
            return Stream(Kind.SEARCH, name.removeprefix(SEARCH))
        return Stream(label) if label else Stream(Kind.FOLDER, _folder_read(name))
    if (found := _SHORT.fullmatch(text)) and (short := _STATES.get(found[1])):
        return Stream(short)
    name = re.sub(r"^(feed/)+", "", text)
    is_feed = bool(name) and (text.startswith(FEED) or bool(_WEB.match(name)))
    return Stream(Kind.FEED, _feed_name(name)) if is_feed else None


def _feed_name(name: str) -> str:
    """Return a feed's id or address. Proxies make one of the two slashes behind a scheme."""
    if (number := name.removesuffix("/")).isdecimal():
        return number
    name = name if _WEB.match(name) or not _WEB.match(unquote(name)) else unquote(name)
    return re.sub(r"^(https?:)/(?!/)", r"\1//", name, flags=re.IGNORECASE)


def search_write(name: str) -> str:
    """Return the id of a saved search; no name of one ends as a folder's does."""
    return LABEL + SEARCH + name.removesuffix(FOLDER_END)


def folder_write(name: str) -> str:
    """Return the id of a folder; one with the name of a label has an ending that no label has."""
    return LABEL + name + (FOLDER_END if _LIKE_LABEL.fullmatch(name) else "")


def _folder_read(name: str) -> str:
    plain = name.removesuffix(FOLDER_END)
    return plain if _LIKE_LABEL.fullmatch(plain) else name


def item_write(item_id: int) -> str:
    """Return an item's id in the long form, of 16 hexadecimal digits."""
    return f"{ITEM}{item_id:016x}"


def items_read(texts: Iterable[str]) -> list[int]:
    """Return the items of these ids, each once: long, 16 hexadecimal digits alone, or decimal.

    Numbers beyond a database's are left out. Raises `ValueError` for any other text.
    """
    found = dict.fromkeys(_item_read(text) for text in texts)
    return [item_id for item_id in found if 0 < item_id <= ID_MAX]


def _item_read(text: str) -> int:
    digits = text.removeprefix(ITEM)
    if (digits != text or len(digits) == 16) and _HEX.fullmatch(digits):
        return int(digits, 16)
    if digits == text and _DECIMAL.fullmatch(text):
        return int(text)
    raise ValueError(f"“{text[:80]}” is not the id of an item.")


def moment_read(text: str) -> datetime | None:
    """Return the moment of a count of seconds, milli-, micro- or nanoseconds since 1970, told by its size.

    `None` for 0 and for other texts. Raises `ValueError` for a moment beyond the year 9999.
    """
    if not (text.isascii() and text.isdecimal()) or not int(text[:30]):
        return None
    count, unit = int(text[:30]), 1
    for more in (10**11, 10**14, 10**17):
        unit *= 1000 if count >= more else 1
    if count // unit > SECONDS_MAX:
        raise ValueError("A moment is beyond the year 9999.")
    seconds, rest = divmod(count, unit)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest * MICROSECONDS // unit)


def microseconds(at: datetime) -> int:
    """Return the microseconds from 1970 to `at`."""
    return int(at.timestamp()) * MICROSECONDS + at.microsecond


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """Which items of a stream are asked for, in which order; `after` is the continuation of a page.

    `only` and `without` are the states that items must have, and must not.
    """

    stream: Stream
    limit: int
    oldest: bool = False
    seen_from: datetime | None = None
    seen_by: datetime | None = None
    only: frozenset[Kind] = frozenset()
    without: frozenset[Kind] = frozenset()
    after: str = ""

    @property
    def unread(self) -> bool:
        """Return whether only unread items are asked for."""
        return Kind.UNREAD in {self.stream.kind, *self.only} or Kind.READ in self.without

    @property
    def read(self) -> bool:
        """Return whether only read items are asked for."""
        return Kind.READ in {self.stream.kind, *self.only} or Kind.UNREAD in self.without

    @property
    def starred(self) -> bool:
        """Return whether only starred items are asked for."""
        return Kind.STARRED in {self.stream.kind, *self.only}


def stream_request_read(stream: str, values: Callable[[str], Sequence[str]], *, most: int) -> StreamRequest:
    """Return the request for a stream that these fields make, of `most` items at most.

    `values` gives all values of a field. Raises `ValueError` for a field that is no stream or no moment.
    """

    def one(name: str) -> str:
        return next(iter(values(name)), "")

    size = one("n")
    return StreamRequest(
        stream=stream_read(stream),
        limit=min(max(int(size[:9]), 1), most) if size.isascii() and size.isdecimal() else SIZE,
        oldest=one("r") == "o",
        seen_from=moment_read(one("ot")),
        seen_by=moment_read(one("nt")),
        only=frozenset(stream_read(text).kind for text in values("it") if text),
        without=frozenset(stream_read(text).kind for text in values("xt") if text),
        after=one("c")[:80],
    )
