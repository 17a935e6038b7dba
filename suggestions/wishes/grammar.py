"""The grammar of wishes: from a sentence to clauses, each a direction, a target, a last day. Pure.

A sentence is cut into tokens, names of the reader's own that have several words are made one, last days are
taken out, and the rest is split at joining words. A clause without a direction goes on with that of the one
before; a last day at the end counts for all clauses that have none. Time grows with the length alone.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from ranking.common.text import fold
from suggestions.changes.entities import FRESHER, LESS, MORE, NONE, OLDER
from suggestions.wishes.entities import BIG, SMALL, USUAL
from suggestions.wishes.lexicon import (
    AGAINST,
    CONTRAST,
    EVERY_WORDS,
    EVERYTHING,
    FILLERS,
    FRESH_WORDS,
    KIND_WORDS,
    LENGTHS,
    OLD_WORDS,
    ONLY,
    PHRASES,
    SO_MUCH,
    SUBJECT_WORDS,
    UNCLEAR,
    WEAK,
    phrase_at,
)

_TOKEN = re.compile(r"\"[^\"\n]*\"|“[^“”\n]*”|\w+(?:[.'’@/+#-]\w+)*[+#]*|[^\w\s]|\n")
QUOTES = '"“”'
WORD, NAME, DIRECTION, AMOUNT, BETWEEN, UNTIL = "word", "name", "direction", "amount", "between", "until"
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
SHORT_MIN = 3
_COUNTED = "one two three four five six seven eight nine ten"
NUMBERS = {word: n for n, word in enumerate(_COUNTED.split(), start=1)} | {"a": 1, "an": 1, "couple": 2}
UNIT_DAYS = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "year": 365}
UNTIL_WORDS = frozenset({"until", "till", "til", "'til", "through", "thru"})
# Three digits of a unit: longer than anybody means, and within what a date can hold.
COUNT_DIGITS = 3
YEAR_DIGITS = 4
FILLING = frozenset({"the", "end", "of", "on", "about", "just"})

# A last day (`None`: the words name none) and how many words were read.
Found = tuple[date | None, int]


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a name, or a phrase of the grammar (`value` says which), and where it is in the sentence."""

    kind: str
    text: str
    begin: int
    end: int
    value: str = ""
    day: date | None = None


@dataclass(frozen=True, slots=True)
class Clause:
    """One wish before its target is looked up. `target` is what was typed, from `begin` to `end`.

    `direction` is "" where none was given, `inherited` that of the clause before; `about` is a word of
    `KIND_WORDS` before the target, or ""; `first` and `last` are the bounds of the whole clause. `dated`
    without `until`: a day nobody can read.
    """

    direction: str
    target: str
    begin: int
    end: int
    first: int
    last: int
    amount: str = USUAL
    about: str = ""
    subject: bool = False
    length: str = ""
    inherited: bool = False
    only: bool = False
    until: date | None = None
    dated: bool = False


@dataclass(slots=True)
class _Part:
    """Tokens between two joining words, and the direction that a contrast gives them."""

    direction: str = ""
    tokens: list[Token] = field(default_factory=list)


def clauses_read(sentence: str, names: Iterable[str], today: date) -> list[Clause]:
    """Return the clauses of `sentence`, in order; `names` are the reader's own of several words."""
    tokens = _named(list(_tokens(sentence)), names)
    tokens = list(_phrases(_dated(tokens, today)))
    found: list[Clause] = []
    for part in _parts(tokens):
        before = found[-1].direction if found else ""
        found += _clauses(part, before)
        days = [token for token in part.tokens if token.kind == UNTIL]
        if days and not [token for token in part.tokens if token.kind in (WORD, NAME, DIRECTION)]:
            found = [c if c.dated else replace(c, until=days[0].day, dated=True) for c in found]
    return _until_last(_direction_first(found))


def _direction_first(clauses: list[Clause]) -> list[Clause]:
    """Return the clauses; the first ones get the direction that follows a target, as in "a and b: less"."""
    given = next((n for n, clause in enumerate(clauses) if clause.direction), 0)
    if not given or clauses[given].first < clauses[given].begin:
        return clauses
    first = [c if c.only else replace(c, direction=clauses[given].direction) for c in clauses[:given]]
    return [*first, *clauses[given:]]


def _until_last(clauses: list[Clause]) -> list[Clause]:
    """Return the clauses, mutes without a day with the one that the sentence ends on."""
    if not clauses or not clauses[-1].dated:
        return clauses
    last = clauses[-1]
    return [
        c if c.dated or c.direction != NONE else replace(c, until=last.until, dated=True) for c in clauses
    ]


def _tokens(sentence: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(sentence):
        typed = match.group()
        if typed[0] in QUOTES and len(typed) > 1:
            yield Token(NAME, fold(typed.strip(QUOTES)), match.start(), match.end())
        elif typed == "\n":
            yield Token(WORD, ".", match.start(), match.end())
        else:
            yield Token(WORD, fold(typed).replace("’", "'"), match.start(), match.end())


def _named(tokens: list[Token], names: Iterable[str]) -> list[Token]:
    """Return the tokens with those of one name in a row as one; the longest name first."""
    known: dict[str, list[tuple[str, ...]]] = {}
    for name in names:
        words = tuple(token.text for token in _tokens(name))
        if len(words) > 1 and not _is_grammar(words):
            known.setdefault(words[0], []).append(words)
    for rows in known.values():
        rows.sort(key=len, reverse=True)
    found, at = [], 0
    while at < len(tokens):
        rows = known.get(tokens[at].text, []) if tokens[at].kind == WORD else []
        words = next((w for w in rows if tuple(t.text for t in tokens[at : at + len(w)]) == w), ())
        if not words:
            found.append(tokens[at])
            at += 1
            continue
        last = tokens[at + len(words) - 1]
        found.append(Token(NAME, " ".join(words), tokens[at].begin, last.end))
        at += len(words)
    return found


def _is_grammar(words: Sequence[str]) -> bool:
    """Return whether a name is nothing but words of the grammar, such as "More or Less"."""
    return all(word in FILLERS or (word,) in PHRASES for word in words)


def _dated(tokens: list[Token], today: date) -> Iterator[Token]:
    # A name ends a day: no word is read across it.
    words = ["" if token.kind == NAME else token.text for token in tokens]
    at = 0
    while at < len(tokens):
        found = until_at(words, at, today) if words[at] else None
        if found is None:
            yield tokens[at]
            at += 1
            continue
        day, read = found
        text = tokens[at].text if tokens[at].text in UNTIL_WORDS else "for"
        yield Token(UNTIL, text, tokens[at].begin, tokens[at + read - 1].end, day=day)
        at += read


def _phrases(tokens: Iterator[Token]) -> Iterator[Token]:
    rest = list(tokens)
    words = [token.text if token.kind == WORD else "" for token in rest]
    at = 0
    while at < len(rest):
        found = phrase_at(words, at) if words[at] else None
        if found is None:
            yield rest[at]
            at += 1
            continue
        kind, value, length = found
        yield Token(kind, " ".join(words[at : at + length]), rest[at].begin, rest[at + length - 1].end, value)
        at += length


def _parts(tokens: Sequence[Token]) -> list[_Part]:
    parts = [_Part()]
    for token in tokens:
        if token.kind != BETWEEN:
            parts[-1].tokens.append(token)
        elif token.value == CONTRAST:
            parts.append(_Part(LESS))
        elif parts[-1].tokens:
            parts.append(_Part())
    return [part for part in parts if part.tokens]


@dataclass(slots=True)
class _Run:
    """Directions, or words of a target, that follow one another."""

    is_target: bool
    tokens: list[Token]


def _clauses(part: _Part, before: str) -> list[Clause]:
    """Return the clauses of one part: directions and targets in turns, paired in the order they began."""
    runs: list[_Run] = []
    for token in part.tokens:
        if token.kind in (AMOUNT, UNTIL) or (token.kind == DIRECTION and token.value in (ONLY, SO_MUCH)):
            continue
        is_target = token.kind != DIRECTION
        if is_target and token.text in FILLERS and not (runs and runs[-1].is_target):
            if token.text in KIND_WORDS:
                runs.append(_Run(True, [token]))
            continue
        if runs and runs[-1].is_target == is_target:
            runs[-1].tokens.append(token)
        else:
            runs.append(_Run(is_target, [token]))
    runs = [run for run in runs if not run.is_target or _stripped(run.tokens)[0] or _marks(run.tokens)]
    pairs = list(_pairs(runs))
    made = [_clause(part, words, target) for words, target in pairs]
    if len(made) == 1 and not made[0].direction:
        given = part.direction or ("" if made[0].only else before)
        return [replace(made[0], direction=given, inherited=bool(given) and not part.direction)]
    return made


def _marks(tokens: Sequence[Token]) -> bool:
    return any(token.text in LENGTHS for token in tokens)


def _pairs(runs: Sequence[_Run]) -> Iterator[tuple[list[Token], list[Token]]]:
    """Yield (directions, target): "less of this" or "this less", whichever way the part begins."""
    rows: list[tuple[list[Token], list[Token]]] = []
    leads = bool(runs) and (not runs[0].is_target or (len(runs) > 1 and runs[-1].is_target))
    directions: list[Token] = []
    for n, run in enumerate(runs):
        if run.is_target:
            following = runs[n + 1].tokens if not leads and n + 1 < len(runs) else []
            rows.append((following if not leads else directions, run.tokens))
            directions = []
        elif leads:
            directions = run.tokens
    if leads and directions:
        # What follows the last target belongs to it: "use chess less", or has none: "less, please".
        if rows:
            rows[-1] = ([*rows[-1][0], *directions], rows[-1][1])
        else:
            rows.append((directions, []))
    yield from rows


def _clause(part: _Part, directions: Sequence[Token], words: Sequence[Token]) -> Clause:
    target, about, subject, length = _stripped(words)
    days = [token for token in part.tokens if token.kind == UNTIL]
    amounts = {token.value for token in part.tokens if token.kind == AMOUNT}
    directed = [token.value for token in part.tokens if token.kind == DIRECTION]
    bounds = [*directions, *words] or part.tokens
    return Clause(
        direction=_direction([token.value for token in directions], part.direction, SO_MUCH in directed),
        target=" ".join(token.text for token in target),
        begin=target[0].begin if target else bounds[0].begin,
        end=target[-1].end if target else bounds[-1].end,
        first=min(token.begin for token in bounds),
        last=max(token.end for token in bounds),
        amount=SMALL if SMALL in amounts else BIG if BIG in amounts else USUAL,
        about=about,
        subject=subject,
        length=length,
        only=ONLY in directed and not directions,
        until=days[0].day if days else None,
        dated=bool(days),
    )


def _direction(words: Sequence[str], given: str, so_much: bool) -> str:
    """Return what directions come to together; `UNCLEAR` where they contradict each other."""
    found = set(words)
    if found - {WEAK}:
        found.discard(WEAK)
    if so_much and found & {NONE, AGAINST}:
        return LESS
    if not found:
        return given
    if found == {WEAK}:
        return MORE
    for pair, means in _TOGETHER.items():
        if found == pair:
            return means
    return found.pop() if len(found) == 1 else UNCLEAR


_TOGETHER = {
    frozenset({MORE, FRESHER}): FRESHER,
    frozenset({MORE, OLDER}): OLDER,
    frozenset({LESS, FRESHER}): OLDER,
    frozenset({LESS, OLDER}): FRESHER,
}


def _stripped(tokens: Sequence[Token]) -> tuple[list[Token], str, bool, str]:
    """Return a target without what is around it, what kind it was said to be, and a length it was to have."""
    rest, about, subject, length = list(tokens), "", False, ""
    while rest and rest[0].kind == WORD and rest[0].text in _BEFORE:
        word = rest[0].text
        if len(rest) == 1 and word not in FILLERS | LENGTHS:
            break
        about = KIND_WORDS.get(word, about)
        length = word if word in LENGTHS else length
        subject = subject or (bool(length or about) and word in SUBJECT_WORDS)
        rest.pop(0)
    while len(rest) > 0 and rest[-1].kind == WORD and (rest[-1].text in FILLERS | SUBJECT_WORDS):
        word = rest.pop().text
        subject = subject or word in SUBJECT_WORDS
    return rest, about, subject, length


_BEFORE = FILLERS | KIND_WORDS.keys() | LENGTHS | EVERY_WORDS


def target_special(target: str) -> str:
    """Return `FRESHER` or `OLDER` for a target that is an age, "all" for one that is everything, else ""."""
    words = set(target.split())
    if words and words <= FRESH_WORDS:
        return FRESHER
    if words and words <= OLD_WORDS:
        return OLDER
    return "all" if words and words <= EVERYTHING | FILLERS else ""


def until_at(words: Sequence[str], at: int, today: date) -> Found | None:
    """Return the last day that begins at word `at`, or `None` where nothing of the kind does.

    A day of the week is the next one after `today`; the last day is within the time.
    """
    word = words[at]
    if word in UNTIL_WORDS:
        skipped = _skip(words, at + 1, FILLING)
        day, read = _day_at(words, skipped, today)
        return day, (skipped - at + read if read else 1)
    if word == "for" and (found := _span_at(words, at + 1, today)):
        return found[0], found[1] + 1
    if word in ("today", "tonight") and _ends(words, at + 1):
        return today, 1
    if word == "this" and at + 1 < len(words) and words[at + 1] in ("week", "month", "weekend"):
        return (_day_at(words, at + 1, today)[0], 2) if _ends(words, at + 2) else None
    return None


def _ends(words: Sequence[str], at: int) -> bool:
    return at >= len(words) or words[at] in {",", ".", ";", "!", "?", "and", "but", "then"}


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
        return _relative(words[at + 1], today, later=word == "next"), 2
    if word in ("today", "tonight"):
        return today, 1
    if word == "tomorrow":
        return today + timedelta(days=1), 1
    if (day := _relative(word, today, later=False)) is not None:
        return day, 1
    return _date_at(words, at, today)


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
    first, second = words[at], _skip(words, at + 1, frozenset({"of"}))
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
    digits = word.removesuffix("st").removesuffix("nd").removesuffix("rd").removesuffix("th")
    return int(digits) if digits.isdecimal() and digits.isascii() and len(digits) < COUNT_DIGITS else None


def _made(year: int, month: int, day: int, today: date) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _span_at(words: Sequence[str], at: int, today: date) -> Found | None:
    """Return the last day of "3 days", "the next two weeks", "the rest of the week", "today"."""
    begin = _skip(words, at, frozenset({"the", "next", "about", "a", "an", "rest", "of", "this"}))
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
