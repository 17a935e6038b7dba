"""The effect of an accepted change on the digest, as a difference-in-differences.

**"Helped"** means: the reader likes a larger share of the digest than without the change. Let *scope* be the
affected source or topic, *rest* the reader's other items that no accepted change touched, p the like-rates,
e the share of the digest's attention that the scope has. The digest's like-rate is
e p_scope + (1 - e) p_rest. If the scope would have drifted as the rest did (parallel trends, Angrist and
Pischke 2009, chapter 5), the difference-in-differences of the whole digest is

    D = e1 (p_scope1 - p_rest1) - e0 (p_scope0 - p_rest0)
      = (e1 - e0) d1  +  e0 (d1 - d0)                 with d = p_scope - p_rest, 0 before, 1 after

The first term is the effect of the new order: more of what is liked more than the rest, or less of what is
liked less. A boost of a source whose items are liked less than the rest makes D negative though nothing
about the source changed; so does a reduction of a well-liked one. The second is the plain
difference-in-differences of like-rates: the effect of showing more, or less, of the scope on its like-rate.

**Exposure.** e1 and e0 are measured on the digests of the two weeks after the change: as they were ordered,
and as the same items would have been ordered at the old setting (the stored scores, with the scope's
rescaled). An item at rank r has attention 1 / log2(r + 1), as in nDCG. So neither a busy news week nor the
learning loop is mistaken for the change. Without stored digests, the shares of ratings before and after
replace them.

**Posterior.** p_rest ~ Beta(1 + likes, 1 + dislikes); p_scope ~ Beta(k p_rest + likes, k (1 - p_rest) +
dislikes) with k = 4: the scope is like the rest, with the weight of four ratings. d1 uses ratings after
the change alone: the earlier ones chose it, and would confirm it. They enter the second term only, whose
like-rates are shrunk by the same prior, and which is shrunk itself: rates are expected to
move by 3 points (one sd), and the observed change of variance v is multiplied by 0.03^2 / (0.03^2 + v), the
normal-normal shrinkage of Efron and Morris (1975), against regression to the mean. With shares of
ratings in place of digests, D is not shrunk. 4,000 draws from a fixed seed: the same case, the same answer.

**Verdict**: *helped* from P(D > 0) > 0.9, *harmed* below 0.1, else *unclear*; at most one in ten changes
without any effect is called either way (our measurement: see `docs/suggestions.md`). Unclear without a
calculation, each with its reason: fewer than three ratings of the scope or five elsewhere since, the setting
was changed again, or the change moved less than half a percent of the digest's attention. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ranking.language import gettext_noop
from suggestions.changes.change import ChangeKind
from suggestions.proposals import HARMED, HELPED, UNCLEAR
from suggestions.sentences import percent_text

Draws = np.ndarray[Any, np.dtype[np.float64]]

WINDOW_DAYS = 14
P_HELPED, P_HARMED = 0.9, 0.1
SCOPE_MIN, REST_MIN = 3, 5
KAPPA = 4.0
RATE_SD = 0.03
SHIFT_MIN = 0.005
DRAWS = 4000

TOO_FEW, TOO_FEW_ELSEWHERE = "too_few_thumbs", "too_few_elsewhere"
CHANGED_AGAIN, NOT_MOVED, WITHIN_CHANCE = "changed_again", "digest_not_moved", "within_chance"
INCOMPARABLE = "incomparable"
REASONS = {
    TOO_FEW: gettext_noop("Too few ratings of it since then to tell."),
    TOO_FEW_ELSEWHERE: gettext_noop("Too few ratings of anything else since then to compare with."),
    CHANGED_AGAIN: gettext_noop("The setting was changed again meanwhile, so its effect cannot be measured."),
    INCOMPARABLE: gettext_noop("Nobody can tell how you would have rated what it left out or let in."),
    NOT_MOVED: gettext_noop("It hardly moved anything in your digests."),
    WITHIN_CHANCE: gettext_noop("The difference is within chance."),
}


@dataclass(frozen=True, slots=True)
class Tally:
    """Likes among a number of ratings."""

    likes: int = 0
    ratings: int = 0

    @property
    def rate(self) -> float:
        """Return the share liked; 0 without ratings."""
        return self.likes / self.ratings if self.ratings else 0.0


@dataclass(frozen=True, slots=True)
class RankedItem:
    """One item of a digest: its score as stored and at the old setting, and whether it is in the scope."""

    score: float
    score_without: float
    in_scope: bool


@dataclass(frozen=True, slots=True)
class Exposure:
    """The scope's share of the digests' attention without the change, and with it."""

    without: float
    with_: float


@dataclass(frozen=True, slots=True)
class EffectCase:
    """One accepted change with the ratings in equal windows before and after it, and its exposure."""

    kind: ChangeKind
    label: str
    scope_before: Tally
    rest_before: Tally
    scope_after: Tally
    rest_after: Tally
    exposure: Exposure | None
    changed_again: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """The verdict, with its figures in `measured` as plain JSON."""

    verdict: str
    measured: dict[str, Any]


def exposure_of(digests: Sequence[Sequence[RankedItem]]) -> Exposure | None:
    """Return the mean share of attention over these digests; `None` if all are empty."""
    shown = [digest for digest in digests if digest]
    if not shown:
        return None
    without = [_share([(row.score_without, row.in_scope) for row in digest]) for digest in shown]
    with_ = [_share([(row.score, row.in_scope) for row in digest]) for digest in shown]
    return Exposure(float(np.mean(without)), float(np.mean(with_)))


def effect_measure(case: EffectCase, *, seed: int) -> Effect:
    """Judge one change; `seed` fixes the draws (its suggestion's id)."""
    if reason := _unmeasurable(case):
        return Effect(UNCLEAR, {**_counts(case), "reason": reason, "words": REASONS[reason]})
    draws, did = _draws(case, np.random.default_rng(seed))
    p_helped = float(np.mean(draws > 0))
    verdict = HELPED if p_helped > P_HELPED else HARMED if p_helped < P_HARMED else UNCLEAR
    low, high = (float(v) for v in np.quantile(draws, (0.05, 0.95)))
    figures: dict[str, Any] = {
        "p_helped": round(p_helped, 3),
        "effect": round(float(np.mean(draws)), 4),
        "low": round(low, 4),
        "high": round(high, 4),
        "did": round(did, 3),
        "basis": "digests" if case.exposure else "thumbs",
    }
    reason = WITHIN_CHANCE if verdict == UNCLEAR else ""
    return Effect(verdict, {**_counts(case), **figures, "reason": reason, "words": _words(case, reason)})


def _share(rows: Sequence[tuple[float, bool]]) -> float:
    """Return the scope's share of attention when the items are sorted by score (a stable sort)."""
    ordered = sorted(rows, key=lambda row: -row[0])
    attention = 1 / np.log2(np.arange(2, len(ordered) + 2))
    return float(attention[[in_scope for _, in_scope in ordered]].sum() / attention.sum())


def effect_incomparable(case: EffectCase) -> Effect:
    """Return the verdict on a change without anything to compare with: unclear."""
    words = REASONS[INCOMPARABLE]
    return Effect(UNCLEAR, {**_counts(case), "reason": INCOMPARABLE, "words": words})


def _unmeasurable(case: EffectCase) -> str:
    """Return the code of the reason why this case cannot be measured, or ""."""
    if case.changed_again:
        return CHANGED_AGAIN
    scopes = [case.scope_after] if case.exposure else [case.scope_before, case.scope_after]
    rests = [case.rest_after] if case.exposure else [case.rest_before, case.rest_after]
    if any(t.ratings < SCOPE_MIN for t in scopes):
        return TOO_FEW
    if any(t.ratings < REST_MIN for t in rests):
        return TOO_FEW_ELSEWHERE
    moved = case.exposure is None or abs(case.exposure.with_ - case.exposure.without) >= SHIFT_MIN
    return "" if moved else NOT_MOVED


def _draws(case: EffectCase, rng: np.random.Generator) -> tuple[Draws, float]:
    """Return draws of D, and the plain difference-in-differences of the like-rates."""
    after, before = (
        _gaps(case.scope_after, case.rest_after, rng),
        _gaps(case.scope_before, case.rest_before, rng),
    )
    change = after - before
    did = float(change.mean())
    if case.exposure is None:
        shares = [
            rng.beta(1 + scope.ratings, 1 + rest.ratings, DRAWS)
            for scope, rest in ((case.scope_before, case.rest_before), (case.scope_after, case.rest_after))
        ]
        return shares[1] * after - shares[0] * before, did
    variance = float(change.var())
    shrinkage = RATE_SD**2 / (RATE_SD**2 + variance)
    drift = rng.normal(shrinkage * did, np.sqrt(shrinkage * variance), DRAWS)
    shift = case.exposure.with_ - case.exposure.without
    return shift * after + case.exposure.without * drift, did


def _gaps(scope: Tally, rest: Tally, rng: np.random.Generator) -> Draws:
    """Return draws of the like-rate of the scope minus that of the rest."""
    p_rest = rng.beta(1 + rest.likes, 1 + rest.ratings - rest.likes, DRAWS)
    a = KAPPA * p_rest + scope.likes
    b = KAPPA * (1 - p_rest) + scope.ratings - scope.likes
    return np.asarray(rng.beta(np.maximum(a, 1e-6), np.maximum(b, 1e-6)) - p_rest)


def _counts(case: EffectCase) -> dict[str, Any]:
    """Return the figures behind a verdict: likes and ratings in each window, shares of attention."""
    pairs = {
        "scope_before": case.scope_before,
        "scope_after": case.scope_after,
        "rest_before": case.rest_before,
        "rest_after": case.rest_after,
    }
    shares = case.exposure and {
        "without": round(case.exposure.without, 4),
        "with": round(case.exposure.with_, 4),
    }
    return {
        "window_days": WINDOW_DAYS,
        **{name: [pair.likes, pair.ratings] for name, pair in pairs.items()},
        "exposure": shares,
    }


def _words(case: EffectCase, reason: str) -> str:
    """Return "Since then you liked 6 of 10 articles from Reuters, against 12 of 30 …" and the reason."""
    scope, rest = case.scope_after, case.rest_after
    text = case.kind.measured(case.label, (scope.likes, scope.ratings, rest.likes, rest.ratings))
    if case.exposure:
        with_, without = percent_text(case.exposure.with_), percent_text(case.exposure.without)
        text += f" They took {with_} of your digest instead of {without}."
    return f"{text} {REASONS[reason]}" if reason else text
