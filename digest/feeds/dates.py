"""Dates: read the text of an entry's date.

A wrong date is worse than none, so a text is read as a whole or not at all, and nothing is guessed. We read
ISO 8601 (RFC 3339), RFC 822 and its successors, the forms of C, JavaScript and English prose, and
year-month-day in Chinese, Japanese and Korean. Month names come from CLDR, in the larger languages. Of dates
written in figures alone we read: year first; day and month with dots; with slashes or hyphens only if one
order is possible. Pure.
"""

import re
import tomllib
import unicodedata
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).with_name("month_names.toml")
DATE_MAX_CHARS: Final = 80
# Hours from UTC. Of names that several zones have, the one that RFC 822 or most feeds mean.
_ZONES: Final = {
    **dict.fromkeys(("", "z", "ut", "utc", "gmt", "wet", "uct", "zulu"), 0.0),
    **{
        "est": -5.0,
        "edt": -4.0,
        "cst": -6.0,
        "cdt": -5.0,
        "mst": -7.0,
        "mdt": -6.0,
        "pst": -8.0,
        "pdt": -7.0,
    },
    **{"et": -5.0, "ct": -6.0, "mt": -7.0, "pt": -8.0, "akst": -9.0, "akdt": -8.0, "hst": -10.0},
    **{
        "ast": -4.0,
        "adt": -3.0,
        "nst": -3.5,
        "ndt": -2.5,
        "art": -3.0,
        "brt": -3.0,
        "brst": -2.0,
        "clt": -4.0,
    },
    **{"bst": 1.0, "ist": 5.5, "west": 1.0, "cet": 1.0, "met": 1.0, "mez": 1.0, "cest": 2.0, "mest": 2.0},
    **{"mesz": 2.0, "eet": 2.0, "sast": 2.0, "cat": 2.0, "eest": 3.0, "msk": 3.0, "eat": 3.0, "trt": 3.0},
    **{"wat": 1.0, "msd": 4.0, "gst": 4.0, "pkt": 5.0, "npt": 5.75, "ict": 7.0, "wib": 7.0, "wita": 8.0},
    **{"hkt": 8.0, "sgt": 8.0, "myt": 8.0, "pht": 8.0, "awst": 8.0, "jst": 9.0, "kst": 9.0, "wit": 9.0},
    **{"acst": 9.5, "acdt": 10.5, "aest": 10.0, "aedt": 11.0, "nzst": 12.0, "nzdt": 13.0},
}
_TIME: Final = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<part>\d{1,12}))?)?"
    r"(?:\s?(?P<half>[ap])\.?m\b\.?)?(?P<zone>[^\d:][^:]*(?::\d{2})?(?:\s?\(.*\))?)?"
)
_WEEKDAY: Final = r"(?:(?P<weekday>[^\W\d_][^\s\d,]*)\.?(?:\s?,\s?|\s))?"
# In Chinese, Japanese and Korean months are figures, even in dates of RFC 822 form.
_MONTH: Final = r"(?P<month>[^\W\d_][^\s\d,/]*?|\d{1,2}[月월])\.?"
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|º|\.)?"
_YEAR: Final = r"(?P<year>\d{4}|\d{2})(?:\s?[гр]\b\.?)?"
_OF: Final = r"(?:(?:de|del|of|di)\s)?"
_AT: Final = r"(?:\s?,)?(?:\s(?:(?:at|um|à|alle|kl|klo|às|o|om|a las|-|–)\.?\s)?"
# A time beside a date in prose or figures: "14:30", "14.30", "14h30".
_CLOCK: Final = _TIME.replace(r"(?P<hour>\d{1,2}):", r"(?P<hour>\d{1,2})\s?[:.h]", 1)
_FIGURES: Final = r"(?P<first>\d{1,2})(?P<mark>[./-])\s?(?P<other>\d{1,2})(?P=mark)\s?(?P<year>\d{4})"
_ISO: Final = re.compile(
    r"(?P<year>\d{4})(?P<mark>[-/.]?)(?P<month>\d{2})(?P=mark)(?P<day>\d{2})"
    r"(?:(?:t|\s)\s?(?P<hour>\d{2}):?(?P<minute>\d{2})(?::?(?P<second>\d{2})(?:[.,](?P<part>\d{1,12}))?)?(?!\s?[ap]\.?m)\s?(?P<zone>[^\d:].*)?)?"
)
_FORMS: Final = tuple(
    re.compile(form)
    for form in (
        rf"{_WEEKDAY}{_DAY}[\s./-]{{1,2}}{_OF}{_MONTH}[\s./,-]{{1,2}}{_OF}{_YEAR}{_AT}{_CLOCK})?",
        rf"{_WEEKDAY}{_MONTH}\s{_DAY}\s?,?\s{_YEAR}{_AT}{_CLOCK})?",
        rf"{_WEEKDAY}{_MONTH}\s(?P<day>\d{{1,2}})\s(?P<hour>\d{{2}}):(?P<minute>\d{{2}}):(?P<second>\d{{2}})"
        r"\s(?:(?P<zone>\S{1,8})\s)?(?P<year>\d{4})",
        r"(?P<year>\d{4})\s?[年년]\s?(?P<month>\d{1,2})\s?[月월]\s?(?P<day>\d{1,2})\s?[日일]"
        rf"(?:\s?\(?\w{{1,3}}\)?)?(?:\s{_TIME})?",
        rf"{_WEEKDAY}{_FIGURES}(?:\s?[гр]\b\.?)?\.?{_AT}{_CLOCK})?",
        rf"(?P<hour>\d{{1,2}}):(?P<minute>\d{{2}})(?::(?P<second>\d{{2}}))?(?:\s?uhr)?\s?[,|–-]?\s{_FIGURES}\.?",
        rf"(?P<year>\d{{4}})(?P<mark>[./-])\s?(?P<month>\d{{1,2}})(?P=mark)\s?(?P<day>\d{{1,2}})\.?{_AT}{_CLOCK})?",
    )
)
_OFFSET: Final = re.compile(
    r"(?P<name>gmt|utc|ut)?\s?(?P<sign>[+\-−])(?P<hours>\d{1,2})(?:(?P<colon>:)?(?P<minutes>\d{2}))?"
)
_OFFSET_MAX: Final = timedelta(hours=14)
# Two figures of a year: RFC 822 had no more. No feed is older than 1990.
_CENTURY_TURNS: Final = 90


def date_read(*texts: str) -> datetime | None:
    """Return the first readable one of `texts` as a moment in UTC, or None."""
    return next((found for text in texts if text and (found := _read(text))), None)


def _read(text: str) -> datetime | None:
    if len(text) > DATE_MAX_CHARS:
        return None
    folded = " ".join(unicodedata.normalize("NFC", text).casefold().split())
    if found := _ISO.fullmatch(folded):
        # Without marks and a time it is a number, which may be anything.
        return _moment(found, int(found["month"])) if found["mark"] or found["hour"] else None
    for form in _FORMS:
        if (found := form.fullmatch(folded)) and _is_weekday(found.groupdict().get("weekday")):
            return _moment(found, _month(found["month"])) if "month" in form.groupindex else _figures(found)
    return None


def _figures(found: re.Match[str]) -> datetime | None:
    """Return the moment of day, month and year in figures, or None if it is not clear which is the month."""
    first, other = int(found["first"]), int(found["other"])
    if found["mark"] == "." or first > 12 or first == other:
        return _moment(found, other, day=first)
    return _moment(found, first, day=other) if other > 12 else None


def _moment(found: re.Match[str], month: int, *, day: int = 0) -> datetime | None:
    parts = found.groupdict()
    year, hour = int(parts["year"]), int(parts.get("hour") or 0)
    if len(parts["year"]) == 2:
        year += 2000 if year < _CENTURY_TURNS else 1900
    if half := parts.get("half"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    offset = _offset(parts.get("zone") or "", is_iso=found.re is _ISO)
    if offset is None:
        return None
    minute, second = int(parts.get("minute") or 0), int(parts.get("second") or 0)
    is_midnight = (hour, minute, second) == (24, 0, 0)
    try:
        # A leap second is the last one of its minute.
        hour, part = 0 if is_midnight else hour, int(f"{parts.get('part') or '0':0<6}"[:6])
        at = datetime(year, month, day or int(parts["day"]), hour, minute, min(second, 59), part, tzinfo=UTC)
        return at + timedelta(days=is_midnight) - offset if second <= 60 else None
    except (ValueError, OverflowError):
        return None


def _offset(zone: str, *, is_iso: bool) -> timedelta | None:
    """Return how far a zone is ahead of UTC, or None if it is unknown. An empty zone is UTC."""
    bare = re.sub(r"\s?\([^()]*\)$", "", zone).strip().removeprefix("uhr").strip().removeprefix("etc/")
    if bare in _ZONES:
        return timedelta(hours=_ZONES[bare])
    found = _OFFSET.fullmatch(bare)
    if not found:
        return None
    hours, minutes = found["hours"], found["minutes"]
    # "+2" may mean two hours or two minutes, and "+200" two hours or twenty.
    is_whole = minutes is not None or found["name"] or (is_iso and len(hours) == 2)
    if not is_whole or (minutes and not found["colon"] and len(hours) == 1):
        return None
    size = timedelta(hours=int(hours), minutes=int(minutes or 0))
    if size > _OFFSET_MAX or int(minutes or 0) > 59:
        return None
    return size if found["sign"] == "+" else -size


def _month(name: str) -> int:
    """Return the number of a month. An unknown or ambiguous name gives 0."""
    figures = name.removesuffix("月").removesuffix("월")
    return int(figures) if figures.isdecimal() else _names()[0].get(name, 0)


def _is_weekday(name: str | None) -> bool:
    return not name or name.rstrip(".") in _names()[1]


@cache
def _names() -> tuple[dict[str, int], frozenset[str]]:
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    months = {name: int(number) for number, names in table["months"].items() for name in names}
    return months, frozenset(table["weekdays"]["names"])
