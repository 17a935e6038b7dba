"""The choice of changes worth proposing, best first, and the reason where there is none.

1. Every allowed change is tried: each source 0.3 up and down, each topic in or out, if the rules permit it
   and would accept the evidence. A target the reader has decided on needs three new ratings since: the same
   ones prove nothing more.
2. A change is judged by the change of nDCG@10 of recent digests under draws from the reader's posterior
   (`posterior`, `gains`): `p_helpful` is P(gain > 0), capped where it is doubtful that the reader leans that
   way at all; the expected gain is the mean.
3. The one with the best expected gain among those likely enough comes first, times the share of such
   suggestions this reader has accepted; then the rest is judged again as if that one were accepted, since
   two changes may overlap.
4. From the end of the list of probabilities the doubtful go until the expected share of false ones, mean
   (1 - p_helpful), is at most `FALSE_SHARE_MAX` (Müller, Parmigiani and Rice, 2006). Pure.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from digest.entities import RatedItem
from ranking.entities import EffectiveConfig
from suggestions.entities import (
    ADD_TOPIC,
    BOOST_SOURCE,
    EVIDENCE_MIN,
    FIELD_OF_TYPE,
    LIKED_TYPES,
    REDUCE_SOURCE,
    REMOVE_TOPIC,
    SOURCE_WEIGHTS,
    TOPICS,
    WEIGHT_STEP_MAX,
)
from suggestions.planner.gains import (
    INTERVAL,
    ReplayEvaluator,
    config_columns,
    information_value,
    p_better,
    p_helps,
)
from suggestions.planner.posterior import Attributes, phrase_contains
from suggestions.rules import (
    Intent,
    Target,
    change_applied,
    concerns,
    evidence_refusal,
    topic_in_config,
    weight_clamp,
    weight_text,
)

# Thresholds of confidence in words; "high" also needs holdout ratings that agree.
P_HIGH = 0.95
P_MEDIUM = 0.7
# The meaning of each word, measured on simulated readers (`docs/planner.md`).
MEANING = {
    "high": "nearly all such changes helped, and ratings held back as a test agree",
    "medium": "about 1 in 10 such changes did not help",
    "low": "this may well be chance",
}
HYPOTHESIS_P_MIN = 0.7
PLANNER_P_MIN = HYPOTHESIS_P_MIN
FALSE_SHARE_MAX = 0.2
# A shorter rest of the way to a bound is not worth a reader's time.
SOURCE_STEP_MIN = 0.1
EVIDENCE_SHOWN = 5
# Ratings of a target, given after the reader decided on it, before it may be a hypothesis again. As many as
# any suggestion has to cite; without them a boost would return after each cooldown, 1.3, 1.6, 1.9.
NEW_RATINGS_MIN = EVIDENCE_MIN
LEADS_MAX = 5
# From here on a change is a lead worth following up, though not worth asking about.
LEAD_MIN = 0.6
# The expected acceptance of a type that the reader has never decided on.
ACCEPTANCE_PRIOR = 0.5
RATINGS_MIN = 10

TOO_FEW_RATINGS, ALL_DECIDED = "too_little_said", "all_decided"
HOLDOUT_AGAINST, UNDECIDED, BALANCED = "later_thumbs_against", "undecided", "balanced"
SILENCE_SENTENCES = {
    TOO_FEW_RATINGS: "You have rated too few articles of any one source or topic to tell what should change.",
    ALL_DECIDED: "The changes your ratings support are decided, pending, or too recent to suggest again.",
    HOLDOUT_AGAINST: "Some of your ratings support a change, and the others contradict it.",
    UNDECIDED: "Your ratings lean towards a change or two, but that may still be chance.",
    BALANCED: "Your ratings are balanced: they support no change clearly enough.",
}


@dataclass(frozen=True, slots=True)
class Change:
    """A change that could be proposed: `value` for the config, `evidence` to cite."""

    suggestion_type: str
    field: str
    key: str
    label: str
    value: str
    evidence: tuple[RatedItem, ...]

    @property
    def liked(self) -> bool:
        """True if it rests on liked items."""
        return self.suggestion_type in LIKED_TYPES


@dataclass(frozen=True, slots=True)
class EvaluatedChange:
    """A change with P(it helps), the expected gain of nDCG@10 and its 90 % interval.

    `p_better` is the probability that it is for the better rather than the worse, `information` the
    value of certainty about it.
    """

    change: Change
    p_helpful: float
    p_better: float
    expected_gain: float
    low: float
    high: float
    information: float


@dataclass(frozen=True, slots=True)
class DecisionHistory:
    """The reader's decisions so far.

    `decided` has the time of the last decision about each target, `acceptance` the accepted share of each
    type, `harmed` the (type, target) whose effect was harmful.
    """

    decided: Mapping[Target, datetime] = field(default_factory=dict)
    acceptance: Mapping[str, float] = field(default_factory=dict)
    harmed: frozenset[tuple[str, Target]] = frozenset()


@dataclass(frozen=True, slots=True)
class Selection:
    """The outcome of a choice.

    `chosen` best first; `leads` the uncertain ones with an expected gain, most informative first; `likely`
    counts the changes likely enough alone, `not_permitted` those of them that may not be made now, `tried`
    the changes with evidence; `best` is the highest probability among the permitted ones.
    """

    chosen: tuple[EvaluatedChange, ...]
    leads: tuple[EvaluatedChange, ...]
    likely: int
    not_permitted: int
    tried: int
    best: float


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One change that the ratings support, ready to be proposed.

    `p_helpful` is the posterior probability that it helps and `expected_gain` the change of nDCG@10 expected
    by the ratings that chose it; `gain`, `low` and `high` the change measured on so many `holdout_ratings`
    (`None`: too few).
    """

    suggestion_type: str
    field: str
    target_key: str
    label: str
    current_value: str
    suggested_value: str
    p_helpful: float
    confidence: str
    expected_gain: float
    gain: float | None
    low: float | None
    high: float | None
    holdout_ratings: int
    likes: int
    ratings: int
    evidence_urls: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the form for a tool result: rounded, with the URLs of the supporting items."""
        rounded = {
            k: None if v is None else round(v, 3)
            for k, v in (
                ("p_helpful", self.p_helpful),
                ("expected_gain", self.expected_gain),
                ("ndcg_gain", self.gain),
                ("ndcg_low", self.low),
                ("ndcg_high", self.high),
            )
        }
        return {
            "type": self.suggestion_type,
            "target": self.target_key,
            "suggested_value": self.suggested_value,
            "liked": self.likes,
            "rated": self.ratings,
            "confidence": self.confidence,
            **rounded,
            "later_thumbs": self.holdout_ratings,
            "supporting_items": list(self.evidence_urls),
        }


@dataclass(frozen=True, slots=True)
class Lead:
    """A change that may help but is too uncertain to ask about.

    `information` is the value of certainty about it, in nDCG@10: where it is highest, an exploration item
    teaches most.
    """

    suggestion_type: str
    field: str
    target_key: str
    label: str
    p_helpful: float
    information: float


@dataclass(frozen=True, slots=True)
class HypothesisReport:
    """At most ten hypotheses, best first, and the search behind them.

    `considered` counts the sources and topics tried, `patterns_found` the changes likely enough before any
    other test, `dropped` those that holdout or all ratings contradict. Without any hypothesis `silence` is
    the code of the reason; `leads` are the undecided changes, best first.
    """

    hypotheses: tuple[Hypothesis, ...]
    patterns_found: int
    considered: int
    dropped: int = 0
    silence: str = ""
    leads: tuple[Lead, ...] = ()


def confidence_of(p_helpful: float, gain: float | None, high: float | None) -> str:
    """Return the confidence in words from the training ratings and the measured gain.

    "low" below 0.7 or when the whole 90 % interval of the measured gain is below zero; "high" from 0.95 when
    the holdout ratings also show a gain; "medium" in between.
    """
    if p_helpful < P_MEDIUM or (high is not None and high < 0):
        return "low"
    return "high" if p_helpful >= P_HIGH and gain is not None and gain > 0 else "medium"


def silence_code(*, ratings: int, tried: int, not_permitted: int, dropped: int, best: float) -> str:
    """Return the code of the reason for proposing nothing.

    `ratings` counts those that choose; `tried` changes have evidence, permitted or not; `not_permitted` of
    them were likely enough but may not be made now, `dropped` were contradicted; `best` is the highest
    probability among the permitted ones (0: there is none).
    """
    if ratings < RATINGS_MIN or not tried:
        return TOO_FEW_RATINGS
    if dropped:
        return HOLDOUT_AGAINST
    if not_permitted:
        return ALL_DECIDED
    return UNDECIDED if best >= LEAD_MIN else BALANCED


def acceptance_rates(answers: Mapping[str, tuple[int, int]]) -> dict[str, float]:
    """Return the accepted share of each type from (accepted, rejected), by the rule of succession."""
    return {kind: (yes + 1) / (yes + no + 2) for kind, (yes, no) in answers.items()}


def candidate_changes(
    attributes: Attributes, effective: EffectiveConfig, rated: Sequence[RatedItem]
) -> list[Change]:
    """Return every change that `rated` (newest first) has evidence for."""
    found = []
    for source in attributes.sources:
        current = effective.weight(source)
        for kind, step in ((BOOST_SOURCE, WEIGHT_STEP_MAX), (REDUCE_SOURCE, -WEIGHT_STEP_MAX)):
            weight = weight_clamp(current + step, current)
            if abs(weight - current) >= SOURCE_STEP_MIN - 1e-9:
                evidence = evidence_pick(rated, kind, source, source)
                found.append(Change(kind, SOURCE_WEIGHTS, source, source, weight_text(weight), evidence))
    for key in attributes.topics:
        own = topic_in_config(key, effective.config.topics)
        label = own or attributes.labels[key]
        kind = REMOVE_TOPIC if own else ADD_TOPIC
        found.append(Change(kind, TOPICS, key, label, label, evidence_pick(rated, kind, key, label)))
    return [change for change in found if change.evidence]


def select_changes(
    changes: Sequence[Change],
    evaluator: ReplayEvaluator,
    attributes: Attributes,
    effective: EffectiveConfig,
    rated: Sequence[RatedItem],
    *,
    permitted: Callable[[Change], bool],
    history: DecisionHistory,
    limit: int,
) -> Selection:
    """Choose the changes worth asking about, best first, and count the others."""
    alone = {
        c: evaluate_change(c, evaluator, attributes, effective) for c in _without_shorter_topics(changes)
    }
    open_ = {
        c: choice
        for c, choice in alone.items()
        if permitted(c)
        and _has_new_ratings(c, history, rated)
        and (c.suggestion_type, (c.field, c.key)) not in history.harmed
    }
    likely = [c for c, choice in alone.items() if _likely(choice)]
    chosen = _limit_false_share(
        _pick_greedily(open_, evaluator, attributes, effective, history.acceptance, limit)
    )
    taken = {choice.change for choice in chosen}
    leads = [choice for c, choice in open_.items() if c not in taken and choice.expected_gain > 0]
    return Selection(
        chosen=tuple(chosen),
        leads=tuple(sorted(leads, key=lambda c: (-c.information, c.change.key))[:LEADS_MAX]),
        likely=len(likely),
        not_permitted=sum(c not in open_ for c in likely),
        tried=len(alone),
        best=max((choice.p_helpful for choice in open_.values()), default=0.0),
    )


def evaluate_change(
    change: Change, evaluator: ReplayEvaluator, attributes: Attributes, effective: EffectiveConfig
) -> EvaluatedChange:
    """Evaluate `change` alone, made to the current config."""
    before, after = (config_columns(e, attributes) for e in (effective, _after(effective, change)))
    gain = evaluator.value(after) - evaluator.value(before)
    column = attributes.column(change.field, change.key)
    leaning = evaluator.draws[:, 1 + column] * (1 if change.liked else -1)
    low, high = np.percentile(gain, INTERVAL)
    return EvaluatedChange(
        change=change,
        p_helpful=p_helps(gain, leaning, evaluator.explained),
        p_better=p_better(gain),
        expected_gain=float(gain.mean()),
        low=float(low),
        high=float(high),
        information=information_value(gain),
    )


def _after(effective: EffectiveConfig, change: Change) -> EffectiveConfig:
    return change_applied(effective, change.suggestion_type, change.key, change.value)


def _likely(choice: EvaluatedChange) -> bool:
    return choice.p_helpful >= HYPOTHESIS_P_MIN and choice.expected_gain > 0


def _pick_greedily(
    open_: Mapping[Change, EvaluatedChange],
    evaluator: ReplayEvaluator,
    attributes: Attributes,
    effective: EffectiveConfig,
    acceptance: Mapping[str, float],
    limit: int,
) -> list[EvaluatedChange]:
    """Pick one by one the best change that is likely alone and still is after those picked before."""
    left = {change: choice for change, choice in open_.items() if _likely(choice)}
    picked: list[EvaluatedChange] = []
    compatible = left
    while compatible and len(picked) < limit:
        best = max(
            compatible,
            key=lambda c: (
                compatible[c].expected_gain * acceptance.get(c.suggestion_type, ACCEPTANCE_PRIOR),
                c.key,
            ),
        )
        picked.append(left.pop(best))
        left = {c: choice for c, choice in left.items() if (c.field, c.key) != (best.field, best.key)}
        effective = _after(effective, best)
        again = {change: evaluate_change(change, evaluator, attributes, effective) for change in left}
        compatible = {change: choice for change, choice in again.items() if _likely(choice)}
    return picked


def _has_new_ratings(change: Change, history: DecisionHistory, rated: Sequence[RatedItem]) -> bool:
    """Return True if the target has enough new ratings since the reader last decided on it."""
    decided = history.decided.get((change.field, change.key))
    if decided is None:
        return True
    since = (item for item in rated if item.at > decided)
    new = sum(concerns(item, change.field, change.key, change.label) for item in since)
    return new >= NEW_RATINGS_MIN


def evidence_pick(rated: Sequence[RatedItem], kind: str, key: str, label: str) -> tuple[RatedItem, ...]:
    """Return up to five rated items that the rules accept as evidence, newest first; none if they would not.

    Topics get items of as many sources as there are.
    """
    name, liked = FIELD_OF_TYPE[kind], kind in LIKED_TYPES
    found = [item for item in rated if item.useful is liked and concerns(item, name, key, label)]
    if name == TOPICS:
        newest = {item.source: item for item in reversed(found)}
        others = (item for item in found if newest[item.source] is not item)
        found = sorted([*newest.values(), *others][:EVIDENCE_SHOWN], key=lambda item: item.at, reverse=True)
    cited = tuple(found[:EVIDENCE_SHOWN])
    return () if evidence_refusal(Intent(kind, name, key, label, cited=cited)) else cited


def _without_shorter_topics(changes: Sequence[Change]) -> list[Change]:
    """Return `changes` without additions of a topic that is part of a longer one that may be added."""
    added = [c.key for c in changes if c.suggestion_type == ADD_TOPIC]
    return [
        c
        for c in changes
        if c.suggestion_type != ADD_TOPIC or not any(phrase_contains(other, c.key) for other in added)
    ]


def _limit_false_share(choices: list[EvaluatedChange]) -> list[EvaluatedChange]:
    """Drop the most doubtful until the expected share of false ones is low enough."""
    doubts = sorted((1 - c.p_helpful for c in choices), reverse=True)
    while doubts and sum(doubts) / len(doubts) > FALSE_SHARE_MAX:
        doubts.pop(0)
    worst = doubts[0] if doubts else -1.0
    return [c for c in choices if 1 - c.p_helpful <= worst]
