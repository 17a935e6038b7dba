"""Whole-word matching of topics and keywords, the same wherever a topic meets a text."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache

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


@lru_cache(maxsize=4096)
def _compiled(term: str) -> tuple[str, re.Pattern[str]]:
    """What all spellings of `term` begin with, and the pattern that tells whole words from parts."""
    forms = sorted(_forms(fold(term)), key=len, reverse=True)
    stem = forms[-1].removesuffix("y")
    return stem, re.compile(rf"(?<!\w)(?:{'|'.join(map(_spaced, forms))})(?!\w)")


def first_words(term: str) -> frozenset[str]:
    """The words (folded) of which one stands in every text that `term` is in; none for a term of signs."""
    found = (_WORD.search(form) for form in _forms(fold(term)))
    return frozenset(word.group() for word in found if word)


def term_finder(term: str) -> Callable[[str], bool]:
    """`term_matches` for one term and many texts, folded or `fold_lightly`."""
    if not term.strip():
        return lambda text: False
    stem, pattern = _compiled(term)
    # White space may still stand between the words of a term as the text has it.
    first = stem.split(" ", 1)[0]
    search = pattern.search
    return lambda text: first in text and search(text) is not None


def term_matches(term: str, folded: str) -> bool:
    """Whether `term` stands in already folded text as whole words: never "AI" inside "said"."""
    if not term.strip():
        return False
    stem, pattern = _compiled(term)
    # Most terms are not in most texts, and `in` finds that out a hundred times faster than a pattern.
    return stem in folded and pattern.search(folded) is not None


def terms_matching(terms: Iterable[str], folded: str) -> tuple[str, ...]:
    """Those of `terms` that stand in `folded`, in their given order."""
    return tuple(term for term in terms if term_matches(term, folded))
