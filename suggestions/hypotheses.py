"""Which changes a reader's thumbs speak for. Pure: the choice rests on the earlier thumbs alone.

1. Sources: one belief each, from the decayed tallies. Topics: one belief per candidate phrase, and per topic
   already in the config, against the rate of the sources it stands in (`beliefs`).
2. A change becomes a hypothesis from p_helpful 0.8; a planner writes from 0.9. Sources move towards their
   learning target exp(0.8 x log-odds) by at least 0.1 and at most 0.3.
3. It must be open to suggestion (pins, pending, cooldown) and have three rated items of its polarity. A
   target the reader has accepted or rejected needs three new thumbs since: the same ones prove nothing more.
4. Nested and overlapping topics: the more specific, else the stronger one stands.
5. Best first by p_helpful x expected gain, at most as many as asked for; from the end of the list of
   probabilities the doubtful go until the expected share of false ones, mean(1 - p_helpful), is at most 0.1.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import exp

from digest.entities import RatedItem
from ranking.entities import EffectiveConfig, SourceTally, clamp_weight
from ranking.learning import LEARNING_GAIN
from ranking.matching import fold, term_matches, topic_key
from suggestions.beliefs import (
    SOURCE_PRIOR,
    TOPIC_PRIOR,
    Belief,
    Tally,
    beliefs_of,
    own_rate,
    source_means,
    source_tallies,
)
from suggestions.entities import (
    ADD_TOPIC,
    BOOST_SOURCE,
    EVIDENCE_MIN,
    REDUCE_SOURCE,
    REMOVE_TOPIC,
    SOURCE_WEIGHTS,
    TOPIC_SOURCES_MIN,
    TOPICS,
)
from suggestions.forecasts import decayed
from suggestions.rules import Target, concerns
from suggestions.topics import holds_phrase, source_names, topic_candidates
from suggestions.values import topic_in_config, weight_clamp

HYPOTHESIS_P_MIN = 0.8
PLANNER_P_MIN = 0.9
FALSE_SHARE_MAX = 0.1
SOURCE_STEP_MIN = 0.1
EVIDENCE_SHOWN = 5
# Thumbs on a target, given after the reader decided on it, before it may be a hypothesis again. As many as
# any suggestion has to cite; without them a boost would return after each cooldown, 1.3, 1.6, 1.9.
NEW_THUMBS_MIN = EVIDENCE_MIN
# Two topics whose rated items overlap by more than this (Jaccard) say the same thing.
OVERLAP_MAX = 0.5


@dataclass(frozen=True, slots=True)
class Topic:
    """A phrase under test: its spelling and the indices of the earlier items whose titles hold it."""

    key: str
    label: str
    items: frozenset[int]


@dataclass(frozen=True, slots=True)
class Beliefs:
    """What the thumbs given before some moment say of every source and topic tried."""

    sources: Mapping[str, Belief]
    topics: Mapping[str, Belief]
    tried: Mapping[str, Topic]


@dataclass(frozen=True, slots=True)
class Choice:
    """A change chosen by the earlier thumbs, not yet measured. `weight` is `None` for topics."""

    suggestion_type: str
    field: str
    key: str
    label: str
    weight: float | None
    belief: Belief
    evidence: tuple[RatedItem, ...]

    @property
    def liked(self) -> bool:
        """The polarity of the thumbs it rests on."""
        return self.suggestion_type in (ADD_TOPIC, BOOST_SOURCE)


def beliefs_form(
    tallies: Sequence[SourceTally],
    rated: Sequence[RatedItem],
    *,
    topics: Iterable[str],
    titles: dict[str, str],
    now: datetime,
) -> Beliefs:
    """Beliefs about all sources of `tallies` and all topics found in the titles of `rated` or in `topics`."""
    sources = source_tallies(tallies)
    total = sum(tally.n for tally in tallies)
    tried = {c.key: Topic(c.key, c.label, c.items) for c in topic_candidates(rated, source_names(titles))}
    for topic in topics:
        tried[topic_key(topic)] = Topic(topic_key(topic), topic, _holders(topic, rated))
    weights = [decayed(item.at, now) for item in rated]
    means = source_means(sources)
    base = own_rate(tallies)
    topic_tallies = [_topic_tally(t, rated, weights, means, base) for t in tried.values() if t.items]
    return Beliefs(
        beliefs_of(sources, SOURCE_PRIOR, total), beliefs_of(topic_tallies, TOPIC_PRIOR, sum(weights)), tried
    )


def _holders(topic: str, rated: Sequence[RatedItem]) -> frozenset[int]:
    return frozenset(i for i, item in enumerate(rated) if term_matches(topic, fold(item.title)))


def _topic_tally(
    topic: Topic,
    rated: Sequence[RatedItem],
    weights: Sequence[float],
    means: Mapping[str, float],
    base: float,
) -> Tally:
    """The topic's decayed thumbs against what its sources would have had without it."""
    n = sum(weights[i] for i in topic.items)
    likes = sum(weights[i] for i in topic.items if rated[i].useful)
    usual = sum(weights[i] * means.get(rated[i].source, base) for i in topic.items)
    return Tally(topic.key, n, likes, len(topic.items), usual / n if n else base)


def choices_make(
    beliefs: Beliefs,
    effective: EffectiveConfig,
    rated: Sequence[RatedItem],
    *,
    permitted: Callable[[Target], bool],
    decided: Mapping[Target, datetime],
    limit: int,
) -> tuple[list[Choice], int]:
    """The changes worth measuring, best first, and how many targets were likely enough to begin with.

    `rated` are the thumbs of any time that may serve as evidence, newest first; `decided` says when the
    reader last accepted or rejected something about a target.
    """
    likely = [
        *(_source_choice(b, effective, rated) for b in _likely(beliefs.sources)),
        *(_topic_choice(beliefs.tried[b.key], b, effective, rated) for b in _likely(beliefs.topics)),
    ]
    open_ = [
        choice
        for choice in likely
        if choice is not None
        and permitted((choice.field, choice.key))
        and _renewed(choice, decided.get((choice.field, choice.key)), rated)
    ]
    best = sorted(_distinct(open_, beliefs.tried), key=_merit)
    return _guarded(best[:limit]), len(likely)


def _likely(beliefs: Mapping[str, Belief]) -> list[Belief]:
    return [belief for belief in beliefs.values() if belief.p_helpful >= HYPOTHESIS_P_MIN]


def _renewed(choice: Choice, decided: datetime | None, rated: Sequence[RatedItem]) -> bool:
    """Whether the reader has said enough about the target since they last decided on it, if they did."""
    if decided is None:
        return True
    since = (item for item in rated if item.at > decided)
    new = sum(concerns(item, choice.field, choice.key, choice.label) for item in since)
    return new >= NEW_THUMBS_MIN


def _merit(choice: Choice) -> tuple[float, str]:
    return -choice.belief.p_helpful * choice.belief.gain, choice.key


def _source_choice(belief: Belief, effective: EffectiveConfig, rated: Sequence[RatedItem]) -> Choice | None:
    current = effective.weight(belief.key)
    target = clamp_weight(exp(LEARNING_GAIN * belief.posterior.log_odds))
    distance = target - current if belief.liked else current - target
    weight = weight_clamp(target, current)
    kind = BOOST_SOURCE if belief.liked else REDUCE_SOURCE
    evidence = evidence_pick(rated, SOURCE_WEIGHTS, belief.key, belief.key, belief.liked)
    # What remains of the way is too short to trouble the reader with, or is behind us.
    if distance < SOURCE_STEP_MIN or abs(weight - current) < SOURCE_STEP_MIN - 0.01 or not evidence:
        return None
    return Choice(kind, SOURCE_WEIGHTS, belief.key, belief.key, weight, belief, evidence)


def _topic_choice(
    topic: Topic, belief: Belief, effective: EffectiveConfig, rated: Sequence[RatedItem]
) -> Choice | None:
    own = topic_in_config(topic.key, effective.config.topics)
    label = own or topic.label
    evidence = evidence_pick(rated, TOPICS, topic.key, label, belief.liked)
    if bool(own) is belief.liked or not evidence:
        return None
    return Choice(
        ADD_TOPIC if belief.liked else REMOVE_TOPIC, TOPICS, topic.key, label, None, belief, evidence
    )


def evidence_pick(
    rated: Sequence[RatedItem], field: str, key: str, label: str, liked: bool
) -> tuple[RatedItem, ...]:
    """Up to five rated items that ground a change, newest first, for topics from several sources; or none."""
    found = [item for item in rated if item.useful is liked and concerns(item, field, key, label)]
    if len(found) < EVIDENCE_MIN:
        return ()
    if field == SOURCE_WEIGHTS:
        return tuple(found[:EVIDENCE_SHOWN])
    first_of_source = {item.source: item for item in reversed(found)}
    if len(first_of_source) < TOPIC_SOURCES_MIN:
        return ()
    spread = [
        *first_of_source.values(),
        *(item for item in found if first_of_source[item.source] is not item),
    ]
    return tuple(sorted(spread[:EVIDENCE_SHOWN], key=lambda item: item.at, reverse=True))


def _distinct(choices: Sequence[Choice], tried: Mapping[str, Topic]) -> list[Choice]:
    """`choices` without topics that a more specific, or a stronger overlapping, one already says."""
    topics = [c for c in choices if c.field == TOPICS]
    specific = [c for c in topics if not any(holds_phrase(other.key, c.key) for other in topics)]
    kept: list[Choice] = []
    for choice in sorted(specific, key=_merit):
        items = tried[choice.key].items
        if all(_overlap(items, tried[other.key].items) <= OVERLAP_MAX for other in kept):
            kept.append(choice)
    return [*(c for c in choices if c.field == SOURCE_WEIGHTS), *kept]


def _overlap(one: frozenset[int], other: frozenset[int]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0


def _guarded(choices: list[Choice]) -> list[Choice]:
    """`choices` without the most doubtful, till the expected share of false ones is low enough."""
    doubts = sorted((1 - c.belief.p_helpful for c in choices), reverse=True)
    while doubts and sum(doubts) / len(doubts) > FALSE_SHARE_MAX:
        doubts.pop(0)
    worst = doubts[0] if doubts else -1.0
    return [c for c in choices if 1 - c.belief.p_helpful <= worst]
