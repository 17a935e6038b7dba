"""Storable texts: strangers' texts without the characters that databases refuse. Pure."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar


def text_storable(text: str, limit: int | None = None) -> str:
    """Return `text` without NUL and lone surrogates, cut to `limit` characters.

    PostgreSQL refuses a NUL, UTF-8 a surrogate, and a column a longer text. One such field would lose all
    rows stored with it.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "ignore").decode()
    if "\x00" in text:
        text = text.replace("\x00", "")
    return text if limit is None or len(text) <= limit else text[:limit]


class Storable:
    """Base of frozen dataclasses with strangers' texts. Every text in one is storable.

    So no parser, sandbox or endpoint can forget it. `LIMITS` has the most characters of a field, by its name.
    """

    __slots__ = ()
    LIMITS: ClassVar[Mapping[str, int]] = {}

    def __post_init__(self) -> None:
        """Replace texts that cannot be stored."""
        for one in fields(self):  # type: ignore[arg-type]  # those that inherit are dataclasses
            value = getattr(self, one.name)
            if (clean := _storable(value, self.LIMITS.get(one.name))) is not value:
                object.__setattr__(self, one.name, clean)


def _storable(value: Any, limit: int | None) -> Any:
    if isinstance(value, str):
        return text_storable(value, limit)
    if isinstance(value, tuple) and value and isinstance(value[0], str):
        return tuple(text_storable(one, limit) for one in value)
    return value
