"""Whether a text is a sentence at all, by counts of its letters and words: scripts, repeats, fragments. Pure.

Bounds are counted over sentences of the development split; none asks what a text is about. What stands in
quotation marks is left out first: topics and titles may be in any language.
"""

import re
import unicodedata
from itertools import pairwise

from ranking.function_words import FUNCTION_WORDS

# Letters of another alphabet than Latin beyond this share: the sentence is not one for readers of English.
OTHER_SCRIPT_MAX = 0.15
# Fewer different words than this share, in a text of so many words: it says the same over and over.
DISTINCT_MIN, REPEATS_FROM = 0.4, 12
# So many lone letters in a row spell a word out.
LONE_LETTERS = 4
# A text of so many words without one that holds a sentence together, and without a figure, is a list. What
# came of something is told in short forms with figures ("7/8 turned down, avoid it"), which are none.
LIST_FROM = 6
# A sentence of so many words in which words of another language outnumber English ones is not English.
FOREIGN_FROM = 4
MARKED_MAX = 0.3
_QUOTED = re.compile(r"[“\"«„‘][^”\"»“’]{1,80}[”\"»“’]")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_LONE = re.compile(rf"(?<!\w)(?:[^\W\d_]\W+){{{LONE_LETTERS - 1},}}[^\W\d_](?!\w)")
_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\n+")
_DANGLES = re.compile(
    r"\b(?:of|the|an?|to|and|or|were|was|are|is|been|be|with|for|from|that|which|in|then the)\W*$"
)
_CLOSES = re.compile(r"[.:;!?|,]")
_GIBBERISH = re.compile(r"^(?=[a-z]{4,}$)(?:[^aeiouy]+|.*[^aeiouy]{5,}.*|.*(?:[aeiou]{4,}|(.)\1\1).*)$")
_HOLDING = """
a about after all also an and any are as at be because been before both but by can could do does each few for
from had has have if in into is it its less more most much no not of off on once one only or other out over
same so some than that the their them then there these they this those through to too two under until up upon
was were what when where which while who why will with within without would rather never always better
instead again among across against between
"""
_ENGLISH = frozenset(_HOLDING.split())
_FOREIGN = (
    FUNCTION_WORDS - _ENGLISH - frozenset({"a", "i", "me", "man", "sein", "die", "war", "as", "plus", "on"})
)


def shapeless(text: str, besides: str = "") -> bool:
    """Whether `text`, apart from `besides` (a target's name), is no English sentence."""
    bare = _QUOTED.sub(" ", text.replace(besides, "it") if besides else text)
    words = _words(bare)
    return (
        not words
        or _other_script(bare)
        or _styled(text)
        or _repeats(words)
        or bool(_LONE.search(bare))
        or _fragment(bare.casefold(), words)
        or _unlike_english(words, bare)
        or _foreign(words)
        or any(_foreign(_words(part)) for part in _SENTENCE.split(bare))
    )


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _other_script(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    other = sum("LATIN" not in unicodedata.name(char, "") for char in letters)
    return bool(letters) and other / len(letters) > OTHER_SCRIPT_MAX


def _styled(text: str) -> bool:
    """Letters that are drawn instead of written, or struck through."""
    drawn = sum(unicodedata.category(char) in ("Mn", "So", "Cf") or char in _wide(char) for char in text)
    return drawn / max(1, len(text)) > MARKED_MAX / 2


def _wide(char: str) -> str:
    """The sign itself where it is a letter drawn wide or in another style, else nothing."""
    return char if char.isalpha() and unicodedata.decomposition(char).startswith(("<wide>", "<font>")) else ""


def _repeats(words: list[str]) -> bool:
    if len(words) >= REPEATS_FROM and len(set(words)) / len(words) < DISTINCT_MIN:
        return True
    row = 1
    for before, after in pairwise(words):
        row = row + 1 if before == after else 1
        if row >= 3:
            return True
    pairs = list(pairwise(words))
    return len(words) >= 4 and len(set(words)) <= len(words) / 2 and len(set(pairs)) < len(pairs)


def _fragment(plain: str, words: list[str]) -> bool:
    """Words that break off where a clause needs more, with no other clause before; or a single word."""
    return len(words) < 2 or (bool(_DANGLES.search(plain)) and not _CLOSES.search(plain))


def _unlike_english(words: list[str], bare: str) -> bool:
    """Lists of words, and letters that form no words."""
    odd = sum(bool(_GIBBERISH.match(word)) for word in words)
    if len(words) >= FOREIGN_FROM and odd / len(words) > 0.25:
        return True
    if len(words) < LIST_FROM or any(char.isdigit() for char in bare):
        return False
    return not any(word in _ENGLISH for word in words)


def _foreign(words: list[str]) -> bool:
    """Whether a sentence is held together by words of another language."""
    english = sum(word in _ENGLISH for word in words)
    foreign = sum(word in _FOREIGN for word in words)
    return len(words) >= FOREIGN_FROM and foreign > english + 1
