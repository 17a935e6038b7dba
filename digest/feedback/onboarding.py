"""Choose the next headline in an interview of twenty: the one whose answer is most informative.

The belief about a source is a Beta posterior of its like-rate with mean m, from n thumbs and a prior worth
kappa thumbs (`ranking.learning`). One more answer reduces its variance, in expectation, by

    m (1 - m) / (n + kappa + 1)^2

The squared error of predictions over all waiting items falls by this, times the source's waiting items
(optimal allocation: Neyman, 1934; expected reduction of variance: Cohn, Ghahramani, Jordan, 1996). The source
with the largest reduction is asked about. One of its items is drawn, all equally likely. Pure.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from random import Random

from ranking.entities import SourceTally
from ranking.learning import KAPPA, base_rate, posterior

QUESTIONS = 20
# A source gets at most a quarter of the questions while others wait. That is as many as its weight needs to
# learn.
SHARE_MAX = 0.25


@dataclass(frozen=True, slots=True)
class Headline:
    """An item that may be asked about. Of one `article` or one `story`, only one item is asked about."""

    item_id: int
    source: str
    article: int
    story: int


@dataclass(frozen=True, slots=True)
class Question:
    """The headline to ask about, and the probability of this choice given the earlier answers."""

    headline: Headline
    propensity: float


def question_choose(
    headlines: Sequence[Headline],
    *,
    waiting: Mapping[str, int],
    tallies: Sequence[SourceTally],
    asked: Sequence[Headline],
    seed: str,
) -> Question | None:
    """Return the next question; `None` if nothing is left to ask.

    `waiting` counts each source's items. `tallies` are the reader's thumbs by source. `asked` are the earlier
    questions of this interview, in order. While other sources wait, no source comes twice in a row or exceeds
    its share. The same `seed` draws the same question.
    """
    seen = {(one.article, one.story) for one in asked}
    articles, stories = {article for article, _ in seen}, {story for _, story in seen}
    left: defaultdict[str, list[Headline]] = defaultdict(list)
    for headline in headlines:
        if headline.article not in articles and headline.story not in stories:
            left[headline.source].append(headline)
    if not left:
        return None
    gains = information_gains(_sources_allowed([*left], asked), waiting=waiting, tallies=tallies)
    best = max(gains.values())
    tied = sorted(source for source, gain in gains.items() if gain >= best * (1 - 1e-9))
    draw = Random(seed)
    chosen = left[draw.choice(tied)]
    return Question(draw.choice(chosen), 1 / (len(tied) * len(chosen)))


def information_gains(
    sources: Sequence[str], *, waiting: Mapping[str, int], tallies: Sequence[SourceTally]
) -> dict[str, float]:
    """Return {source: expected fall of the squared error over its waiting items from one answer}."""
    thumbs = {tally.source: tally for tally in tallies}
    base = base_rate(sum(tally.likes for tally in tallies), sum(tally.n for tally in tallies))
    gains = {}
    for source in sources:
        tally = thumbs.get(source)
        belief = posterior(tally.likes, tally.n, base) if tally else posterior(0.0, 0.0, base)
        fall = belief.mean * (1 - belief.mean) / (belief.n + KAPPA + 1) ** 2
        gains[source] = max(1, waiting.get(source, 0)) * fall
    return gains


def _sources_allowed(sources: Sequence[str], asked: Sequence[Headline]) -> list[str]:
    """Return the sources that may be asked next; if none may, relax the share, then the ban on repeats."""
    times = Counter(one.source for one in asked)
    share = max(ceil(QUESTIONS * SHARE_MAX), ceil(QUESTIONS / len({*sources, *times})))
    others = [source for source in sources if not asked or source != asked[-1].source] or [*sources]
    return [source for source in others if times[source] < share] or others
