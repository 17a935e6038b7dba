"""Remember what functions of strangers' texts returned, in bounded memory. Pure."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, TypeVar

# So many results of one function are kept, of texts of at most so many characters. An address has a hundred.
TEXTS_MAX: Final = 8_192
TEXT_CHARS_MAX: Final = 500
Result = TypeVar("Result")


def remember_short(read: Callable[[str], Result]) -> Callable[[str], Result]:
    """Decorate a function of one text that strangers write: it remembers the results of short texts only.

    `lru_cache` alone bounds how many texts are kept, and not how long they are. A publisher that redirects to
    ever other addresses of 95 kB would have 8,192 of them kept, which is 5 GB in a worker that runs for days.
    """
    remembered = lru_cache(maxsize=TEXTS_MAX)(read)

    @wraps(read)
    def short(text: str) -> Result:
        return remembered(text) if len(text) <= TEXT_CHARS_MAX else read(text)

    short.cache_clear = remembered.cache_clear  # type: ignore[attr-defined]  # for tests
    return short
