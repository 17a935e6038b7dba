"""`settings.GUIDANCE` over the defaults of the tunables, checked."""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from django.conf import settings
from pydantic import TypeAdapter, ValidationError

from advisor.guidance.situations import Tunables


def tunables() -> Tunables:
    """Return the tunables in force. Raises `ValueError`, naming the one that cannot be."""
    return _tunables(tuple(sorted(settings.GUIDANCE.items())))


def tunables_repeated(names: Iterable[str]) -> list[str]:
    """Return the names that are given more than once. Only the last value would count."""
    return [name for name, times in Counter(name.strip() for name in names).items() if times > 1]


# Names that earlier versions knew. An installation that still gives them starts all the same.
RETIRED = frozenset({"whispers", "packet_ttl_s", "synthesis"})


@lru_cache(maxsize=16)
def _tunables(given: tuple[tuple[str, str], ...]) -> Tunables:
    known = {name: text.strip() for name, text in given if name not in RETIRED}
    try:
        found = TypeAdapter(Tunables).validate_python(known)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        raise ValueError(f"GUIDANCE: {first['loc'][0]}: {first['msg']}.") from None
    if found.note_min > found.warning_min:
        raise ValueError("GUIDANCE: note_min ≤ warning_min must hold.")
    return found
