"""The words of rules for one source, in English and German, as tokens of a wish. Pure.

"Nothing older than two days from Gazette" is a shelf life, "never miss Gazette" a place for each item, "keep
Gazette out of Today" a switch of the source's page. They are found before anything else is read, because
"older", "never" and "today" alone mean something else.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ranking.common.text import fold

SHELF, NEVER_MISS, ALWAYS_SHOWN, OUT_OF_TODAY = "shelf", "never_miss", "always", "out"
# Words that add nothing to a wish.
DROPPED = "dropped"
UNKNOWN_AGE = "?"
# A name of the reader's own, in the text that is searched.
NAME_MARK = "\0"

_COUNTED = (
    ("a an one ein eine einen einem einer eines", 1), ("two zwei couple", 2), ("three drei", 3),
    ("four vier", 4), ("five fünf fuenf", 5), ("six sechs", 6), ("seven sieben", 7), ("eight acht", 8),
    ("nine neun", 9), ("ten zehn", 10), ("twelve zwölf", 12), ("twenty-four vierundzwanzig", 24),
)  # fmt: skip
# How often words may be repeated, and how far apart two halves may stand: a bound keeps the search linear.
_FEW, _SOME, _BETWEEN = "{0,6}", "{1,8}", r"[^,;.!?]{0,80}?"
_NUMBERS = {fold(word): n for words, n in _COUNTED for word in words.split()}
_HOURS = {"h": 1, "s": 1, "d": 24, "t": 24, "w": 168, "f": 336, "m": 720}
_NUMBER = rf"(?P<n>\d{{1,3}}|{'|'.join(_NUMBERS)})"
_UNIT = (
    r"(?P<unit>h|hrs?|hours?|stunden?|std|days?|d|tag(?:e|en|es)?|weeks?|wochen?|fortnights?|months?|"
    r"monat\w*)"
)
_AGE = rf"(?:a )?{_NUMBER} ?(?:of )?{_UNIT}"
_PIECE = (
    r"(?:articles?|posts?|items?|stor(?:y|ies)|pieces?|episodes?|artikel|beitr(?:ag|äge)|meldung(?:en)?|"
    r"folgen?)"
)
_ONE = rf"(?: (?:a|an|any|anything|something|one|a thing))?(?: single)?(?: (?:{_PIECE}|thing|one))?"
_NO_GERMAN = (
    rf"(?:nie|niemals|nichts|nix|nicht|kein\w*)"
    rf"(?: (?:mehr|etwas|was|ein(?:en|e|es)?|einzigen?|einziges)){_FEW}"
    rf"(?: {_PIECE})?"
)
_TODAY = (
    r"(?:(?:the|my|der|die|dem|den|meinem|meiner|meinen|seite|page) ){0,6}"
    r"(?:today(?:(?:'?s)? (?:page|digest|view|list|issue))?|heute(?:-seite)?|"
    r"heutigen? (?:überblick|digest)|überblick)"
)
_BEFORE_AGE = (
    r"(?:, )?(?:(?:that|which|who|if|once|when|as soon as|sobald|das|die|der|was|wenn|falls|sofern|"
    r"welche\w*) )?"
    r"(?:(?:it|they|es|sie|er|that's|it's|they're|is|are|isn't|aren't) ){0,6}(?:(?:no|not|nicht|nichts) )?"
)
_AFTER_AGE = r"(?: (?:old|alt|ago))?(?: (?:ist|sind|is|are))?"
_MOST = (
    r"(?:at most|at the most|max|maximum|no more than|not more than|up to|höchstens|maximal|bis zu|"
    r"nicht mehr als)"
)

_NOT = re.compile(
    r"(?<!\S)(?:no|not|nothing|none|never|don't|dont|doesn't|shouldn't|mustn't|isn't|without|exclude|remove|hide|"
    r"leave|drop|ban|block|skip|stop|nicht|nie|niemals|nichts|nix|kein\w*|ohne|entfern\w*)(?!\S)"
)
_TAKE_OFF = re.compile(
    r"(?<!\S)(?:exclude|remove|hide|leave|drop|ban|take|keep|delete|omit|entfern\w*|streich\w*)(?!\S)"
)
_ONLY = re.compile(r"(?<!\S)(?:only|just|solely|nur|ausschliesslich)(?!\S)")
_BACK = re.compile(r"(?<!\S)(?:back|again|wieder|zurück)(?!\S)")
# Where a wish may end, so that a "not" before it says nothing of what follows.
_WISH_ENDS = re.compile(r" (?:[,.;!?]|but|aber) ")
_JOINS = re.compile(r" (?:and|or|und|oder) ")
_WAYS = re.compile(r"(?<!\S)(?:more|less|fewer|mehr|weniger|add|boost|show|zeig\w*|newer|newest)(?!\S)")


def _has(wanted: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda before: wanted.search(before) is not None


def _always(before: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Found:
    """A rule: the numbers of the first and the last word, and of those between them that are none of it."""

    value: str
    first: int
    last: int
    middle: range = range(0)


# Each rule with its words, and what must stand before them in the same wish.
_RULES: Sequence[tuple[str, re.Pattern[str], Callable[[str], bool]]] = [
    (value, re.compile(rf"(?<!\S){words}(?!\S)"), when)
    for value, words, when in (
        (SHELF, rf"{_BEFORE_AGE}(?:older|elder|älter\w*|aelter\w*)(?: (?:ist|is|sind))? (?:than|then|als)"
                rf"(?: {_AGE}{_AFTER_AGE})?", _always),
        (SHELF, rf"(?:(?:that|which|das|die|der|was) )?(?:(?:that's|they're|is|are) )?"
                rf"(?:younger|newer|jünger|neuer) (?:than|then|als) {_AGE}{_AFTER_AGE}", _always),
        (SHELF, rf"{_BEFORE_AGE}(?:less|weniger) (?:than|then|als) {_AGE} (?:old|alt)"
                rf"(?: (?:ist|sind))?", _always),
        (SHELF, rf"{_BEFORE_AGE}länger (?:als|wie) {_AGE} her(?: (?:ist|sind))?", _always),
        (SHELF, rf"{_MOST} {_AGE} (?:old|alt)(?: (?:ist|sind))?", _always),
        (SHELF, rf"{_AGE} (?:old|alt) {_MOST}", _always),
        (SHELF, rf"(?:after|nach) {_AGE}", _always),
        (SHELF, rf"(?:a |eine )?(?:shelf life|haltbarkeit|shelf-life)"
                rf"(?: (?:of|von|:)){_FEW} {_AGE}", _always),
        (SHELF, rf"(?:(?:from|of|in|within|aus|von|innerhalb) )?(?:(?:the|den|der|die|dem) )?"
                rf"(?:last|past|letzten?|letzter|vergangenen?) "
                rf"(?:{_NUMBER} ?{_UNIT}|(?P<one>day|hour|week|tag|stunde|woche|tages))",
                _has(_ONLY)),
        (SHELF, r"(?:from|of|von|aus) (?:this|diese[rm]) (?P<one>week|woche)", _has(_ONLY)),
        (NEVER_MISS, rf"never (?:ever )?(?:(?:want to|want|wish to|let me|ever) ){_FEW}"
               rf"(?:miss|mis|skip|hide|omit|leave(?: (?:it|them|any|one))? out|lose)(?: out on)?{_ONE}",
               _always),
        (NEVER_MISS, rf"(?:don't|dont|do not|doesn't|must not|mustn't|can't|cannot|should not|shouldn't|not)"
               rf"(?: (?:want|like|wish|let|me|to|ever|afford|you|dare)){_FEW} (?:miss|mis)"
               rf"(?: out on)?{_ONE}", _always),
        (NEVER_MISS, r"(?:(?:is|are|be|must|should|can) ){0,3}(?:never|not) (?:be |being )?missed", _always),
        (NEVER_MISS, rf"(?P<a>{_NO_GERMAN})(?P<mid>{_BETWEEN}) ?(?P<b>verpas\w*|entgeh\w*|fehlen)", _always),
        (NEVER_MISS, rf"(?P<a>verpas\w*)(?P<mid>{_BETWEEN}) ?(?P<b>{_NO_GERMAN})", _always),
        (ALWAYS_SHOWN, rf"always (?:show|include|list|give|have|see|put|bring)(?: me)?"
                      rf"(?: (?:every|each|all|everything|anything))?(?: single)?(?: {_PIECE})?", _always),
        (ALWAYS_SHOWN, rf"(?:(?:see|read|want|get|show|give|include|me) ){_SOME}(?:every|each)(?: single)? "
                      rf"{_PIECE}", _always),
        (ALWAYS_SHOWN, rf"immer (?:alle[sn]?(?: {_PIECE})?|anzeigen|zeigen|sehen|dabei|drin)", _always),
        (ALWAYS_SHOWN, rf"jede[ns]?(?: einzelne[ns]?)? {_PIECE}", _always),
        (OUT_OF_TODAY, rf"(?:only|just|nur)(?: noch)? (?:in|under|unter) (?:all|alle[mn]?)"
                       rf"(?: {_PIECE}\w*)?", _always),
        (OUT_OF_TODAY, rf"(?:hat )?(?:in|im) {_TODAY} (?:nichts (?:verloren|zu suchen)|"
                       rf"(?:nicht|nie)(?: mehr)?)", _always),
        (OUT_OF_TODAY, rf"(?P<a>only|just|nur(?: noch)?)(?P<mid>{_BETWEEN}) (?P<b>(?:in|under|unter) "
                       rf"(?:all|alle[mn]?)(?: {_PIECE}\w*)?)(?= [,;.!?]|$)", _always),
        (OUT_OF_TODAY, rf"(?:out of|out from|off|away from|outside|outside of) {_TODAY}", _always),
        (OUT_OF_TODAY, rf"aus {_TODAY}(?: (?:heraus|raus|weg|fern|draussen|herausgehalten|heraushalten|"
                       rf"raushalten|herausnehmen|entfernen))?", _always),
        (OUT_OF_TODAY, rf"(?:not|never|nicht|nie|shouldn't|doesn't|don't)"
                       rf"(?: (?:mehr|länger|be|appear|show|up|land|go|put|any more)){_FEW} "
                       rf"(?:in|on|into|im|auf|unter) {_TODAY}", _always),
        (OUT_OF_TODAY, rf"(?:in|on|into|im|auf|unter|part of) {_TODAY}(?: (?:nicht|nie)(?: mehr)?)?",
                       _has(_NOT)),
        (OUT_OF_TODAY, rf"(?:from|von) {_TODAY}(?! on)", _has(_TAKE_OFF)),
        (OUT_OF_TODAY, rf"(?:back|again|wieder|zurück) (?:in|into|to|im) {_TODAY}", _always),
        (OUT_OF_TODAY, rf"(?:in|into|to|im) {_TODAY}", _has(_BACK)),
        (DROPPED, rf"(?:in|on|im) {_TODAY}", _always),
    )
]  # fmt: skip


def rule_found(words: Sequence[str]) -> Found | None:
    """Return the first rule in `words`, which are folded, a name being `NAME_MARK`; `None` for none."""
    text = " ".join(words)
    for value, pattern, when in _RULES:
        for match in pattern.finditer(text):
            before = f" {text[: match.start()]}"
            if when(_wish_before(before)):
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
    if not groups.get("mid", "").strip():
        return Found(value, first, last)
    begin, end = match.span("mid")
    lead = len(groups["mid"]) - len(groups["mid"].lstrip())
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
