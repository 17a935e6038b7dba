"""What the check after two weeks found, in plain words and figures, for the reader's pages."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Prefetch

from ranking.entities import EffectiveConfig
from suggestions.models import Outcome
from suggestions.presenters import EFFECTS, headline
from suggestions.standing import undone_since
from suggestions.teaching import teaching_of


@dataclass(frozen=True, slots=True)
class EffectLine:
    """The effect of one accepted suggestion.

    `headline` names the change, `words` the verdict, `details` what was compared, `figures` the numbers
    behind it ("": none), `teaches` what follows from it.
    """

    suggestion_id: int
    outcome: str
    headline: str
    words: str
    details: str
    figures: str
    teaches: str
    checked_at: datetime


def effects_harmful(*, reader_id: UUID, effective: EffectiveConfig) -> list[EffectLine]:
    """The changes that made the reader's digest worse and still stand, newest first; two queries.

    `effective` are the reader's settings of now: what they have set back by hand needs no putting back.
    """
    reverted = Outcome.objects.filter(suggestion=OuterRef("suggestion"), kind=Outcome.Kind.REVERT)
    harmed = Outcome.objects.filter(
        reader_id=reader_id, kind=Outcome.Kind.EFFECT, outcome=Outcome.Result.HARMED
    )
    standing = harmed.filter(~Exists(reverted)).select_related("suggestion").order_by("-decided_at", "-pk")
    decided = Outcome.objects.filter(reader_id=reader_id, kind=Outcome.Kind.DECISION)
    rows = standing.prefetch_related(Prefetch("suggestion__outcomes", decided))
    return [
        _line(row)
        for row in rows
        if not undone_since(row.suggestion, next(iter(row.suggestion.outcomes.all()), None), effective)
    ]


def _line(row: Outcome) -> EffectLine:
    return EffectLine(
        suggestion_id=row.suggestion_id,
        outcome=row.outcome,
        headline=headline(row.suggestion_type, row.suggestion.label),
        words=EFFECTS.get(row.outcome, ""),
        details=str(row.measured.get("words", "")),
        figures=_figures(row.measured),
        teaches=teaching_of(row.outcome),
        checked_at=row.decided_at,
    )


def _figures(measured: dict[str, Any]) -> str:
    """ "97 % likely that it helped; liked share of the digest +2.1 points (90 % between +0.4 and +3.9)"."""
    if (chance := measured.get("p_helped")) is None:
        return ""
    effect, low, high = (100 * measured[name] for name in ("effect", "low", "high"))
    return (
        f"{_chance(chance)} likely that it helped; liked share of the digest {effect:+.1f} points "
        f"(90 % between {low:+.1f} and {high:+.1f})"
    )


def _chance(chance: float) -> str:
    if chance > 0.99:
        return "over 99 %"
    return "under 1 %" if chance < 0.01 else f"{100 * chance:.0f} %"
