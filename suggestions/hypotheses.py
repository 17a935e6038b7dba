"""Which changes a reader's thumbs speak for, best first. Pure.

1. Every allowed change is tried: each source 0.3 up and down, each topic in or out, if it is open to
   suggestion (pins, waiting, cooldown, a type turned down for good) and has three rated items to cite. A
   target the reader has decided on needs three new thumbs since: the same ones prove nothing more.
2. A change is judged by the change of nDCG@10 of recent digests under draws from the reader's posterior
   (`joint`, `gains`): `p_helpful` is P(gain > 0), capped where it is
   doubtful that the reader leans that way at all; the expected gain is the mean.
3. The one with the best expected gain among those likely enough comes first, times the share of such
   suggestions this reader has accepted; then the rest is judged again as if that one were accepted, since
   two changes may say the same.
4. From the end of the list of probabilities the doubtful go until the expected share of false ones, mean
   (1 - p_helpful), is at most `FALSE_SHARE_MAX` (Müller, Parmigiani and Rice, 2006).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from digest.entities import RatedItem
from ranking.entities import EffectiveConfig
from suggestions.attributes import Attributes, setting_of
from suggestions.entities import (
    ADD_TOPIC,
    BOOST_SOURCE,
    EVIDENCE_MIN,
    LIKED_TYPES,
    REDUCE_SOURCE,
    REMOVE_TOPIC,
    SOURCE_WEIGHTS,
    TOPIC_SOURCES_MIN,
    TOPICS,
    WEIGHT_STEP_MAX,
)
from suggestions.forecasts import change_applied
from suggestions.gains import Judge, information_value, p_better, p_helps
from suggestions.rules import Target, concerns
from suggestions.topics import holds_phrase
from suggestions.values import topic_in_config, weight_clamp, weight_text

HYPOTHESIS_P_MIN = 0.7
PLANNER_P_MIN = HYPOTHESIS_P_MIN
FALSE_SHARE_MAX = 0.2
# Shorter than this the rest of the way to a bound is nothing to trouble a reader with.
SOURCE_STEP_MIN = 0.1
EVIDENCE_SHOWN = 5
# Thumbs on a target, given after the reader decided on it, before it may be a hypothesis again. As many as
# any suggestion has to cite; without them a boost would return after each cooldown, 1.3, 1.6, 1.9.
NEW_THUMBS_MIN = EVIDENCE_MIN
LEADS_MAX = 5
INTERVAL = (5.0, 95.0)
# What is expected of a type that the reader has never decided on.
ACCEPTANCE_PRIOR = 0.5


@dataclass(frozen=True, slots=True)
class Change:
    """A change that could be proposed. `value` is what the config would say, `evidence` what to cite."""

    suggestion_type: str
    field: str
    key: str
    label: str
    value: str
    evidence: tuple[RatedItem, ...]

    @property
    def liked(self) -> bool:
        """The polarity of the thumbs it rests on."""
        return self.suggestion_type in LIKED_TYPES


@dataclass(frozen=True, slots=True)
class Choice:
    """A change with its worth: P(it helps), the expected gain of nDCG@10 and its 90 % interval.

    `p_better` is the probability that it is for the better rather than the worse, `information` what
    certainty about it would be worth.
    """

    change: Change
    p_helpful: float
    p_better: float
    expected_gain: float
    low: float
    high: float
    information: float


@dataclass(frozen=True, slots=True)
class Experience:
    """What the reader made of earlier suggestions.

    `decided` says when they last accepted or rejected something about a target, `acceptance` the share of
    each type they accept, `harmed` the (type, target) whose effect was found harmful.
    """

    decided: Mapping[Target, datetime] = field(default_factory=dict)
    acceptance: Mapping[str, float] = field(default_factory=dict)
    harmed: frozenset[tuple[str, Target]] = frozenset()


@dataclass(frozen=True, slots=True)
class Choices:
    """The outcome of a choice.

    `chosen` best first; `leads` the likelier half of what is not sure enough, most worth knowing first;
    `closed` and `dropped` count changes likely enough that are not open, or too doubtful in company; `tried`
    the changes with enough items to cite, `best` the highest probability among the open ones.
    """

    chosen: tuple[Choice, ...]
    leads: tuple[Choice, ...]
    found: int
    closed: int
    tried: int
    best: float


def acceptance_of(answers: Mapping[str, tuple[int, int]]) -> dict[str, float]:
    """The share of each type the reader accepts, from (accepted, rejected), as if one of each had been."""
    return {kind: (yes + 1) / (yes + no + 2) for kind, (yes, no) in answers.items()}


def changes_possible(
    attributes: Attributes, effective: EffectiveConfig, rated: Sequence[RatedItem]
) -> list[Change]:
    """Every change with three items to cite among `rated` (newest first)."""
    found = []
    for source in attributes.sources:
        current = effective.weight(source)
        for kind, step in ((BOOST_SOURCE, WEIGHT_STEP_MAX), (REDUCE_SOURCE, -WEIGHT_STEP_MAX)):
            weight = weight_clamp(current + step, current)
            if abs(weight - current) >= SOURCE_STEP_MIN - 1e-9:
                evidence = evidence_pick(rated, SOURCE_WEIGHTS, source, source, step > 0)
                found.append(Change(kind, SOURCE_WEIGHTS, source, source, weight_text(weight), evidence))
    for key in attributes.topics:
        own = topic_in_config(key, effective.config.topics)
        label = own or attributes.labels[key]
        evidence = evidence_pick(rated, TOPICS, key, label, not own)
        found.append(Change(REMOVE_TOPIC if own else ADD_TOPIC, TOPICS, key, label, label, evidence))
    return [change for change in found if change.evidence]


def choices_make(
    changes: Sequence[Change],
    judge: Judge,
    attributes: Attributes,
    effective: EffectiveConfig,
    rated: Sequence[RatedItem],
    *,
    permitted: Callable[[Change], bool],
    experience: Experience,
    limit: int,
) -> Choices:
    """The changes worth asking about, best first, and what is to be said of the others."""
    alone = {c: judged(c, judge, attributes, effective) for c in _specific(changes, attributes)}
    open_ = {
        c: choice
        for c, choice in alone.items()
        if permitted(c)
        and _renewed(c, experience, rated)
        and (c.suggestion_type, (c.field, c.key)) not in experience.harmed
    }
    likely = [c for c, choice in alone.items() if _likely(choice)]
    chosen = _guarded(_picked(open_, judge, attributes, effective, experience.acceptance, limit))
    taken = {choice.change for choice in chosen}
    leads = [choice for c, choice in open_.items() if c not in taken and choice.expected_gain > 0]
    return Choices(
        chosen=tuple(chosen),
        leads=tuple(sorted(leads, key=lambda c: (-c.information, c.change.key))[:LEADS_MAX]),
        found=len(likely),
        closed=sum(c not in open_ for c in likely),
        tried=len(alone),
        best=max((choice.p_helpful for choice in open_.values()), default=0.0),
    )


def judged(change: Change, judge: Judge, attributes: Attributes, effective: EffectiveConfig) -> Choice:
    """What `change` alone is worth, made to the config as it is."""
    before, after = (setting_of(e, attributes) for e in (effective, _after(effective, change)))
    gain = judge.value(after) - judge.value(before)
    column = attributes.column(change.field, change.key)
    leaning = judge.draws[:, 1 + column] * (1 if change.liked else -1)
    low, high = np.percentile(gain, INTERVAL)
    return Choice(
        change=change,
        p_helpful=p_helps(gain, leaning, judge.explained),
        p_better=p_better(gain),
        expected_gain=float(gain.mean()),
        low=float(low),
        high=float(high),
        information=information_value(gain),
    )


def _after(effective: EffectiveConfig, change: Change) -> EffectiveConfig:
    return change_applied(effective, change.suggestion_type, change.key, change.value)


def _likely(choice: Choice) -> bool:
    return choice.p_helpful >= HYPOTHESIS_P_MIN and choice.expected_gain > 0


def _picked(
    open_: Mapping[Change, Choice],
    judge: Judge,
    attributes: Attributes,
    effective: EffectiveConfig,
    acceptance: Mapping[str, float],
    limit: int,
) -> list[Choice]:
    """One by one the best of what is likely alone and still is after those picked before it."""
    left = {change: choice for change, choice in open_.items() if _likely(choice)}
    picked: list[Choice] = []
    company = left
    while company and len(picked) < limit:
        best = max(
            company,
            key=lambda c: (
                company[c].expected_gain * acceptance.get(c.suggestion_type, ACCEPTANCE_PRIOR),
                c.key,
            ),
        )
        picked.append(left.pop(best))
        left = {c: choice for c, choice in left.items() if (c.field, c.key) != (best.field, best.key)}
        effective = _after(effective, best)
        again = {change: judged(change, judge, attributes, effective) for change in left}
        company = {change: choice for change, choice in again.items() if _likely(choice)}
    return picked


def _renewed(change: Change, experience: Experience, rated: Sequence[RatedItem]) -> bool:
    """Whether the reader has said enough about the target since they last decided on it, if they did."""
    decided = experience.decided.get((change.field, change.key))
    if decided is None:
        return True
    since = (item for item in rated if item.at > decided)
    new = sum(concerns(item, change.field, change.key, change.label) for item in since)
    return new >= NEW_THUMBS_MIN


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


def _specific(changes: Sequence[Change], attributes: Attributes) -> list[Change]:
    """`changes` without additions of a topic that stands inside a more specific one that may be added."""
    added = [c.key for c in changes if c.suggestion_type == ADD_TOPIC]
    return [
        c
        for c in changes
        if c.suggestion_type != ADD_TOPIC or not any(holds_phrase(other, c.key) for other in added)
    ]


def _guarded(choices: list[Choice]) -> list[Choice]:
    """`choices` without the most doubtful, till the expected share of false ones is low enough."""
    doubts = sorted((1 - c.p_helpful for c in choices), reverse=True)
    while doubts and sum(doubts) / len(doubts) > FALSE_SHARE_MAX:
        doubts.pop(0)
    worst = doubts[0] if doubts else -1.0
    return [c for c in choices if 1 - c.p_helpful <= worst]
