"""What a reader said yes and no to, in short: counts by type, the newest of each with its reason."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count

from suggestions.models import Outcome, Suggestion

TARGET_CHARS, REASON_CHARS = 64, 120
AFTERWARDS = (Outcome.Kind.EFFECT, Outcome.Kind.REVERT)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """`by_type` counts every result of each type over all time; the lists hold the newest first."""

    by_type: dict[str, dict[str, int]]
    accepted: list[dict[str, Any]]
    rejected: list[dict[str, Any]]


def acceptance_history(*, reader_id: UUID, limit: int, now: datetime) -> Acceptance:
    """The reader's decisions with the newest `limit` of either kind; four queries however many there are.

    An answer that was taken back is no decision.

    A row holds `type`, `target`, `value`, `days_ago`, the reader's `reason` if one was given, and what came
    of an accepted one: `later` (helped, harmed, unclear, reverted).
    """
    rows = Outcome.objects.filter(reader_id=reader_id).exclude(
        suggestion__status=Suggestion.Status.TAKEN_BACK
    )
    counted: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for kind, outcome, count in (
        rows.order_by("suggestion_type", "outcome")
        .values_list("suggestion_type", "outcome")
        .annotate(Count("pk"))
    ):
        counted[kind][outcome] = count
    accepted, rejected = (
        list(rows.filter(kind=Outcome.Kind.DECISION, outcome=result).select_related("suggestion")[:limit])
        for result in (Outcome.Result.ACCEPTED, Outcome.Result.REJECTED)
    )
    later = _afterwards(reader_id, accepted)
    return Acceptance(
        dict(counted),
        [_row(row, now) | _later(later, row) for row in accepted],
        [_row(row, now) for row in rejected],
    )


def _afterwards(reader_id: UUID, accepted: Sequence[Outcome]) -> dict[int, str]:
    """What came of each accepted suggestion, by its id; a revert outweighs a measured effect."""
    wanted = [row.suggestion_id for row in accepted]
    rows = Outcome.objects.filter(reader_id=reader_id, suggestion_id__in=wanted, kind__in=AFTERWARDS)
    # "revert" sorts after "effect", so that it is what stays.
    return dict(rows.order_by("kind").values_list("suggestion_id", "outcome"))


def _later(later: dict[int, str], row: Outcome) -> dict[str, str]:
    return {"later": later[row.suggestion_id]} if row.suggestion_id in later else {}


def _row(row: Outcome, now: datetime) -> dict[str, Any]:
    said = {"reason": row.user_reason[:REASON_CHARS]} if row.user_reason else {}
    return {
        "type": row.suggestion_type,
        "target": row.target_key[:TARGET_CHARS],
        "value": row.edited_value or row.suggestion.suggested_value,
        "days_ago": max(0, (now - row.decided_at).days),
        **said,
    }
