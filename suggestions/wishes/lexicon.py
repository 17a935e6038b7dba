"""The words of the grammar of wishes: phrases for more, for less, for nothing, and how much. Pure.

`english.txt` has the phrases by their meaning, `sets.txt` other words. In both `b c/d e?` is "b c", "b c e",
"b d" and "b d e", and `frisch~` the word with each of `_ENDINGS`.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

from suggestions.changes.change import ADD, FRESHER, LESS, MORE, NONE, OLDER, REMOVE, UNMUTE
from suggestions.wishes.wish import BIG, SMALL, USUAL

# With "not" or "stop" it means less. Alone it asks for nothing.
SO_MUCH = "so much"
# A dislike that may mean less, or nothing at all.
AGAINST = "against"
# Alone it is a dislike. With another direction it is unclear: "do not leave chess out".
NOT = "not"
ONLY = "only"
# An unclear direction: two that contradict each other.
UNCLEAR = "unclear"
# More, if nothing else is said: "I like chess", but not in "I'd like less chess".
WEAK = "weak"
# With "no" it means more, because nothing must be missed.
MISS = "miss"
# `THAN` is a contrast only after a word of preference: "prefer this over that".
JOIN, CONTRAST, THAN = "join", "contrast", "than"
# `KEEPS` names what should stay as it is.
CONDITION, KEEPS = "condition", "kept"
# Names of lists: words with one meaning each, words without any, and verbs with a second half.
PAIRS, FILLING, APART_OF = "pairs", "fillers", "apart "
Words = tuple[str, ...]
_ENDINGS = ("", "e", "en", "er", "es", "t")


def words_read(name: str) -> dict[str, list[Words]]:
    """Return the phrases of a list of words by their meaning; `pairs: tag=day` has it beside each word."""
    found: dict[str, list[Words]] = {}
    for line in Path(__file__).with_name(name).read_text("utf-8").splitlines():
        meaning, _, row = line.partition(": ")
        if meaning == PAIRS:
            for word, _, english in (pair.partition("=") for pair in row.split()):
                found.setdefault(english, []).append((word,))
            continue
        for phrase in row.split(" | "):
            ways = product(*map(_alternatives, phrase.split()))
            found.setdefault(meaning, []).extend(tuple(filter(None, way)) for way in ways)
    return found


def _alternatives(typed: str) -> list[str]:
    words = typed.removesuffix("?").split("/") if len(typed) > 1 else [typed]
    ended = [f"{word[:-1]}{end}" for word in words for end in _ENDINGS if word[-1:] == "~"]
    return [*(word for word in words if word[-1:] != "~"), *ended, *[""] * (typed[1:].endswith("?"))]


_READ, ROWS = words_read("english.txt"), words_read("sets.txt")
SETS = {name: frozenset(word for phrase in rows for word in phrase) for name, rows in ROWS.items()}
# Words around a target without a meaning for it. `ADVERBS` may stand inside any phrase: "can't really stand".
FILLERS, ADVERBS = SETS[FILLING], SETS["adverbs"]
# Words before a target that tell its kind. The words after "from" and "by" are publishers and authors.
KIND_WORDS: Mapping[str, str] = dict(pair.split("=") for pair in SETS["kinds"])
# `EVERY_WORDS` add nothing before "about". After a target `SUBJECT_WORDS` say that it is a subject.
EVERY_WORDS, SUBJECT_WORDS, LENGTHS = SETS["every"], SETS["subjects"], SETS["lengths"]
EVERYTHING, FRESH_WORDS, OLD_WORDS = SETS["everything"], SETS["fresh"], SETS["old"]
# Right after a direction and right before another word, they are a part of what is named: "less time travel".
COMPOUNDING = SETS["compounding"]
# Words that carry a sentence and are no target: "were", "who". `PLACED` place a name in a time.
CARRYING, PLACED, PRONOUNS = SETS["carrying"], SETS["placed"], SETS["pronouns"]
# Adjectives that tell which news is wished for, though around a target they have no meaning.
TELLING = SETS["telling"]
# In capitals they are names, though as words they have no meaning around a target: "less US politics".
ABBREVIATIONS = frozenset({"US", "IT", "IS", "ID"})
# After one of these, "us" is the country: "less us politics", but "show us politics".
BEFORE_NAMES = SETS["before names"]
# Misspelled, they still begin a wish; long ones may stand anywhere.
DIRECTION_WORDS = sorted(SETS["spelled"])
# Counts a day: words that make a number a limit, right before it or anywhere, and the ends of a count. With
# one of `CAP_UNLIKE`, and no word of a limit, it is none: "I read two a day", "more than two a day".
CAP_BEGINS, CAP_WORDS, CAP_UNLIKE = ROWS["cap begins"], ROWS["cap words"], SETS["cap unlike"]
CAP_TOTALS, CAP_ENDS = ROWS["cap totals"], ROWS["cap ends"]
_KINDS = {
    "direction": (
        *(MORE, MISS, UNMUTE, WEAK, LESS, NONE, ADD, REMOVE, FRESHER, OLDER),
        *(SO_MUCH, AGAINST, NOT, UNCLEAR, ONLY),
    ),
    "amount": (USUAL, SMALL, BIG),
    "condition": (CONDITION, KEEPS),
    "between": (JOIN, CONTRAST, THAN),
}
PHRASES: Mapping[Words, Words] = {
    phrase: (kind, name) for kind, names in _KINDS.items() for name in names for phrase in _READ[name]
}
PHRASE_WORDS_MAX = 8
# Verbs whose second half says what is meant, "give chess a rest": by the verb its halves, with the direction.
APART: dict[str, list[tuple[Words, str]]] = {}
for _name, _rows in ROWS.items():
    for _verb, *_half in _rows if _name.startswith(APART_OF) else ():
        APART.setdefault(_verb, []).append((tuple(_half[1:]), _name.removeprefix(APART_OF)))


def phrase_at(phrases: Mapping[Words, Words], words: Sequence[str], at: int) -> tuple[Words, int] | None:
    """Return the meaning of the longest of `phrases` at `at`, and how many words it has there, or `None`.

    Adverbs may stand between its words.
    """
    here = words[at : at + PHRASE_WORDS_MAX]
    bare = [n for n, word in enumerate(here) if not n or word not in ADVERBS]
    for length in range(len(here), 0, -1):
        for taken in (range(len(here)), bare):
            if len(taken) >= length and (found := phrases.get(tuple(here[n] for n in taken[:length]))):
                return found, taken[length - 1] + 1
    return None


def starts(phrases: Sequence[Words], words: Sequence[str], at: int) -> int:
    """Return how many words the longest of `phrases` at `at` has; 0 for none."""
    return max((len(p) for p in phrases if tuple(words[at : at + len(p)]) == p), default=0)


def target_special(target: str) -> str:
    """Return `FRESHER` or `OLDER` for a target that is an age, "all" for everything, else ""."""
    words = set(target.split())
    if words and words <= FRESH_WORDS:
        return FRESHER
    if words and words <= OLD_WORDS:
        return OLDER
    return "all" if words & EVERYTHING and words <= EVERYTHING | FILLERS else ""
