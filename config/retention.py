"""Read KEEP_DAYS, the days that each kind of row is kept, with defaults and minimums."""

from collections.abc import Mapping
from types import MappingProxyType

from django.core.exceptions import ImproperlyConfigured

FOREVER = 0
# In days. Digests can be read for two years. 400 days allow a comparison with the same month a year before.
# Links in mails expire after 14 days, and 90 days leave time for questions about a mail.
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
        "settings": FOREVER,
        "guidance": 180,
    }
)
# The product reads rows for this long: vectors live for 60 days, the effect of a change needs exposures of
# four weeks, the KPIs cover six weeks, guidance is credited with answers for 90 days, and a used link must be
# known until it expires.
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
        "settings": 60,
        "guidance": 90,
    }
)


def retention_days(pairs: Mapping[str, str]) -> dict[str, int]:
    """Return the days for each kind (0: for ever), with `pairs` replacing defaults.

    Raises `ImproperlyConfigured` if a value is not a whole number.
    """
    try:
        return dict(DEFAULT_DAYS) | {kind: int(days) for kind, days in pairs.items()}
    except ValueError as error:
        raise ImproperlyConfigured(
            "KEEP_DAYS cannot be read: it must be a list of KIND=DAYS pairs."
        ) from error


def retention_problems(days: Mapping[str, int]) -> list[str]:
    """Return a sentence for each kind that is unknown, or whose days are below the minimum."""
    unknown = sorted(days.keys() - DEFAULT_DAYS.keys())
    short = [kind for kind, least in MINIMUM_DAYS.items() if days[kind] != FOREVER and days[kind] < least]
    return [
        *(f"KEEP_DAYS knows no {kind}: its kinds are {', '.join(DEFAULT_DAYS)}." for kind in unknown),
        *(
            f"KEEP_DAYS: {kind}={days[kind]} must be at least {MINIMUM_DAYS[kind]}, or 0 for ever."
            for kind in short
        ),
    ]
