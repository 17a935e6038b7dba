"""What the check after two weeks found, in plain words and figures, for the reader's pages."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef

from suggestions.models import Outcome
from suggestions.presenters import EFFECTS, headline
from suggestions.teaching import teaching_of


@dataclass(frozen=True, slots=True)
class EffectLine:
    """The effect of one accepted suggestion.

    `headline` names the change, `words` the verdict, `details` what was compared, `figures` the numbers
    behind it ("": none), `teaches` what follows from it. `revertible`: it harmed and was not put back.
    """

    suggestion_id: int
    outcome: str
    headline: str
    words: str
    details: str
    figures: str
    teaches: str
    checked_at: datetime
    revertible: bool


def effect_of(*, suggestion_id: int, reader_id: UUID) -> EffectLine | None:
    """The effect of one of the reader's suggestions, `None` before the check; one query."""
    return next(iter(effects_for(reader_id=reader_id, suggestion_ids=[suggestion_id])), None)


def effects_for(*, reader_id: UUID, suggestion_ids: Collection[int] | None = None) -> list[EffectLine]:
    """The effects of the reader's suggestions (all, or these), newest first; one query."""
    reverted = Outcome.objects.filter(suggestion=OuterRef("suggestion"), kind=Outcome.Kind.REVERT)
    rows = Outcome.objects.filter(reader_id=reader_id, kind=Outcome.Kind.EFFECT)
    if suggestion_ids is not None:
        rows = rows.filter(suggestion_id__in=suggestion_ids)
    rows = rows.select_related("suggestion").annotate(put_back=Exists(reverted))
    return [_line(row) for row in rows.order_by("-decided_at", "-pk")]


def effects_harmful(*, reader_id: UUID) -> list[EffectLine]:
    """The changes that made the reader's digest worse and still stand: each worth asking "put it back?"."""
    return [line for line in effects_for(reader_id=reader_id) if line.revertible]


def _line(row: Outcome) -> EffectLine:
    reverted = bool(getattr(row, "put_back", False))
    return EffectLine(
        suggestion_id=row.suggestion_id,
        outcome=row.outcome,
        headline=headline(row.suggestion_type, row.suggestion.label),
        words=EFFECTS.get(row.outcome, ""),
        details=str(row.measured.get("words", "")),
        figures=_figures(row.measured),
        teaches=teaching_of(row.outcome),
        checked_at=row.decided_at,
        revertible=row.outcome == Outcome.Result.HARMED and not reverted,
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
