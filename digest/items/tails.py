"""What tells a reader's feeds of one name apart: the end of their addresses. Pure."""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

# The parts of an address: up to a sign or the next capital letter. So much of them tells two feeds apart.
_PARTS: Final = re.compile(r"[A-Z]?[^/._\-?=&A-Z]*[/._\-?=&]?")
TAIL_CHARS: Final = 24


def tails_of(names: Sequence[str], addresses: Sequence[str]) -> list[str]:
    """Return for each feed what tells it apart from others of the same name, "" if nothing needs to.

    It is the part of its address from where these differ: "atom" and "rss" of two addresses that end on
    "/feed.atom" and "/feed.rss". Of equal or missing addresses it is a number.
    """
    alike: dict[str, list[int]] = {}
    for n, name in enumerate(names):
        alike.setdefault(name.casefold(), []).append(n)
    tails = [""] * len(names)
    for rows in alike.values():
        if len(rows) > 1:
            made = _differing([_bare(addresses[n]) for n in rows])
            for place, (n, tail) in enumerate(zip(rows, made, strict=True), 1):
                tails[n] = tail if tail and made.count(tail) == 1 else str(place)
    return tails


def _bare(address: str) -> str:
    """Return an address without scheme, "www." and a slash at its end."""
    return address.partition("://")[2].removeprefix("www.").rstrip("/")


def _differing(addresses: Sequence[str]) -> list[str]:
    """Return what is left of each address without the parts that all begin with, at most `TAIL_CHARS`."""
    parts = [_PARTS.findall(address) for address in addresses]
    shared = sum(1 for _ in takewhile(lambda same: len({*same}) == 1, zip(*parts, strict=False)))
    tails = ["".join(one[shared:]).lstrip("/._-?=&") for one in parts]
    return [tail if len(tail) <= TAIL_CHARS else f"{tail[: TAIL_CHARS - 1]}…" for tail in tails]
