"""People: the names of an entry's authors, from a parser's fields. Pure."""

import re
from collections.abc import Callable, Iterator, Mapping
from email.utils import getaddresses
from typing import Any, Final

from digest.feeds.sanitise import clean_text, guess_to_text, one_line
from ranking.common.text import fold

AUTHORS_MAX: Final = 20
# "ada@a.example (Ada Lovelace)", "Ada Lovelace <ada@a.example>": RSS wants an address, and a name beside it.
_ADDRESS: Final = re.compile(r"[^\s()<>,;:\"/]{1,64}@[^\s()<>,;:\"]{1,255}")


def people_named(
    entry: Mapping[str, Any],
    source: Mapping[str, Any],
    feed: Mapping[str, Any],
    *,
    limit: int,
    is_plain: bool,
) -> str:
    """Return the authors of an entry: its own, else those of the feed it was taken from, else the feed's.

    Each name comes once. If the entry gives an address alone, a feed that has the same address tells whose it
    is, and otherwise the address is used. If `is_plain`, as in Atom and JSON Feed, names are plain text;
    elsewhere they may be HTML.
    """
    own = {address.lower(): address for address in _addresses(entry)}
    for one in (entry, source, feed):
        is_meant = one is entry or not own or own.keys() & {a.lower() for a in _addresses(one)}
        if is_meant and (names := _names(one, clean_text if is_plain else guess_to_text)):
            return one_line(", ".join(names), limit=limit)
    return one_line(", ".join(own.values()), limit=limit)


def _names(found: Mapping[str, Any], as_text: Callable[[str], str]) -> list[str]:
    """Return the names of the authors. Without any, use `itunes:author`, which is often a station."""
    names: dict[str, str] = {}
    for text in _written_names(found, "name"):
        if name := _without_address(text, as_text):
            names.setdefault(fold(name), name)
    if not names and (station := _without_address(_text(found.get("itunes_author")), as_text)):
        return [station]
    return list(names.values())


def _addresses(found: Mapping[str, Any]) -> Iterator[str]:
    for key in ("email", "name"):
        for text in _written_names(found, key):
            yield from _ADDRESS.findall(text)


def _written_names(found: Mapping[str, Any], key: str) -> Iterator[str]:
    authors = found.get("authors")
    for one in authors[:AUTHORS_MAX] if isinstance(authors, list) else ():
        if isinstance(one, Mapping) and (text := _text(one.get(key))):
            yield text


def _without_address(text: str, as_text: Callable[[str], str]) -> str:
    """Return a name without the address beside it, "" if there is only an address."""
    if not _ADDRESS.search(text):
        return one_line(as_text(text))
    # Of several, as in the header of a mail: "Lovelace, Ada" <ada@a.example>, Ben <ben@b.example>.
    if len(named := [name for name, address in getaddresses([text]) if name and "@" in address]) > 1:
        return one_line(as_text(", ".join(named)))
    bare = _ADDRESS.sub(" ", text).replace("mailto:", " ")
    return one_line(as_text(re.sub(r"[<(\[]\s*[>)\]]", " ", bare))).strip(" ()<>\"'-,;:")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
