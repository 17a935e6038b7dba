"""Choose the next headline in an interview of twenty: the one whose answer is most informative.

If the meaning of headlines is known, choose the one that adds most to what the answers tell about all waiting
headlines (`ranking.meaning.spread`), so the questions spread over the content of the feeds. The others are
chosen by source, in proportion.

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
NO_GAINS: Mapping[int, float] = {}


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
    tells: Mapping[int, float] = NO_GAINS,
) -> Question | None:
    """Return the next question; `None` if nothing is left to ask.

    `waiting` counts each source's items. `tallies` are the reader's thumbs by source. `asked` are the earlier
    questions of this interview, in order. `tells` says by item id how much more an answer would tell; items
    and earlier questions without meaning are not in it. While other sources wait, no source comes twice in a
    row or exceeds its share. The same `seed` draws the same question.
    """
    seen = {(one.article, one.story) for one in asked}
    articles, stories = {article for article, _ in seen}, {story for _, story in seen}
    left: defaultdict[str, list[Headline]] = defaultdict(list)
    for headline in headlines:
        if headline.article not in articles and headline.story not in stories:
            left[headline.source].append(headline)
    if not left:
        return None
    allowed = _sources_allowed([*left], asked)
    if by_meaning := _most_telling([one for source in allowed for one in left[source]], left, asked, tells):
        return Question(by_meaning, 1.0)
    gains = information_gains(allowed, waiting=waiting, tallies=tallies)
    best = max(gains.values())
    tied = sorted(source for source, gain in gains.items() if gain >= best * (1 - 1e-9))
    draw = Random(seed)
    chosen = left[draw.choice(tied)]
    return Question(draw.choice(chosen), 1 / (len(tied) * len(chosen)))


def _most_telling(
    allowed: Sequence[Headline],
    left: Mapping[str, Sequence[Headline]],
    asked: Sequence[Headline],
    tells: Mapping[int, float],
) -> Headline | None:
    """Return the most informative allowed headline, or `None` if it is the turn of those without a
    meaning."""
    able = [one for one in allowed if one.item_id in tells]
    if not able:
        return None
    everything = [one for some in left.values() for one in some]
    share = sum(one.item_id in tells for one in everything) / len(everything)
    if sum(one.item_id in tells for one in asked) > share * len(asked):
        return None
    return max(able, key=lambda one: (tells[one.item_id], -one.item_id))


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
