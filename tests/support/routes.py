"""Every address of the site, read from the URL conf, so that a new one joins all tests over addresses."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver, reverse

# Something for every kind of id an address may hold; nothing needs to be there.
ANYTHING: Mapping[str, Any] = {
    "app_label": "digest",
    "client_id": "abc",
    "content_type_id": 1,
    "date": date(2026, 3, 18),
    "key": "abc-def",
    "link": "abc",
    "object_id": "1",
    "provider": "x",
    "reader_id": "6f2f7d4e-0000-4000-8000-000000000000",
    "run_id": "6f2f7d4e-0000-4000-8000-000000000000",
    "token": "abc",
    "uidb36": "1",
    "verb": "accept",
}


@dataclass(frozen=True, order=True)
class Route:
    """One address: its full name ("" if it has none), its namespace, the names of its ids, its view."""

    name: str
    room: str
    place: str
    ids: tuple[str, ...]
    view: Callable[..., Any] = field(compare=False)

    def url(self, ids: Mapping[str, Any] = ANYTHING) -> str:
        """Return the address with these ids in it; 1 for a kind of id that is not among them."""
        return reverse(self.name, kwargs={name: ids.get(name, 1) for name in self.ids})


def routes() -> list[Route]:
    """Return every address of the URL conf, by name; those without one as well."""
    return sorted(set(_below(get_resolver().url_patterns)))


def _below(
    patterns: list[URLPattern | URLResolver], room: str = "", place: str = "", ids: tuple[str, ...] = ()
) -> Iterator[Route]:
    for pattern in patterns:
        found = (*ids, *_ids(pattern))
        here = place + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _below(pattern.url_patterns, pattern.namespace or room, here, found)
        else:
            name = f"{room}:{pattern.name}" if room and pattern.name else pattern.name or ""
            yield Route(name, room, here, found, pattern.callback)


def _ids(pattern: URLPattern | URLResolver) -> tuple[str, ...]:
    """Return the names of a pattern's ids, whether it is a path or a regular expression."""
    return tuple(pattern.pattern.converters) or tuple(pattern.pattern.regex.groupindex)
