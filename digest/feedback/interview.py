"""Which headline an interview of twenty asks about next: the one whose answer tells most.

What a reader thinks of a source is a Beta posterior of its like-rate with mean m and n thumbs, and kappa
thumbs' worth of prior (`ranking.learning`). One more answer lets its variance fall, in expectation, by

    m (1 - m) / (n + kappa + 1)^2

and the squared error of predictions over all that waits by as much, times the source's waiting items (optimal
allocation: Neyman, 1934; expected reduction of variance: Cohn, Ghahramani, Jordan, 1996). The source with the
largest fall is asked about, and one of its items drawn, each equally likely. Pure.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from random import Random

from ranking.entities import SourceTally
from ranking.learning import KAPPA, base_rate, posterior

QUESTIONS = 20
# A source gets a quarter of the questions at most, while others wait: as many as its weight needs to learn.
SHARE_MAX = 0.25


@dataclass(frozen=True, slots=True)
class Headline:
    """An item that may be asked about. Items of one `article`, or of one `story`, are asked about once."""

    item_id: int
    source: str
    article: int
    story: int


@dataclass(frozen=True, slots=True)
class Question:
    """The headline to ask about, and the probability with which it was chosen, given the answers before."""

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
    """Return the next question; `None` where nothing is left to ask.

    `waiting` counts each source's items, `tallies` are the reader's thumbs by source, `asked` what this
    interview has asked, in its order. No source follows itself, nor has more than its share, while others
    wait. The same `seed` draws the same.
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
    """Return by source how far one answer lets the squared error over its waiting items fall, expected."""
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
    """Return the sources whose turn it may be; the last one, or those beyond their share, if no other is."""
    times = Counter(one.source for one in asked)
    share = max(ceil(QUESTIONS * SHARE_MAX), ceil(QUESTIONS / len({*sources, *times})))
    others = [source for source in sources if not asked or source != asked[-1].source] or [*sources]
    return [source for source in others if times[source] < share] or others
