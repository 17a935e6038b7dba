"""Check a change by headlines: which ones to ask about, and whether the answers bear it out. Pure.

The reader answers up to eight headlines without their source, six of them about the target and spread over
its subjects. An answer is a thumb like any other, so the lean moves at once. A change is withdrawn if its
lean is then below a bar, or if no answer about the target agrees with it. The check ends as soon as nothing
that is left to ask could change that.
"""

import random
import re
from collections.abc import Iterable, Mapping, Sequence

from ranking.common.probability import log_odds, logistic
from ranking.common.text import fold

# Headlines of a check, of them about the target at most, and answers about the target at least.
HEADLINES, ABOUT_MAX, ABOUT_MIN = 8, 6, 4
# A change is withdrawn if its lean after a check is below this, in log-odds. Chosen on simulated readers so
# that at least 85 % of the helpful ones stay (docs/planner.md).
LEAN_CHECKED = 0.17
# So long a name is found in a headline however it is spaced: "arstechnica" in "Ars Technica".
NAME_CHARS_MIN = 6
_NO_LETTER = re.compile(r"[\W_]+")
# Probabilities that log-odds are taken of.
P_MIN, P_MAX = 0.001, 0.999


def headlines_choose(about: Mapping[int, str], others: Sequence[int], *, seed: str) -> list[int]:
    """Return the ids to ask about, mixed: six of `about` and two of `others`; none if there are too few.

    `about` has the subject of each headline. The six mirror the subjects: sorted by subject, every so many-th
    is asked. A reader may like a source for some subjects only, and six at random often miss that.
    """
    if len(about) < ABOUT_MIN:
        return []
    rng = random.Random(seed)
    drawn = {pk: rng.random() for pk in about}
    ordered = sorted(about, key=lambda pk: (about[pk], drawn[pk]))
    count = min(ABOUT_MAX, len(ordered))
    step = len(ordered) / count
    start = rng.random() * step
    mine = [ordered[int(start + step * n)] for n in range(count)]
    chosen = [*mine, *rng.sample(others, min(HEADLINES - len(mine), len(others)))]
    rng.shuffle(chosen)
    return chosen


def says_a_name(title: str, names: Iterable[str]) -> bool:
    """Return whether a headline gives its source away by one of its `names`, such as title and host."""
    words, *bare = (_NO_LETTER.sub(" ", fold(text)).strip() for text in (title, *names))
    letters = words.replace(" ", "")
    return any(
        f" {name} " in f" {words} " or (len(name) >= NAME_CHARS_MIN and name.replace(" ", "") in letters)
        for name in filter(None, bare)
    )


def is_borne_out(lean: float, agreeing: int) -> bool:
    """Return whether a change still stands: by its lean, and by how many answers agree with it."""
    return lean >= LEAN_CHECKED and agreeing > 0


def probability_moved(stated: float, before: float, after: float) -> float:
    """Return the stated P(helpful), moved by as much, in log-odds, as the ratings' own moved in a check.

    So a reviewer's doubt is kept.
    """
    start, was, now = (log_odds(min(P_MAX, max(P_MIN, p))) for p in (stated, before, after))
    return logistic(start + now - was)
