"""Whole-word matching of topics and keywords, the same wherever a topic meets a text."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache

from ranking.synonyms import known_topic

TOPIC_MAX_CHARS = 64
_WORD = re.compile(r"\w+")
# Words that end like a plural and are none: "news" must not match "new".
NOT_PLURALS = frozenset(
    {"news", "windows", "mars", "lens", "series", "species", "rails", "texas", "paris"}
    | {"kubernetes", "postgres"}
    | {"politics", "physics", "economics", "mathematics", "ethics", "athletics", "olympics"}
)
# Plurals in -ies whose singular ends in -ie, not in -y.
IE_PLURALS = frozenset(
    {"movies", "cookies", "calories", "selfies", "zombies", "veggies", "indies", "smoothies"}
)


def fold(text: str) -> str:
    """`text` after NFKC and casefold, white space collapsed: the form in which two spellings are one."""
    return " ".join(fold_lightly(text).split())


# German endings that tell a noun and its plurals for certain; no English word ends so. Others (Wahl, Wahlen)
# would take English words apart ("car", "care") and are left to the reader, who may name both.
GERMAN_PLURALS = {
    "ung": ("en",),
    "heit": ("en",),
    "keit": ("en",),
    "schaft": ("en",),
    "tät": ("en",),
    "ling": ("en", "e"),
}


def fold_lightly(text: str) -> str:
    """`text` after NFKC and casefold with its white space as it is: all that `term_finder` needs, in half the
    time of `fold`."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


@lru_cache(maxsize=8192)
def topic_key(topic: str) -> str:
    """The identity of a topic: folded, its last word in the singular ("Electric Cars" is "electric car")."""
    head, _, last = fold(topic).rpartition(" ")
    return f"{head} {_singular(last)}".strip()


def _singular(word: str) -> str:
    for ending, plurals in GERMAN_PLURALS.items():
        for plural in plurals:
            if word.endswith(ending + plural):
                return word.removesuffix(plural)
    if word in NOT_PLURALS or len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if len(word) > 4 and word.endswith("ies") and word not in IE_PLURALS:
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("ches", "shes", "sses", "xes", "zzes")) else word[:-1]


def _forms(term: str) -> set[str]:
    """The spellings in which `term` may stand: as given, its plurals and its singular."""
    forms = {term, f"{term}s", f"{term}es", topic_key(term)}
    if term.endswith("y"):
        forms.add(f"{term[:-1]}ies")
    for single in (term, topic_key(term)):
        plurals = (plural for ending, plural in GERMAN_PLURALS.items() if single.endswith(ending))
        forms |= {single + end for ends in plurals for end in ends}
    return forms


def _spaced(form: str) -> str:
    return r"\s+".join(map(re.escape, form.split(" ")))


def _spellings(term: str) -> dict[str, str]:
    """Every spelling of `term` (folded) and of its other names, with the pattern of each."""
    found = {form: _spaced(form) for form in _forms(term)}
    known = known_topic(term, topic_key)
    for name in map(fold, known.match if known else ()):
        found |= {form: _spaced(form) for form in _forms(name)}
    for form, ends in (known.unless if known else {}).items():
        found[form] = f"{_spaced(form)}(?!{'|'.join(map(re.escape, ends))})"
    return found


@lru_cache(maxsize=4096)
def _compiled(term: str) -> tuple[tuple[str, ...], re.Pattern[str]]:
    """Strings of which one is in every text that has `term`, and the pattern that tells words from parts."""
    spellings = _spellings(fold(term))
    longest_first = sorted(spellings, key=len, reverse=True)
    # White space may still stand between the words of a term as the text has it.
    stems = {form.split(" ", 1)[0].removesuffix("y") for form in longest_first}
    needed = tuple(s for s in sorted(stems) if not any(o != s and o in s for o in stems))
    words = "|".join(spellings[form] for form in longest_first)
    return needed, re.compile(rf"(?<!\w)(?:{words})(?!\w)")


def first_words(term: str) -> frozenset[str]:
    """The words (folded) of which one stands in every text that `term` is in; none for a term of signs."""
    found = (_WORD.search(form) for form in _spellings(fold(term)))
    return frozenset(word.group() for word in found if word)


def term_finder(term: str) -> Callable[[str], bool]:
    """`term_matches` for one term and many texts, folded or `fold_lightly`."""
    if not term.strip():
        return lambda text: False
    stems, pattern = _compiled(term)
    search = pattern.search
    if len(stems) == 1:
        (stem,) = stems
        return lambda text: stem in text and search(text) is not None
    return lambda text: any(stem in text for stem in stems) and search(text) is not None


def term_matches(term: str, folded: str) -> bool:
    """Whether `term`, or another name of it, stands in already folded text as whole words: never "AI" inside
    "said"."""
    # Most terms are not in most texts, and `in` finds that out a hundred times faster than a pattern.
    return term_finder(term)(folded)


def term_named(term: str, folded: str) -> str:
    """The other name by which `term` stands in folded text; "" where it does itself, or not at all."""
    if not term.strip() or known_topic(term, topic_key) is None:
        return ""
    _, pattern = _compiled(term)
    own, found = _forms(fold(term)), [" ".join(one.split()) for one in pattern.findall(folded)]
    return "" if not found or any(form in own for form in found) else found[0]


def terms_matching(terms: Iterable[str], folded: str) -> tuple[str, ...]:
    """Those of `terms` that stand in `folded`, in their given order."""
    return tuple(term for term in terms if term_matches(term, folded))
