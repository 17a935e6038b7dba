"""Rules for one source in English and German, as tokens of a wish. `rules.txt` has their words. Pure.

"Nothing older than two days from Gazette" is a shelf life, "never miss Gazette" a place for each item, "keep
Gazette out of Today" a switch of the source's page. They are found before anything else is read, because
"older", "never" and "today" alone mean something else.

A line of `rules.txt` is a part (`name = pattern`) that other patterns name in braces, or a rule
(`kind if part: pattern`) which counts if the part stands before it in the same wish. `mid` are words in the
middle of a rule that are none of it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from suggestions.wishes.german import GERMAN
from suggestions.wishes.last_days import NUMBERS

SHELF, NEVER_MISS, ALWAYS_SHOWN, OUT_OF_TODAY = "shelf", "never_miss", "always", "out"
# Words that add nothing to a wish.
DROPPED = "dropped"
UNKNOWN_AGE = "?"
# A name of the reader's own, in the text that is searched.
NAME_MARK = "\0"

_NUMBERS = NUMBERS | {
    word: NUMBERS[english[0]]
    for (word, *more), english in GERMAN.items()
    if not more and english[0] in NUMBERS
}
_HOURS = {"h": 1, "s": 1, "d": 24, "t": 24, "w": 168, "f": 336, "m": 720}


def _rules_read() -> Iterator[tuple[str, re.Pattern[str], re.Pattern[str] | None]]:
    """Yield each rule with its words, and what must stand before them, in the order of the file."""
    parts = {"numbers": "|".join(_NUMBERS)}
    for line in Path(__file__).with_name("rules.txt").read_text("utf-8").splitlines():
        head, sign, row = re.split("( = |: )", line, maxsplit=1)
        row = re.sub(r"\{([a-z ]+)\}", lambda found: parts[found[1]], row)
        if sign == " = ":
            parts[head] = row
        else:
            kind, _, part = head.partition(" if ")
            yield kind, _words(row), _words(parts[part]) if part else None


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\S)(?:{pattern})(?!\S)")


_RULES = [*_rules_read()]
# Where a wish may end, so that a "not" before it says nothing of what follows.
_WISH_ENDS = re.compile(r" (?:[,.;!?]|but|aber) ")
_JOINS = re.compile(r" (?:and|or|und|oder) ")
_WAYS = _words(r"more|less|fewer|mehr|weniger|add|boost|show|zeig\w*|newer|newest")


@dataclass(frozen=True, slots=True)
class Found:
    """A rule: the numbers of the first and the last word, and of those between them that are none of it."""

    value: str
    first: int
    last: int
    middle: range = range(0)


def rule_found(words: Sequence[str]) -> Found | None:
    """Return the first rule in `words`, which are folded, a name being `NAME_MARK`; `None` for none."""
    text = " ".join(words)
    for value, pattern, needed in _RULES:
        for match in pattern.finditer(text):
            if needed is None or needed.search(_wish_before(f" {text[: match.start()]}")):
                return _found(value, text, match)
    return None


def _wish_before(before: str) -> str:
    """Return the end of `before` that is of the same wish: all of "no a and b", half of "no a and more b"."""
    wish = _WISH_ENDS.split(before)[-1]
    last = _JOINS.split(wish)[-1]
    return last if _WAYS.search(last) else wish


def _found(value: str, text: str, match: re.Match[str]) -> Found:
    groups = match.groupdict()
    first, last = _word(text, match.start()), _word(text, match.end() - 1)
    if value == SHELF:
        value = f"{SHELF} {_hours(groups)}"
    middle = groups.get("mid") or ""
    if not middle.strip():
        return Found(value, first, last)
    begin, end = match.span("mid")
    lead = len(middle) - len(middle.lstrip())
    return Found(value, first, last, range(_word(text, begin + lead), _word(text, end - 1) + 1))


def _word(text: str, at: int) -> int:
    """Return the number of the word that holds the character `at`."""
    return text.count(" ", 0, at)


def _hours(groups: dict[str, str | None]) -> str:
    number, unit = groups.get("n"), groups.get("unit") or groups.get("one")
    if not unit:
        return UNKNOWN_AGE
    count = 1 if number is None else _NUMBERS.get(number) or int(number)
    return str(count * _HOURS[unit[0]])
