"""Choose the changes worth proposing, best first, or give the reason why there are none.

1. Every allowed change is tried: each source 0.3 up and down, each topic in or out, each word that only
   disliked items say, if the rules permit it and would accept the evidence. A target that the reader has
   decided on needs new ratings since, three after a no and one after a yes, because the same ones prove
   nothing more.
2. A change is proposed if the reader clearly leans its way (`tastes`): by 0.15 in log-odds or more, on three
   decayed thumbs of at least ten.
3. The one with the largest lean x s(1 - s) comes first, s its target's share of the thumbs, times the share
   of such suggestions this reader has accepted. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from digest.entities import RatedItem
from ranking.entities import EffectiveConfig
from ranking.language import gettext_noop
from suggestions.changes.change import Change
from suggestions.changes.columns import Attributes
from suggestions.changes.registry import SUGGESTED
from suggestions.planner.tastes import READER_MIN, Taste
from suggestions.proposals import EVIDENCE_MIN, Target
from suggestions.rules import evidence_refusal
from suggestions.wording import UNSEEN

# Thresholds of confidence in words; "high" also needs holdout ratings that agree.
P_HIGH, P_MEDIUM = 0.8, 0.6
# The meaning of each word, measured on the later ratings of real readers (docs/planner.md).
MEANING = {
    "high": gettext_noop("your ratings are clear, and those held back as a test agree"),
    "medium": gettext_noop("about 2 in 3 such changes helped readers"),
    "low": gettext_noop("about 3 in 5 such changes helped readers"),
}
# A gain of nDCG@10 up to this moves no item a reader would miss: it is within chance.
GAIN_MIN = 0.005
# A change that is less likely to help than to harm is not made.
HELPS_MIN = 0.5
EVIDENCE_SHOWN = 5
# New ratings of a target that are needed after the reader decided on it, before it may be a hypothesis again.
# After a no as many as any suggestion must cite. After a yes one; otherwise a boost would return by itself:
# 1.3, 1.6, 1.9.
NEW_AFTER_NO, NEW_AFTER_YES = EVIDENCE_MIN, 1
LEADS_MAX = 5
# From this probability on a change is a lead worth following up, though not worth asking about.
LEAD_MIN = 0.57
# The expected acceptance of a type that the reader has never decided on.
ACCEPTANCE_PRIOR = 0.5

TOO_FEW_RATINGS, ALL_DECIDED, TYPES_DECLINED = "too_little_said", "all_decided", "types_declined"
KINDS_OFF, MOVES_NOTHING = "kinds_off", "moves_nothing"
HOLDOUT_AGAINST, UNDECIDED, BALANCED = "later_thumbs_against", "undecided", "balanced"
SILENCE_SENTENCES = {
    TOO_FEW_RATINGS: gettext_noop(
        "You have rated too few articles of any one source or topic to tell what should change."
    ),
    ALL_DECIDED: gettext_noop(
        "The changes your ratings support are decided, pending, or too recent to suggest again."
    ),
    TYPES_DECLINED: gettext_noop(
        "Your ratings support only kinds of changes that you answered with no or undid every time."
    ),
    KINDS_OFF: gettext_noop("Your ratings support only kinds of changes that are switched off here."),
    MOVES_NOTHING: UNSEEN,
    HOLDOUT_AGAINST: gettext_noop("Some of your ratings support a change, and the others contradict it."),
    UNDECIDED: gettext_noop("Your ratings point to a change or two, but that may still be chance."),
    BALANCED: gettext_noop("Your ratings are balanced: they support no change clearly enough."),
}


@dataclass(frozen=True, slots=True)
class EvaluatedChange:
    """A change with P(it helps), the expected gain of nDCG@10, and the value of certainty about it.

    `enough` says whether its target has thumbs enough to tell, `clear` whether the reader leans its way
    clearly enough to ask; `merit` orders those. `lean` is the reader's lean the way of the change, and
    `taste` that towards its target.
    """

    change: Change
    p_helpful: float
    enough: bool
    clear: bool
    merit: float
    expected_gain: float
    information: float
    lean: float
    taste: Taste


@dataclass(frozen=True, slots=True)
class DecisionHistory:
    """The reader's decisions so far.

    `decided` has the last decision about each target, its time and whether it was a yes, `acceptance` the
    accepted share of each type, `barred` the (type, target) that may not be suggested now, or whose effect
    was harmful.
    """

    decided: Mapping[Target, tuple[datetime, bool]] = field(default_factory=dict)
    acceptance: Mapping[str, float] = field(default_factory=dict)
    barred: frozenset[tuple[str, Target]] = frozenset()


@dataclass(frozen=True, slots=True)
class Selection:
    """The outcome of a choice.

    `chosen` is best first. `leads` are the uncertain ones with an expected gain, most informative first.
    `clear` counts the changes the reader clearly leans to, `not_permitted` those of them that may not be made
    now, `declined` those of a type the reader always rejects, `kinds_off` those of a kind that the
    installation leaves out. `alone` are all changes with evidence. `best` is the highest probability among
    the permitted ones.
    """

    chosen: tuple[EvaluatedChange, ...]
    leads: tuple[EvaluatedChange, ...]
    clear: int
    not_permitted: int
    declined: int
    kinds_off: int
    best: float
    alone: tuple[EvaluatedChange, ...] = ()

    @property
    def tried(self) -> int:
        """Return how many changes have evidence, permitted or not."""
        return len(self.alone)


def confidence_of(p_helpful: float, low: float | None, high: float | None) -> str:
    """Return the confidence in words from the probability and the 90 % interval of the measured gain.

    "low" below 0.6, "high" from 0.8, "medium" in between; capped by `confidence_capped`.
    """
    stated = "low" if p_helpful < P_MEDIUM else "high" if p_helpful >= P_HIGH else "medium"
    return confidence_capped(stated, low, high)


def confidence_capped(stated: str, low: float | None, high: float | None) -> str:
    """Return the confidence that may be stated beside a measured gain with this 90 % interval.

    Never "high" for a gain that is within chance or was not measured; "low" when the whole interval is below
    zero.
    """
    if high is not None and high < 0:
        return "low"
    beyond_chance = low is not None and low > GAIN_MIN
    return "medium" if stated == "high" and not beyond_chance else stated


def silence_code(
    *,
    ratings: int,
    tried: int,
    not_permitted: int,
    declined: int,
    dropped: int,
    best: float,
    unseen: int = 0,
    kinds_off: int = 0,
) -> str:
    """Return the code of the reason for proposing nothing.

    `ratings` counts those that choose. `tried` changes have evidence, permitted or not; `not_permitted` of
    them were clear enough but may not be made now, `declined` of these only because of their type, and
    `kinds_off` because this installation leaves their kind out, `dropped`
    were contradicted, and `unseen` would have had no effect that the reader sees. `best` is the highest
    probability among the permitted ones (0: there is none).
    """
    if ratings < READER_MIN or not tried:
        return TOO_FEW_RATINGS
    if unseen:
        return MOVES_NOTHING
    if dropped:
        return HOLDOUT_AGAINST
    if not_permitted and kinds_off == not_permitted:
        return KINDS_OFF
    if not_permitted:
        return TYPES_DECLINED if declined == not_permitted else ALL_DECIDED
    return UNDECIDED if best >= LEAD_MIN else BALANCED


def acceptance_rates(answers: Mapping[str, tuple[int, int]]) -> dict[str, float]:
    """Return the accepted share of each type from (accepted, rejected), by the rule of succession."""
    return {kind: (yes + 1) / (yes + no + 2) for kind, (yes, no) in answers.items()}


def candidate_changes(
    attributes: Attributes, effective: EffectiveConfig, rated: Sequence[RatedItem]
) -> list[Change]:
    """Return every change that `rated` (newest first) has evidence for."""
    found = [change for kind in SUGGESTED for change in kind.candidates(attributes, effective)]
    with_evidence = [change.with_evidence(evidence_pick(rated, change)) for change in found]
    return [change for change in with_evidence if change.evidence]


def select_changes(
    changes: Sequence[Change],
    tastes: Sequence[Taste],
    attributes: Attributes,
    rated: Sequence[RatedItem],
    *,
    declined: frozenset[str] = frozenset(),
    kinds: frozenset[str] | None = None,
    history: DecisionHistory,
    limit: int,
) -> Selection:
    """Choose the changes worth asking about, best first, and count the others.

    `declined` are types, and `kinds` those that may be suggested here (`None`: all).
    """
    alone = [evaluate_change(c, tastes, attributes) for c in _without_shorter_topics(changes)]
    open_ = [
        choice
        for choice in alone
        if has_new_ratings(choice.change, history, rated)
        and (choice.change.suggestion_type, (choice.change.field, choice.change.target)) not in history.barred
    ]
    clear = [choice for choice in open_ if choice.clear]

    def worth(choice: EvaluatedChange) -> tuple[float, str]:
        kind = choice.change.suggestion_type
        return -choice.merit * history.acceptance.get(kind, ACCEPTANCE_PRIOR), choice.change.target

    chosen = sorted(clear, key=worth)[:limit]
    clear_in_all = sum(choice.clear for choice in alone)
    return Selection(
        chosen=tuple(chosen),
        leads=tuple(_leads(open_, chosen)),
        clear=clear_in_all,
        not_permitted=clear_in_all - len(clear),
        declined=sum(choice.clear and choice.change.suggestion_type in declined for choice in alone),
        kinds_off=sum(
            choice.clear and kinds is not None and choice.change.suggestion_type not in kinds
            for choice in alone
        ),
        best=max((choice.p_helpful for choice in open_ if choice.enough), default=0.0),
        alone=tuple(alone),
    )


def _leads(open_: Sequence[EvaluatedChange], chosen: Sequence[EvaluatedChange]) -> list[EvaluatedChange]:
    """Return the changes that may help and were not chosen, most informative first."""
    taken = {choice.change for choice in chosen}
    leads = [c for c in open_ if c.enough and c.change not in taken and c.expected_gain > 0]
    return sorted(leads, key=lambda c: (-c.information, c.change.target))[:LEADS_MAX]


def evaluate_change(change: Change, tastes: Sequence[Taste], attributes: Attributes) -> EvaluatedChange:
    """Evaluate `change` by the reader's taste for its target."""
    taste = tastes[taste_index(change, attributes)]
    more = change.kind.liked
    expected_gain = taste.expected_gain if more else -taste.expected_gain
    return EvaluatedChange(
        change=change,
        p_helpful=taste.p_helps if more else 1 - taste.p_helps,
        enough=taste.is_known,
        clear=taste.is_clear and (taste.lean > 0) is more,
        merit=abs(taste.lean) * taste.reach,
        expected_gain=expected_gain,
        information=taste.information,
        lean=taste.lean if more else -taste.lean,
        taste=taste,
    )


def taste_index(change: Change, attributes: Attributes) -> int:
    """Return the index of a change's target among the reader's tastes."""
    kind = change.kind
    assert kind.column is not None, f"{kind!r} is about no column"
    return attributes.index(kind.column, change.label)


def has_new_ratings(change: Change, history: DecisionHistory, rated: Sequence[RatedItem]) -> bool:
    """Return True if the target has enough new ratings since the reader last decided on it."""
    new, needed = new_ratings(change, history, rated)
    return new >= needed


def new_ratings(change: Change, history: DecisionHistory, rated: Sequence[RatedItem]) -> tuple[int, int]:
    """Return how many ratings a target got since the reader decided on it, and how many it needs; (0, 0) if
    they did not."""
    decided = history.decided.get((change.field, change.target))
    if decided is None:
        return 0, 0
    at, accepted = decided
    new = change.among([item for item in rated if item.at > at])
    return len(new), NEW_AFTER_YES if accepted else NEW_AFTER_NO


def evidence_pick(rated: Sequence[RatedItem], change: Change) -> tuple[RatedItem, ...]:
    """Return up to five rated items that the rules accept as evidence, newest first; none if they would not.

    Topics and words get items of as many sources as there are. If the first are of one day, others join.
    """
    kind, needed = change.kind, change.kind.evidence_min
    found = list(change.among([item for item in rated if item.useful is kind.liked]))
    if kind.of_many_sources:
        newest = {item.source: item for item in reversed(found)}
        others = (item for item in found if newest[item.source] is not item)
        found = [*newest.values(), *others]
    days = {item.at.date() for item in found[:needed]}
    if len(days) == 1 and (older := [item for item in found if item.at.date() not in days]):
        # Another day among the first ones, since no more may be cited.
        found = [*found[: needed - 1], *older]
    cited = tuple(sorted(found[:EVIDENCE_SHOWN], key=lambda item: item.at, reverse=True))
    refused = evidence_refusal(change.with_evidence(cited)) or kind.contradiction(change, rated)
    return () if refused else cited


def _without_shorter_topics(changes: Sequence[Change]) -> list[Change]:
    """Return `changes` without additions of a topic that is part of a longer one that may be added."""
    return [
        change
        for change in changes
        if not any(
            other.kind is change.kind
            and change.kind.liked
            and change.kind.nested(change.target, other.target)
            for other in changes
        )
    ]
