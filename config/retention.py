"""Retention: the days of `KEEP_DAYS` by kind of row, their defaults and their minimum."""

from collections.abc import Mapping
from types import MappingProxyType

from django.core.exceptions import ImproperlyConfigured

FOREVER = 0
# Days. Digests are shown for two years; 400 days compare a month with that of the year before; a link in a
# mail ends after 14 days, a quarter of a year leaves time for questions.
DEFAULT_DAYS: Mapping[str, int] = MappingProxyType(
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
# What still reads them: vectors live for 60 days, a change is judged by the exposures of four weeks, the KPIs
# cover six weeks, guidance is credited with answers for 90 days, and a used link must stay known for as long
# as it could be used again.
MINIMUM_DAYS: Mapping[str, int] = MappingProxyType(
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


def retention_days(pairs: Mapping[str, str]) -> dict[str, int]:
    """Return days by kind, 0 for ever: `pairs` over the defaults. Raises `ImproperlyConfigured`."""
    try:
        return dict(DEFAULT_DAYS) | {kind: int(days) for kind, days in pairs.items()}
    except ValueError as error:
        raise ImproperlyConfigured(
            "KEEP_DAYS cannot be read: it must be a list of KIND=DAYS pairs."
        ) from error


def retention_problems(days: Mapping[str, int]) -> list[str]:
    """Return a sentence for each kind that is unknown or below its minimum."""
    unknown = sorted(days.keys() - DEFAULT_DAYS.keys())
    short = [kind for kind, least in MINIMUM_DAYS.items() if days[kind] != FOREVER and days[kind] < least]
    return [
        *(f"KEEP_DAYS knows no {kind}: its kinds are {', '.join(DEFAULT_DAYS)}." for kind in unknown),
        *(
            f"KEEP_DAYS: {kind}={days[kind]} must be at least {MINIMUM_DAYS[kind]}, or 0 for ever."
            for kind in short
        ),
    ]
