"""The words of the grammar of wishes: phrases for more, for less, for nothing, and how much. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from suggestions.changes.change import ADD, FRESHER, LESS, MORE, NONE, OLDER, REMOVE, UNMUTE
from suggestions.wishes.last_days import MONTHS
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
JOIN, CONTRAST = "join", "contrast"
# With "no" it means more, because nothing must be missed.
MISS = "miss"
# A contrast only after a word of preference: "prefer this over that".
THAN = "than"
CONDITION = "condition"


def words_read(name: str) -> dict[str, list[tuple[str, ...]]]:
    """Return the phrases of a list of words by their meaning: `more: a | b c/d` has "a", "b c" and "b d"."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for line in Path(__file__).with_name(name).read_text("utf-8").splitlines():
        meaning, _, row = line.partition(": ")
        for phrase in row.split(" | "):
            found.setdefault(meaning, []).extend(product(*(word.split("/") for word in phrase.split())))
    return found


_READ = words_read("english.txt")


def _set(name: str) -> frozenset[str]:
    return frozenset(word for phrase in _READ[name] for word in phrase)


_BETWEEN = {
    JOIN: """
        , | ; | . | ! | ? | / | and | but | then | also | plus | or | nor | while | whereas | though | yet |
        & | mostly | especially | particularly | above all
        """,
    CONTRAST: """
        instead of | rather than | in place of | as opposed to | more important than
        """,
    THAN: "over | than | than about",
}
# Words around a target without a meaning for it.
FILLERS = _set("fillers")
# Words before a target that tell its kind. The words after "from" and "by" are publishers and authors.
KIND_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("topic", "topics", "subject"), "topic"),
    **dict.fromkeys(("word", "words", "phrase", "keyword"), "word"),
    **dict.fromkeys(("category", "categories"), "category"),
    **dict.fromkeys(("source", "sources", "publisher", "from"), "source"),
    **dict.fromkeys(("author", "writer", "by"), "author"),
    **dict.fromkeys(("about", "regarding", "concerning", "mentioning", "containing", "with", "on"), "about"),
}
# After a target they say that it is a subject.
# Before "about" they add nothing.
EVERY_WORDS = frozenset({"everything", "anything", "all", "every", "each"})
SUBJECT_WORDS, LENGTHS = _set("subjects"), _set("lengths")
EVERYTHING, FRESH_WORDS, OLD_WORDS = _set("everything"), _set("fresh"), _set("old")
# Right after a direction and right before another word, they are a part of what is named: "less time travel".
COMPOUNDING = _set("compounding")
# Words that carry a sentence and are no target: "were", "who".
CARRYING = _set("carrying")


def phrases_of(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the phrases of a list such as `a | b c`, each as its words."""
    for phrase in text.split("|"):
        yield tuple(phrase.split())


# What turns a verb of hiding into its end, and a verb of showing into a mute.
_TURNED = "don't | do not | stop | no longer | never | quit | not | no need to | doesn't"
_TURNING = (
    ("hide hiding mute muting block blocking suppress skip filter filtering ban banning", UNMUTE),
    ("show showing recommend recommending suggest suggesting give giving push send sending bring", NONE),
)
_KINDS = {
    "direction": (
        MORE,
        MISS,
        UNMUTE,
        WEAK,
        LESS,
        NONE,
        ADD,
        REMOVE,
        FRESHER,
        OLDER,
        SO_MUCH,
        AGAINST,
        NOT,
        UNCLEAR,
        ONLY,
    ),
    "amount": (USUAL, SMALL, BIG),
    "condition": (CONDITION,),
}
PHRASES: Mapping[tuple[str, ...], tuple[str, str]] = {
    **{
        (*turned, verb): ("direction", meant)
        for turned in phrases_of(_TURNED)
        for verbs, meant in _TURNING
        for verb in verbs.split()
    },
    **{("in", month): ("condition", CONDITION) for month in MONTHS},
    **{phrase: (kind, name) for kind, names in _KINDS.items() for name in names for phrase in _READ[name]},
    **{phrase: ("between", name) for name, text in _BETWEEN.items() for phrase in phrases_of(text)},
}
PHRASE_WORDS_MAX = max(map(len, PHRASES))


def phrase_at(words: Sequence[str], at: int) -> tuple[str, str, int] | None:
    """Return the longest phrase at `at`: its kind, its value, its number of words. `None` for no phrase."""
    for length in range(min(PHRASE_WORDS_MAX, len(words) - at), 0, -1):
        if found := PHRASES.get(tuple(words[at : at + length])):
            return (*found, length)
    return None


# Verbs whose second half says what is meant: "give chess a rest". The halves, the verbs, the direction.
_APART = (
    ("a rest | a break | a miss", "give", LESS),
    ("down | back", "turn dial tone dim ramp scale cut crank wind pare", LESS),
    (
        "up | up to eleven | up to 11 | to the top | at the top | on top | first | higher | to the front",
        "turn dial tone ramp scale crank pump bump push pull move put place rank list bring",
        MORE,
    ),
    ("back", "bring want get have give let take put", UNMUTE),
    (
        "off | out | away | out of my | off my | aside",
        "take throw kick cut weed filter leave keep get turn switch shut clear strip put",
        NONE,
    ),
)
APART = [
    (half, frozenset(verbs.split()), direction)
    for halves, verbs, direction in _APART
    for half in phrases_of(halves)
]
# Counts a day: what stands right before the number, anywhere after it or before it, and their ends.
CAP_BEGINS = tuple(
    phrases_of("at most | no more than | not more than | max | maximum | a maximum of | up to | only")
)
CAP_AFTER = tuple(
    phrases_of(
        "at most | at the most | max | maximum | tops | or less | or fewer | is enough | are enough | limit"
        " | cap | enough | is plenty | are plenty | will do | suffice | suffices | and no more"
    )
)
CAP_BEFORE = tuple(
    phrases_of("is enough | happy with | limit | cap | restrict | ration | max | maximum | at most")
)
CAP_TOTALS = tuple(phrases_of("fewer than | less than"))
CAP_ENDS = tuple(
    phrases_of(
        "a day | per day | each day | every day | daily | / day | / tag | x a day | x per day | x daily"
        " | a week | per week | weekly"
    )
)
# Adjectives that tell which news is wished for, though around a target they have no meaning.
TELLING = frozenset({"good", "great", "nice", "fine", "bad", "local", "opinion"})
# In capitals they are names, though as words they have no meaning around a target: "less US politics".
ABBREVIATIONS = frozenset({"US", "IT", "IS", "ID"})
# After one of these, "us" is the country: "less us politics", but "show us politics".
BEFORE_NAMES = frozenset({"more", "less", "fewer", "no", "mute", "hide", "block", "mehr", "weniger", "keine"})
PRONOUNS = frozenset({"it", "them", "those", "that", "these", "this"})
# Misspelled, they still begin a wish.
DIRECTION_WORDS = ("more", "less", "fewer", "hide", "mute", "nothing", "mehr", "weniger", "keine", "nichts")


def starts(phrases: Sequence[tuple[str, ...]], words: Sequence[str], at: int) -> int:
    """Return how many words the longest of `phrases` at `at` has; 0 for none."""
    return max((len(p) for p in phrases if tuple(words[at : at + len(p)]) == p), default=0)
