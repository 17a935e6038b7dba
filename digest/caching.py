"""How long a publisher asks to be left alone: what HTTP headers and the document itself say. Pure."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

# Where a feed describes itself: before its first entry, and not for ever.
HEAD_CHARS: Final = 64 * 1024
MINUTES_MAX: Final = 60 * 24 * 366
# Of the syndication module (web.resource.org/rss/1.0/modules/syndication): a period, divided by a frequency.
PERIOD_MINUTES: Final = {
    "hourly": 60,
    "daily": 60 * 24,
    "weekly": 60 * 24 * 7,
    "monthly": 60 * 24 * 30,
    "yearly": 60 * 24 * 365,
}
_ENTRY: Final = re.compile(r"<(?:\w+:)?(?:item|entry)[\s>]", re.IGNORECASE)
_TTL: Final = re.compile(r"<ttl>\s*(\d{1,6})\s*</ttl>", re.IGNORECASE)
_PERIOD: Final = re.compile(r"<\w+:updatePeriod>\s*(\w{5,7})\s*</", re.IGNORECASE)
_FREQUENCY: Final = re.compile(r"<\w+:updateFrequency>\s*(\d{1,4})\s*</", re.IGNORECASE)
_MAX_AGE: Final = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?(\d{1,10})", re.IGNORECASE)


def document_ttl_minutes(text: str) -> int | None:
    """The minutes between looks that a document asks for (RSS `ttl`, else `sy:updatePeriod`), or None."""
    if not text.startswith("<"):
        return None
    entry = _ENTRY.search(text, 0, HEAD_CHARS)
    head = text[: entry.start() if entry else HEAD_CHARS]
    if ttl := _TTL.search(head):
        return min(int(ttl.group(1)), MINUTES_MAX) or None
    period = _PERIOD.search(head)
    if not period or period.group(1).lower() not in PERIOD_MINUTES:
        return None
    found = _FREQUENCY.search(head)
    return max(PERIOD_MINUTES[period.group(1).lower()] // max(int(found.group(1)) if found else 1, 1), 1)


def fresh_seconds(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Seconds for which an answer counts as fresh (RFC 9111, 4.2.1), or None where it does not say.

    `headers` have lower-case names. `Cache-Control: max-age` beats `Expires`; what a cache on the way has
    used up (`Age`) is taken off. `no-cache` and `no-store` ask for nothing.
    """
    control = headers.get("cache-control", "")
    if re.search(r"no-cache|no-store", control, re.IGNORECASE):
        return None
    if age := _MAX_AGE.search(control):
        spent = headers.get("age", "").strip()
        return max(float(age.group(1)) - (float(spent) if re.fullmatch(r"\d{1,9}", spent) else 0.0), 0.0)
    expires, date = http_date(headers.get("expires", "")), http_date(headers.get("date", ""))
    return max((expires - (date or now)).total_seconds(), 0.0) if expires else None


def http_date(text: str) -> datetime | None:
    """The moment an HTTP date names, in UTC; None where it names none."""
    try:
        found = parsedate_to_datetime(text)
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, TypeError, OverflowError):
        return None
