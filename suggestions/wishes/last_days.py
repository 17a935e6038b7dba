"""Days in wishes: the last one ("until Friday", "for two weeks") or the first ("from Friday on"). Pure."""

import re
from collections.abc import Sequence
from datetime import date, timedelta

from suggestions.wishes.lexicon import ROWS, SETS

DAYS, MONTHS = ROWS["days"][0], ROWS["months"][0]
SHORT_MIN = 3
_COUNTED = "one two three four five six seven eight nine ten"
NUMBERS = {word: n for n, word in enumerate(_COUNTED.split(), start=1)} | {
    **{"a": 1, "an": 1, "couple": 2, "once": 1, "twice": 2, "twelve": 12, "twenty-four": 24}
}
UNIT_DAYS = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "year": 365}
UNTIL_WORDS = SETS["until"]
# A time that has no last day anybody could know: it is asked.
UNREADABLE = frozenset({"during", "während"})
# Three digits of a unit: longer than anybody means, and within the range of a date.
COUNT_DIGITS = 3
# A day is looked for so many words after "until": "until the thing is over on Friday".
AHEAD_MAX = 6
YEAR_DIGITS = 4

# A last day (`None`: the words name none) and how many words were read.
Found = tuple[date | None, int]


def until_at(words: Sequence[str], at: int, today: date) -> Found | None:
    """Return the last day that is named from word `at` on, or `None`.

    A day of the week is the next one after `today`; the last day is within the time.
    """
    word = words[at]
    if open_end := next((end for end in ROWS["open ends"] if tuple(words[at : at + len(end)]) == end), None):
        return None, len(open_end)
    if word in UNTIL_WORDS:
        skipped = _skip(words, at + 1, SETS["day fillers"])
        ahead = range(skipped, min(skipped + AHEAD_MAX, _end_of(words, skipped)))
        days = ((begin, *_day_at(words, begin, today)) for begin in ahead)
        begin, day, read = next((one for one in days if one[2]), (skipped, None, 0))
        if not read and word in ("through", "thru"):
            return None
        return day, (_skip(words, begin + read, SETS["day parts"]) - at if read else 1)
    if found := _this_at(words, at, today):
        return found
    if (
        word == "over"
        and (end := _skip(words, at + 1, SETS["day fillers"])) < len(words)
        and words[end] in SETS["holidays"]
    ):
        return None, end + 1 - at
    if word in ("for", "over") and (found := _span_at(words, at + 1, today)):
        return found[0], found[1] + 1
    is_counted = word in NUMBERS or word.isdecimal()
    if (
        is_counted
        and (found := _span_at(words, at, today))
        and [*words, ""][at + found[1]] in SETS["free of"]
    ):
        # "A week without football."
        return found
    if word == "before" and words[at - 1 : at] != ["from"] and (found := _before(words, at + 1, today)):
        return found[0], found[1] + 1
    is_end = _ends(words, at + 1) or words[at + 1] in SETS["after period"]
    if word in ("today", "tonight") and is_end and words[at - 1 : at] not in (["from"], ["of"]):
        return today, 1
    if word in UNREADABLE:
        return None, 1
    return None


def _before(words: Sequence[str], at: int, today: date) -> Found | None:
    """Return the day before the one that is named at `at`; before a weekend it is a Friday."""
    begin = _skip(words, at, SETS["day fillers"])
    day, read = _day_at(words, begin, today)
    if day is None or not read:
        return None
    # "Before next week" the last day is the Sunday that `_day_at` knows.
    last = day - timedelta(days={"weekend": 2, "week": 0, "month": 0}.get(words[begin + read - 1], 1))
    # On a Saturday the weekend that "before" means is the next one.
    return last + timedelta(days=0 if last >= today else 7), begin + read - at


def start_at(words: Sequence[str], at: int, today: date) -> tuple[bool, int] | None:
    """Return whether a first day named from word `at` on is later than today, and how many words it has.

    `None` if none is named. "From Friday" names one, but "from December" only with "on" after it.
    """
    word = words[at]
    if word == "tomorrow" or (word == "next" and words[at - 1 : at] != ["the"]):
        read = _first_day(words, at, today)
        return (True, read) if read else None
    if (
        word == "in"
        and words[at + 1 : at + 2]
        and _is_count(words[at + 1])
        and words[at + 1] not in ("a", "an")
    ):
        found = _span_at(words, at + 1, today)
        return (True, found[1] + 1) if found and found[0] else None
    if word not in _FROM:
        return None
    begin = _skip(words, at + 1, _FROM | {"the", "of", "in"})
    is_now = words[begin : begin + 1] in (["today"], ["now"])
    read = 1 if is_now else _first_day(words, begin, today)
    end = begin + read
    goes_on = not SETS["onwards"].isdisjoint(words[end : end + 1])
    if not read or (
        word in ("from", "on") and not goes_on and (is_now or words[begin] in (*MONTHS, *_SPANS))
    ):
        return None
    return not is_now, end + goes_on - at


def _first_day(words: Sequence[str], at: int, today: date) -> int:
    """Return how many words name a day, a month or a time at `at`; a weekday is spelled in full."""
    word = words[at] if at < len(words) else ""
    date_read = _date_at(words, at, today)[1] if word else 0
    if date_read or word in MONTHS or word in _SPANS:
        return date_read or 1
    if (word.isalpha() and len(word) == SHORT_MIN and word != "new") or not word:
        return 0
    return _day_at(words, at, today)[1]


def _is_count(word: str) -> bool:
    return word in NUMBERS or (word.isascii() and word.isdecimal())


_FROM, _SPANS = SETS["from"], SETS["periods"] | {"holidays"}


def _this_at(words: Sequence[str], at: int, today: date) -> Found | None:
    """Return the last day of "this week", "for this week", "during this month"."""
    this = at + (words[at] in ("for", "in", "during", "over", "während"))
    if words[this : this + 1] != ["this"] or SETS["periods"].isdisjoint(words[this + 1 : this + 2]):
        return None
    # "This week in security" is a name.
    is_end = _ends(words, this + 2) or words[this + 2] in SETS["after period"]
    if this == at and not is_end and not (_begins(words, at) and words[this + 2] != "in"):
        return None
    if words[this + 1] == "week" and today.weekday() >= SATURDAY:
        return today + timedelta(days=7), this + 2 - at
    return _relative(words[this + 1], today, later=False), this + 2 - at


def is_week_stretched(sentence: str, today: date) -> bool:
    """Return whether "this week" in `sentence` means the seven days from `today` on, because it ends."""
    return today.weekday() >= SATURDAY and _THIS_WEEK.search(sentence) is not None


_THIS_WEEK = re.compile(r"\b(?:this week|diese[rn]? woche)\b", re.IGNORECASE)
# From this day of the week on, "this week" is the seven days that begin.
SATURDAY = 5


def _begins(words: Sequence[str], at: int) -> bool:
    return at == 0 or words[at - 1] in SETS["bounds"]


def _ends(words: Sequence[str], at: int) -> bool:
    return at >= len(words) or words[at] in SETS["bounds"]


def _end_of(words: Sequence[str], at: int) -> int:
    """Return the place of the next bound after `at`."""
    return next((n for n in range(at, len(words)) if words[n] in SETS["bounds"]), len(words))


def _skip(words: Sequence[str], at: int, skipped: frozenset[str]) -> int:
    while at < len(words) and words[at] in skipped:
        at += 1
    return at


def _day_at(words: Sequence[str], at: int, today: date) -> Found:
    """Return the day named at `at`; (`None`, 0) for no day."""
    if at >= len(words):
        return None, 0
    word = words[at]
    if word in ("next", "this") and at + 1 < len(words):
        day = _relative(words[at + 1], today, later=word == "next")
        return day, 2 if day else 0
    if word in ("today", "tonight"):
        return today, 1
    if word == "tomorrow":
        return today + timedelta(days=1), 1
    if word == "new" and words[at + 1 : at + 2] in (["year"], ["year's"], ["years"]):
        return date(today.year + 1, 1, 1), 2
    if word == "christmas":
        return date(today.year, 12, 24), 1
    if (day := _relative(word, today, later=False)) is not None:
        return day, 1
    dated, read = _date_at(words, at, today)
    if not read and not word.isdecimal() and (number := _ordinal(word)):
        # "Until the 11th": the next day of that number.
        days = (today + timedelta(days=ahead) for ahead in range(1, 62))
        return next((day for day in days if day.day == number), None), 1
    if not read and word in MONTHS:
        # "Until January" ends as that month begins.
        return _made(today.year + (MONTHS.index(word) < today.month), MONTHS.index(word) + 1, 1, today), 1
    return dated, read


def _relative(word: str, today: date, *, later: bool) -> date | None:
    """Return the end of a weekday, week, weekend, month or year; `later`: "next" before it."""
    sunday = today + timedelta(days=6 - today.weekday())
    if (weekday := _index(word, DAYS)) is not None:
        ahead = (weekday - today.weekday()) % 7 or 7
        return sunday + timedelta(days=weekday + 1) if later else today + timedelta(days=ahead)
    if word in ("week", "weekend"):
        # "Until next week" ends before that week begins; "this weekend" on its Sunday.
        return sunday
    if word == "month":
        return _month_end(today)
    return date(today.year, 12, 31) if word == "year" else None


def _month_end(day: date) -> date:
    return (day.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)


def _index(word: str, names: Sequence[str]) -> int | None:
    if len(word) < SHORT_MIN:
        return None
    return next((n for n, name in enumerate(names) if name == word or name[:3] == word), None)


def _date_at(words: Sequence[str], at: int, today: date) -> Found:
    """Return a date such as 2026-03-18, 18 March, 18th of March 2027 or March 18."""
    try:
        return date.fromisoformat(words[at]), 1
    except ValueError:
        pass
    first, second = words[at], _skip(words, at + 1, frozenset({"of", "."}))
    if second >= len(words):
        return None, 0
    month = _index(first, MONTHS)
    day = _ordinal(words[second]) if month is not None else _ordinal(first)
    month = month if month is not None else _index(words[second], MONTHS)
    if day is None or month is None:
        return None, 0
    year, read = today.year, second - at + 1
    if at + read < len(words) and words[at + read].isdecimal() and len(words[at + read]) == YEAR_DIGITS:
        return _made(int(words[at + read]), month + 1, day, today), read + 1
    made = _made(year, month + 1, day, today)
    return (_made(year + 1, month + 1, day, today) if made is not None and made < today else made), read


def _ordinal(word: str) -> int | None:
    digits = word.removesuffix(".")
    for end in ("st", "nd", "rd", "th"):
        digits = digits.removesuffix(end)
    return int(digits) if digits.isdecimal() and digits.isascii() and len(digits) < COUNT_DIGITS else None


def _made(year: int, month: int, day: int, today: date) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _span_at(words: Sequence[str], at: int, today: date) -> Found | None:
    """Return the last day of "3 days", "the next two weeks", "the rest of the week", "today"."""
    begin = _skip(words, at, SETS["span fillers"])
    counted = begin
    number = 1
    if begin < len(words) and (words[begin] in NUMBERS or words[begin].isdecimal()):
        typed = words[begin]
        if not typed.isascii() or (len(typed) > COUNT_DIGITS and typed not in NUMBERS):
            return None, begin - at + 1
        number = NUMBERS.get(typed) or int(typed)
        counted = _skip(words, begin + 1, frozenset({"of"}))
    if counted >= len(words):
        return None
    unit = words[counted].removesuffix("s")
    read = counted - at + 1
    if "rest" in words[at:begin] or unit in ("weekend", "today", "tonight"):
        day = today if unit in ("today", "tonight") else _relative(unit, today, later=False)
        return (day, read) if day else None
    if unit not in UNIT_DAYS:
        return None
    return today + timedelta(days=number * UNIT_DAYS[unit]), read
