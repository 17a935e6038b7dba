"""Find the words that set some items apart from others: log-odds with an informative prior. Pure.

Of the items inside, `y` have a word, and of those outside `x`. The prior `a` is a hundredth of both together.
With N and M the sums of all words' counts, and A that of all priors:

    d = log((y + a) / (N + A - y - a)) - log((x + a) / (M + A - x - a))
    z = d / sqrt(1 / (y + a) + 1 / (x + a))

(Monroe, Colaresi, Quinn, 2008). A word counts once per item, so one long article sets nothing apart. Measured
on BBC and AG News, the words of fourteen and twelve topics at z > 2.5 double the items that the topics find,
for up to .07 of precision. So a person must accept each.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log, sqrt

from ranking.common.text import FUNCTION_WORDS, fold, topic_key
from ranking.meaning.topics import Mask

Z_MIN, MATCHES_MIN = 2.5, 3
PRIOR_SHARE = 0.01
WORD_CHARS_MIN = 3
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class ApartWord:
    """A word as it is spelled most often, its z, and how many items inside have it.

    `lift` is how many times as often an item inside has it as one outside.
    """

    word: str
    z: float
    matches: int
    lift: float


def words_of_items(texts: Iterable[str]) -> list[dict[str, str]]:
    """Return {identity: spelling} of the words of each text that may name something."""
    return [
        {
            topic_key(word): word
            for word in _WORD.findall(fold(text))
            if len(word) >= WORD_CHARS_MIN and word not in FUNCTION_WORDS and not word[0].isdigit()
        }
        for text in texts
    ]


def words_apart(items: Sequence[dict[str, str]], inside: Mask) -> list[ApartWord]:
    """Return the words that at least three of the items `inside` (rows,) have, the clearest first.

    Only words that are more frequent inside are included. A word sets the items apart if its z is above
    `Z_MIN`. `items` come from `words_of_items`, in the same order.
    """
    within: Counter[str] = Counter()
    outside: Counter[str] = Counter()
    spellings: dict[str, Counter[str]] = {}
    for words, is_inside in zip(items, inside.tolist(), strict=True):
        (within if is_inside else outside).update(words.keys())
        if is_inside:
            for key, spelling in words.items():
                spellings.setdefault(key, Counter())[spelling] += 1
    size_in, size_out = int(inside.sum()), int((~inside).sum())
    total_in, total_out = within.total(), outside.total()
    prior_all = PRIOR_SHARE * (total_in + total_out)
    found = []
    for key, count in within.items():
        if count < MATCHES_MIN:
            continue
        prior = PRIOR_SHARE * (count + outside[key])
        here, there = count + prior, outside[key] + prior
        # Of items that have one word only, and all the same, nothing is left beside it.
        rest_in = max(total_in + prior_all - here, PRIOR_SHARE)
        rest_out = max(total_out + prior_all - there, PRIOR_SHARE)
        odds = log(here / rest_in) - log(there / rest_out)
        z = odds / sqrt(1 / here + 1 / there)
        if z > 0:
            lift = (count / size_in) / max(outside[key] / max(size_out, 1), 1 / (2 * len(inside)))
            found.append(ApartWord(spellings[key].most_common(1)[0][0], z, count, lift))
    return sorted(found, key=lambda one: (-one.z, one.word))
