"""Wishes that settings cannot express, each with a sentence that says so and what can be done. Pure.

`limits.txt` has the words of each. A part of a sentence asks for it if it has one of its words and no others
but those around it, or if its pattern is found in it.
"""

import re
from collections.abc import Iterable, Set
from pathlib import Path

from ranking.common.text import fold
from ranking.language import gettext_noop
from suggestions.changes.change import ADD, LESS, MORE, NONE, REMOVE, UNMUTE
from suggestions.wishes.lexicon import AGAINST, ONLY, WEAK

COUNT, PRAISE, QUESTION, TASTE, UNDO, VARIETY, FORMS, PAST, EARLIER = (
    *("count", "praise", "question", "taste"),
    *("undo", "variety", "forms", "past", "earlier"),
)
_VERSIONS = gettext_noop("Settings can undo that: it keeps every version. Choose which one to go back to.")
LIMITS = {
    TASTE: gettext_noop("Settings says how much your ratings change the order of your page."),
    "fine": gettext_noop("All right, everything stays as it is."),
    EARLIER: _VERSIONS,
    UNDO: _VERSIONS,
    PRAISE: gettext_noop("Thank you. That changes nothing by itself: a rating of an article says more."),
    "feeds": gettext_noop(
        "Feeds are added and left under Sources. In words, a source can be hidden: “hide Gazette”."
    ),
    "mail": gettext_noop("Account says whether and when Today comes by mail."),
    PAST: gettext_noop(
        "I cannot tell what happened while you were away. All has the articles of those days."
    ),
    "pages": gettext_noop("I cannot change what a source shows on its own pages."),
    "deed": gettext_noop(
        "I cannot do that. I can show more or less of a source or a subject, hide it, or limit a source to so"
        " many articles a day."
    ),
    "look": gettext_noop("Display has what pages look like: theme, density and pictures."),
    "media": gettext_noop("Settings cannot tell videos from articles. Hide the source instead."),
    FORMS: gettext_noop(
        "Settings cannot tell what form an article has, such as a podcast. It goes by sources and words."
    ),
    "pictures": gettext_noop(
        "Settings cannot choose articles by their pictures. Display says whether pictures are loaded."
    ),
    "language": gettext_noop("Settings knows nothing of an article’s language. Mute the sources instead."),
    "paywall": gettext_noop("Settings cannot tell which articles cost money. Mute the source instead."),
    "twice": gettext_noop("Today has each story once already. All has what every source wrote about it."),
    "seen": gettext_noop("Settings has a switch to leave out what you have read or rated."),
    VARIETY: gettext_noop("Today already mixes your sources; no setting adds variety."),
    "day": gettext_noop(
        "Settings cannot leave out a day. A source can have a shelf life: “nothing older than two days from "
        "Gazette”."
    ),
    "worth": gettext_noop(
        "Settings cannot tell which articles are good, important or cheerful. Your ratings teach Today that."
    ),
    "length": gettext_noop("Settings knows nothing of an article’s length."),
    "order": gettext_noop(
        "Today is sorted by what you like. All, a source, a folder and a search have “Newest” and “Oldest” "
        "above their list."
    ),
    COUNT: gettext_noop("Settings cannot limit how many articles a day there are in all."),
    QUESTION: gettext_noop("That is a question, not a wish. Settings shows what I go by."),
}
# The directions that a wish of this kind may have; "" is none. Others may have any.
_ASKED = {"", WEAK, ONLY}
_AMONG = {
    **dict.fromkeys((PRAISE, COUNT, FORMS), _ASKED),
    "deed": {*_ASKED, REMOVE},
    "mail": {*_ASKED, NONE},
    "feeds": {*_ASKED, ADD, REMOVE, MORE},
    "language": {ONLY, NONE, AGAINST, ""},
    "day": {NONE},
    "worth": {*_ASKED, NONE, MORE, LESS, AGAINST},
}
# Their patterns tell them whatever the direction is.
_ANYWAY = frozenset({"language"})
# "I print it out for her" asks for nothing.
_TELLS = re.compile(r"(?:i|we|ich|wir) (?!want|would|wish|need|like|möchte|will|hätte|brauche)\w+ ")
_ROWS = dict(
    line.split(": ", 1) for line in Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
)
_WORDS = {name: frozenset(map(fold, row.split())) for name, row in _ROWS.items()}
_PATTERNS = {
    name.removesuffix(" pattern"): re.compile(rf"(?<!\S)(?:{row})(?!\S)")
    for name, row in _ROWS.items()
    if name.endswith(" pattern")
}
ASKING, FORM_WORDS, UNDO_ALL = _WORDS["asking"], _WORDS["form words"], _WORDS["undo all"]
_NO_EFFECT = re.compile(
    r"\b(?:do(?:es)? nothing|do anything|(?:bring\w*|bewirk\w*) (?:gar |doch )?ni(?:chts|x))\b"
)
# After these words the first one asks nothing: "how about more chess".
_NO_QUESTION = frozenset({"about", "not", "cares", "i", "ich", "nicht"})


def limit_of(words: Set[str], telling: Set[str], typed: str, directions: Set[str]) -> str:
    """Return the code of an impossible wish in a part of a sentence, or "".

    `words` are all of its words, `telling` those without fillers, `typed` the part as one text.
    """
    directions = directions - {WEAK} or directions or {""}
    for code in LIMITS:
        named, around = _WORDS.get(code, frozenset()), _WORDS.get(f"{code} around", frozenset())
        is_named = words & named and telling <= named | around | _WORDS["beside"]
        is_found = code in _PATTERNS and _PATTERNS[code].search(typed)
        if code == UNDO and UNMUTE in directions and words & _WORDS["mutes"]:
            continue
        if code == "deed" and _TELLS.match(typed):
            continue
        if is_found and code in _ANYWAY:
            return code
        if (is_named or is_found) and directions <= _AMONG.get(code, directions):
            return code
    return ""


def tells_no_effect(typed: Iterable[str]) -> bool:
    """Return whether a part of these words complains that something has no effect: "my thumbs do nothing"."""
    return _NO_EFFECT.search(" ".join(typed)) is not None


def is_question(typed: str, directions: Set[str], *, is_asked: bool) -> bool:
    """Return whether a part is a question to Tidings; `is_asked`: a question mark follows it.

    "How do I get less chess" is a wish.
    """
    first, second = [*typed.split(), "", ""][:2]
    if first in ("how", "wie") and directions & {MORE, LESS, NONE}:
        return False
    return first in ASKING and second not in _NO_QUESTION and (is_asked or second in _WORDS["asking verbs"])
