"""How long rows of each kind are kept: `KEEP_DAYS`, its defaults and its limits. Pure."""

from collections.abc import Mapping
from types import MappingProxyType

from django.core.exceptions import ImproperlyConfigured

FOREVER = 0
# Days. Digests are shown for two years (`digest.pages.OLDEST`); after a year and a
# month, a month can be held against the same one of the year before; a link in a mail ends after 14 days, a
# quarter of a year is for questions.
DEFAULTS: Mapping[str, int] = MappingProxyType(
    {
        "items": FOREVER,
        "digests": 730,
        "readings": 730,
        "showings": 400,
        "refusals": 400,
        "mail": 90,
        "traces": 400,
        "snapshots": 730,
        "guidance": 180,
    }
)
# What still reads them: vectors are kept for 60 days, a change is judged by the showings of four weeks, the
# figures to watch cover six, answers to what guidance told are credited for 90 days, and a used link must be
# known for as long as it could be used again.
LEAST: Mapping[str, int] = MappingProxyType(
    {
        "items": 60,
        "digests": 60,
        "readings": 30,
        "showings": 60,
        "refusals": 30,
        "mail": 15,
        "traces": 60,
        "snapshots": 60,
        "guidance": 90,
    }
)


def keep_days(given: Mapping[str, str]) -> dict[str, int]:
    """Days by kind, 0 for ever: the defaults with what was given. Raises `ImproperlyConfigured`."""
    try:
        return dict(DEFAULTS) | {kind: int(days) for kind, days in given.items()}
    except ValueError as error:
        raise ImproperlyConfigured(
            "KEEP_DAYS cannot be read: it must be a list of KIND=DAYS pairs."
        ) from error


def keep_problems(kept: Mapping[str, int]) -> list[str]:
    """What cannot be, in sentences."""
    unknown = sorted(kept.keys() - DEFAULTS.keys())
    found = [f"KEEP_DAYS knows no {kind}: its kinds are {', '.join(DEFAULTS)}." for kind in unknown]
    short = [kind for kind, least in LEAST.items() if kept[kind] != FOREVER and kept[kind] < least]
    return found + [
        f"KEEP_DAYS: {kind}={kept[kind]} must be at least {LEAST[kind]}, or 0 for ever." for kind in short
    ]
