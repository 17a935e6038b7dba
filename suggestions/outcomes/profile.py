"""The preference profile of a reader, from their decisions.

Each decision weighs 2^(-age / 90 days), and counts as `suggestions.wording.SENTENCES` says. The half-life is
our choice: longer than the 60 days of ratings, since a reader answers at most three questions a week and
changes their mind about a kind of change slowly; short enough that a "no" of last year (weight 0.06) forbids
nothing by itself.

acceptance_stats: per type `{"accepted", "rejected", "rate", "confidence"}`, and `reverted`, `helped`,
`harmed` where there are any. The counts are whole answers of the last 900 days, `rate` is decayed.
Confidence is "low" below five decisions or a decayed 2.5 (five hold for one half-life); "high" when the
Beta(1, 1) posterior of the decayed counts puts at least 95 % on one side of one half (8 of 10 and 0 of 6
are high while fresh, 1 of 6 and 4 of 7 medium); "medium" in between.

patterns (each needs its number of decisions, and half of it after decay; the first four are always present,
the others only while they are true):
- never_reduce_sources: three reductions turned down, and none accepted that still weighs 0.1 (ten months)
- open_to_new_topics: three new topics decided, 60 % accepted
- protective_of_existing_config: four removals and reductions decided, at most 25 % accepted
- prefers_additions_over_removals: three of each decided, additions accepted at least 30 points more
- prefers_smaller_steps: two weights chosen by the reader, on average below 3/4 of the proposed step; "the
  step is too large" counts as half of it
- the names in `BACKFIRES`, such as boosts_backfire or mutes_backfire: two changes of the type that
  harmed or were reverted, and P(it helps less than half the time) of the Beta(1, 1) posterior at least 0.8

trends: engagement (share of the newest settled suggestions that the reader answered rather than let expire;
put-off ones count as answered: high from 75 %, medium from 40 %), preference_stability (the acceptance rate
of the newest ten decisions against the ten before: stable within 20 points, else shifting; unknown below
five of each), suggestion_velocity_per_week (settled in the last four weeks, per week), and where there are
any: reasons (counts of each reason code of rejections) and put_off. Pure.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ranking.common.probability import beta_below
from suggestions.changes.change import Kind
from suggestions.changes.registry import KINDS, SUGGESTED
from suggestions.proposals import HARMED, HELPED
from suggestions.reasons import TOO_MUCH

# Objections to size, moment or novelty count half against the kind of change.
HALF_WEIGHT = frozenset({TOO_MUCH, "too_little", "bad_timing", "already_done"})
ACCEPTED, REJECTED, EXPIRED, SUPERSEDED = "accepted", "rejected", "expired", "superseded"
TYPES = tuple(KINDS)
HALF_LIFE_DAYS = 90.0
# Ten half-lives. Older decisions weigh less than a thousandth and are not read.
HORIZON = timedelta(days=900)
# The share of a pattern's number of decisions that must be left after decay.
LEFT = 0.5
DECISIONS_MIN = 5
CERTAIN = 0.95
NEVER_MIN, FORGOTTEN = 3, 0.1
OPEN_MIN, OPEN_RATE = 3, 0.6
PROTECTIVE_MIN, PROTECTIVE_RATE = 4, 0.25
ADDITIONS_MIN, ADDITIONS_LEAD = 3, 0.3
EDITS_MIN, SMALLER = 2, 0.75
BACKFIRE_MIN, BACKFIRE_P = 2, 0.8
BACKFIRES = {kind.name: kind.patterns.backfires for kind in SUGGESTED if kind.patterns.backfires}
RECENT_MAX = 20
ENGAGED_HIGH, ENGAGED_MEDIUM = 0.75, 0.4
HALF, HALF_MIN, STABLE_WITHIN = 10, 5, 0.2
VELOCITY_WEEKS = 4
TINY = 1e-9


@dataclass(frozen=True, slots=True)
class SettledSuggestion:
    """One settled suggestion: accepted, rejected, expired, superseded or withdrawn.

    `effect` is the verdict of the check; `reason` the code of a reader's reason; `step` the step that the
    reader chose or wished for, as a share of the proposed one; a `taken_back` answer counts only as answered.
    """

    suggestion_type: str
    outcome: str
    decided_at: datetime
    reverted: bool = False
    effect: str = ""
    reason: str = ""
    step: float | None = None
    taken_back: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    """The three parts of a profile as plain JSON, and the number of outcomes behind them."""

    acceptance_stats: dict[str, dict[str, Any]]
    patterns: dict[str, bool]
    trends: dict[str, Any]
    total_outcomes: int


@dataclass(slots=True)
class _Tally:
    """The decisions of some types: counts, and decayed weights for and against; the same for effects."""

    accepted: int = 0
    rejected: int = 0
    reverted: int = 0
    helped: int = 0
    harmed: int = 0
    for_: float = 0.0
    against: float = 0.0
    good: float = 0.0
    bad: float = 0.0

    @property
    def decisions(self) -> int:
        return self.accepted + self.rejected + self.reverted

    @property
    def weight(self) -> float:
        return self.for_ + self.against

    @property
    def rate(self) -> float:
        return self.for_ / self.weight if self.weight else 0.0

    def enough(self, least: int) -> bool:
        """Return True if there are `least` decisions and half of their weight is left after decay."""
        return self.decisions >= least and self.weight >= LEFT * least - TINY


def profile_compute(
    rows: Sequence[SettledSuggestion], *, now: datetime, total: int | None = None, put_off: int = 0
) -> Profile:
    """Return the profile from the suggestions settled in the last 900 days, in any order.

    `total` counts all settled suggestions (default: the given ones), `put_off` the snoozed ones.
    """
    newest = sorted(rows, key=lambda row: row.decided_at, reverse=True)
    decided = [row for row in newest if not row.taken_back]
    tallies = {kind: _tally([r for r in decided if r.suggestion_type == kind], now) for kind in TYPES}
    return Profile(
        acceptance_stats={kind: _stats(tally) for kind, tally in tallies.items() if tally.decisions},
        patterns=_patterns(tallies, decided, now),
        trends=_trends(newest, put_off, now),
        total_outcomes=len(rows) if total is None else total,
    )


def acceptance_confidence(accepted: float, rejected: float, decisions: int | None = None) -> str:
    """Return the confidence in an acceptance rate, in words, from decayed counts of `decisions`."""
    made = accepted + rejected if decisions is None else decisions
    if made < DECISIONS_MIN or accepted + rejected < LEFT * DECISIONS_MIN - TINY:
        return "low"
    below_half = beta_below(accepted + 1, rejected + 1, 0.5)
    return "high" if max(below_half, 1 - below_half) >= CERTAIN else "medium"


def weight_of(decided_at: datetime, now: datetime) -> float:
    """Return the weight of a decision of this age, 0 to 1."""
    days = max(0.0, (now - decided_at).total_seconds() / 86400)
    return float(0.5 ** (days / HALF_LIFE_DAYS))


def _tally(rows: Sequence[SettledSuggestion], now: datetime) -> _Tally:
    tally = _Tally()
    for row in rows:
        weight = weight_of(row.decided_at, now)
        if row.outcome == ACCEPTED and row.reverted:
            tally.reverted += 1
            tally.against += weight
            tally.bad += weight
        elif row.outcome == ACCEPTED:
            tally.accepted += 1
            tally.for_ += weight
            tally.helped += row.effect == HELPED
            tally.harmed += row.effect == HARMED
            tally.good += weight * (row.effect == HELPED)
            tally.bad += weight * (row.effect == HARMED)
        elif row.outcome == REJECTED and not row.reverted:
            tally.rejected += 1
            tally.against += weight * (0.5 if row.reason in HALF_WEIGHT else 1.0)
    return tally


def _stats(tally: _Tally) -> dict[str, Any]:
    found = {"reverted": tally.reverted, "helped": tally.helped, "harmed": tally.harmed}
    return {
        "accepted": tally.accepted,
        "rejected": tally.rejected,
        "rate": round(tally.rate, 2),
        "confidence": acceptance_confidence(tally.for_, tally.against, tally.decisions),
        **{name: count for name, count in found.items() if count},
    }


def _together(tallies: Mapping[str, _Tally], *kinds: str) -> _Tally:
    """Return one tally of several types, of acceptance only."""
    parts = [tallies[kind] for kind in kinds]
    return _Tally(
        accepted=sum(t.accepted for t in parts),
        rejected=sum(t.rejected for t in parts),
        reverted=sum(t.reverted for t in parts),
        for_=sum(t.for_ for t in parts),
        against=sum(t.against for t in parts),
    )


def _patterns(
    tallies: Mapping[str, _Tally], newest: Sequence[SettledSuggestion], now: datetime
) -> dict[str, bool]:
    reduced, topics = tallies[Kind.REDUCE_SOURCE], tallies[Kind.ADD_TOPIC]
    taken = _together(tallies, Kind.REMOVE_TOPIC, Kind.REDUCE_SOURCE)
    added = _together(tallies, Kind.ADD_TOPIC, Kind.BOOST_SOURCE)
    refused = reduced.rejected + reduced.reverted
    extra = {"prefers_smaller_steps": _smaller(newest, now)}
    extra |= {name: _backfires(tallies[kind]) for kind, name in BACKFIRES.items()}
    return {
        "never_reduce_sources": refused >= NEVER_MIN
        and reduced.against >= LEFT * NEVER_MIN - TINY
        and reduced.for_ < FORGOTTEN,
        "open_to_new_topics": topics.enough(OPEN_MIN) and topics.rate >= OPEN_RATE - TINY,
        "protective_of_existing_config": taken.enough(PROTECTIVE_MIN)
        and taken.rate <= PROTECTIVE_RATE + TINY,
        "prefers_additions_over_removals": added.enough(ADDITIONS_MIN)
        and taken.enough(ADDITIONS_MIN)
        and added.rate - taken.rate >= ADDITIONS_LEAD - TINY,
        **{name: True for name, present in extra.items() if present},
    }


def _smaller(newest: Sequence[SettledSuggestion], now: datetime) -> bool:
    edits = [(row.step, weight_of(row.decided_at, now)) for row in newest if row.step is not None]
    weight = sum(w for _, w in edits)
    if len(edits) < EDITS_MIN or weight < LEFT * EDITS_MIN - TINY:
        return False
    return sum(step * w for step, w in edits) / weight < SMALLER


def _backfires(tally: _Tally) -> bool:
    """Return True if changes of a type harmed, or were reverted, more often than they helped."""
    if tally.harmed + tally.reverted < BACKFIRE_MIN or tally.bad < LEFT * BACKFIRE_MIN - TINY:
        return False
    return beta_below(1 + tally.good, 1 + tally.bad, 0.5) >= BACKFIRE_P


def _trends(newest: Sequence[SettledSuggestion], put_off: int, now: datetime) -> dict[str, Any]:
    since = now - timedelta(weeks=VELOCITY_WEEKS)
    decided = [row for row in newest if not row.taken_back]
    decisions = [r for r in decided if r.outcome == ACCEPTED or (r.outcome == REJECTED and not r.reverted)]
    reasons = Counter(row.reason for row in decisions if row.outcome == REJECTED and row.reason)
    trends: dict[str, Any] = {
        "engagement": _engagement(newest[:RECENT_MAX], put_off),
        "preference_stability": _stability(decisions),
        "suggestion_velocity_per_week": round(sum(r.decided_at > since for r in newest) / VELOCITY_WEEKS, 2),
    }
    if reasons:
        trends["reasons"] = dict(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0])))
    return trends | ({"put_off": put_off} if put_off else {})


def _engagement(settled: Sequence[SettledSuggestion], put_off: int) -> str:
    answered = put_off + sum(row.outcome in (ACCEPTED, REJECTED) for row in settled)
    ignored = sum(row.outcome == EXPIRED for row in settled)
    if not answered + ignored:
        return "unknown"
    share = answered / (answered + ignored)
    return "high" if share >= ENGAGED_HIGH else "medium" if share >= ENGAGED_MEDIUM else "low"


def _stability(decisions: Sequence[SettledSuggestion]) -> str:
    new, old = decisions[:HALF], decisions[HALF : 2 * HALF]
    if min(len(new), len(old)) < HALF_MIN:
        return "unknown"
    rates = [sum(r.outcome == ACCEPTED and not r.reverted for r in half) / len(half) for half in (new, old)]
    return "stable" if abs(rates[0] - rates[1]) <= STABLE_WITHIN + TINY else "shifting"
