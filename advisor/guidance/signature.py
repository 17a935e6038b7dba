"""What makes two texts the same, and the words they are compared by. Pure."""

import hashlib
import re

from ranking.matching import fold
from suggestions.search import terms_of

SIGNED_CHARS = 180
_FIGURE = re.compile(r"\d+(?:[.,:/]\d+)*")
_FIGURES = re.compile(r"#(?: ?#)+")
_VOWEL = re.compile("[aeiouy]")
_NO_WORD = re.compile(r"[^\w#]+|_")


def text_signature(text: str) -> str:
    """40 hex digits, equal for texts that say the same: lower case, without punctuation, figures as `#`.

    Only the first 180 characters of that form count, as in the published engine, so that a text cut short
    elsewhere is still known again.
    """
    words = " ".join(_NO_WORD.sub(" ", _FIGURE.sub("#", fold(text))).split())
    plain = _FIGURES.sub("#", words)
    return hashlib.sha1(plain[:SIGNED_CHARS].encode(), usedforsecurity=False).hexdigest()


def tokens_of(text: str) -> tuple[str, ...]:
    """The words of `text` as BM25 compares them: folded, in one form, as often as they stand there."""
    return tuple(map(stem, terms_of(text)))


def stem(word: str) -> str:
    """A folded word without the endings of English verbs, so that "rated" and "rating" are one.

    Step 1b of Porter (1980), "An algorithm for suffix stripping", and its step 5a for a last e; words of
    other languages and short ones mostly stay as they are.
    """
    for ending in ("ing", "ed"):
        if word.endswith(ending) and _VOWEL.search(word[: -len(ending)]) and len(word) > len(ending) + 2:
            word = word[: -len(ending)]
            if word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word
