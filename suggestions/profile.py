"""What a reader's decisions add up to. Pure; every threshold of a profile is a constant here.

acceptance_stats: per type `{"accepted", "rejected", "rate", "confidence"}`. Confidence is "low" below five
decisions; "high" when the Beta(1, 1) posterior puts at least 95 % on one side of one half (8 of 10 and
0 of 6 are high, 1 of 6 and 4 of 7 are medium).

patterns (true only with enough decisions behind them):
- never_reduce_sources: three or more reductions decided, none accepted
- open_to_new_topics: three or more new topics decided, at least 60 % accepted
- protective_of_existing_config: four or more removals and reductions decided, at most 25 % accepted
- prefers_additions_over_removals: three or more of each decided, additions accepted at least 30 points more

trends: engagement (share of the newest settled suggestions that the reader decided rather than let expire:
high from 75 %, medium from 40 %), preference_stability (the acceptance rate of the newest ten decisions
against the ten before: stable within 20 points, else shifting; unknown below five of each) and
suggestion_velocity_per_week (settled in the last four weeks, per week).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from scipy.special import betainc

from suggestions.entities import ADD_TOPIC, BOOST_SOURCE, REDUCE_SOURCE, REMOVE_TOPIC

ACCEPTED, REJECTED = "accepted", "rejected"
TYPES = (ADD_TOPIC, REMOVE_TOPIC, BOOST_SOURCE, REDUCE_SOURCE)
DECISIONS_MIN = 5
CERTAIN = 0.95
NEVER_MIN = 3
OPEN_MIN, OPEN_RATE = 3, 0.6
PROTECTIVE_MIN, PROTECTIVE_RATE = 4, 0.25
ADDITIONS_MIN, ADDITIONS_LEAD = 3, 0.3
RECENT_MAX = 20
ENGAGED_HIGH, ENGAGED_MEDIUM = 0.75, 0.4
HALF, HALF_MIN, STABLE_WITHIN = 10, 5, 0.2
VELOCITY_WEEKS = 4


@dataclass(frozen=True, slots=True)
class Settled:
    """One suggestion that came to an end: accepted, rejected, expired or superseded."""

    suggestion_type: str
    outcome: str
    decided_at: datetime


@dataclass(frozen=True, slots=True)
class Profile:
    """The three parts of a profile as plain JSON, and how many outcomes they rest on."""

    acceptance_stats: dict[str, dict[str, Any]]
    patterns: dict[str, bool]
    trends: dict[str, Any]
    total_outcomes: int


def profile_compute(
    counts: Mapping[tuple[str, str], int], recent: Sequence[Settled], *, now: datetime
) -> Profile:
    """The profile from counts per (type, outcome) over all time and the newest settled suggestions."""
    decided = {kind: (counts.get((kind, ACCEPTED), 0), counts.get((kind, REJECTED), 0)) for kind in TYPES}
    return Profile(
        acceptance_stats={kind: _stats(*pair) for kind, pair in decided.items() if sum(pair)},
        patterns=_patterns(decided),
        trends=_trends(recent, now),
        total_outcomes=sum(counts.values()),
    )


def acceptance_confidence(accepted: int, rejected: int) -> str:
    """How sure the acceptance rate is, in words."""
    if accepted + rejected < DECISIONS_MIN:
        return "low"
    below_half = float(betainc(accepted + 1, rejected + 1, 0.5))
    return "high" if max(below_half, 1 - below_half) >= CERTAIN else "medium"


def _stats(accepted: int, rejected: int) -> dict[str, Any]:
    return {
        "accepted": accepted,
        "rejected": rejected,
        "rate": round(_rate(accepted, rejected), 2),
        "confidence": acceptance_confidence(accepted, rejected),
    }


def _rate(accepted: int, rejected: int) -> float:
    return accepted / (accepted + rejected) if accepted + rejected else 0.0


def _together(decided: Mapping[str, tuple[int, int]], *kinds: str) -> tuple[int, int]:
    return sum(decided[kind][0] for kind in kinds), sum(decided[kind][1] for kind in kinds)


def _patterns(decided: Mapping[str, tuple[int, int]]) -> dict[str, bool]:
    reduced, topics = decided[REDUCE_SOURCE], decided[ADD_TOPIC]
    taken = _together(decided, REMOVE_TOPIC, REDUCE_SOURCE)
    added = _together(decided, ADD_TOPIC, BOOST_SOURCE)
    return {
        "never_reduce_sources": sum(reduced) >= NEVER_MIN and reduced[0] == 0,
        "open_to_new_topics": sum(topics) >= OPEN_MIN and _rate(*topics) >= OPEN_RATE,
        "protective_of_existing_config": sum(taken) >= PROTECTIVE_MIN and _rate(*taken) <= PROTECTIVE_RATE,
        "prefers_additions_over_removals": min(sum(added), sum(taken)) >= ADDITIONS_MIN
        and _rate(*added) - _rate(*taken) >= ADDITIONS_LEAD,
    }


def _trends(recent: Sequence[Settled], now: datetime) -> dict[str, Any]:
    newest = sorted(recent, key=lambda s: s.decided_at, reverse=True)
    since = now - timedelta(weeks=VELOCITY_WEEKS)
    return {
        "engagement": _engagement(newest[:RECENT_MAX]),
        "preference_stability": _stability([s for s in newest if s.outcome in (ACCEPTED, REJECTED)]),
        "suggestion_velocity_per_week": round(sum(s.decided_at > since for s in newest) / VELOCITY_WEEKS, 2),
    }


def _engagement(settled: Sequence[Settled]) -> str:
    if not settled:
        return "unknown"
    share = sum(s.outcome in (ACCEPTED, REJECTED) for s in settled) / len(settled)
    return "high" if share >= ENGAGED_HIGH else "medium" if share >= ENGAGED_MEDIUM else "low"


def _stability(decisions: Sequence[Settled]) -> str:
    new, old = decisions[:HALF], decisions[HALF : 2 * HALF]
    if min(len(new), len(old)) < HALF_MIN:
        return "unknown"
    rates = [sum(s.outcome == ACCEPTED for s in half) / len(half) for half in (new, old)]
    return "stable" if abs(rates[0] - rates[1]) <= STABLE_WITHIN + 1e-9 else "shifting"
