"""The one place where an outcome is written, and the profile that follows from it."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, Max, OuterRef, Subquery

from ranking.body import Body
from suggestions.models import Evidence, Outcome, PreferenceProfile, Suggestion
from suggestions.profile import HORIZON, Profile, Settled, profile_compute
from suggestions.reasons import reason_code
from suggestions.values import step_share
from suggestions.wording import reason_clean

NEVER = "never"
Kind = Outcome.Kind


@dataclass(frozen=True, slots=True)
class Ending:
    """How a suggestion ended. `after` is `None` unless the decision reached the config.

    `measured` holds what an effect check found; an effect has no config of its own, so `before` is empty.
    """

    outcome: str
    before: Body
    after: Body | None = None
    user_reason: str = ""
    edited_value: str = ""
    kind: str = Outcome.Kind.DECISION
    measured: Mapping[str, Any] = field(default_factory=dict)


def outcome_record(*, suggestion: Suggestion, ending: Ending, now: datetime) -> Outcome:
    """Append one outcome and bring the profile up to date, inside the caller's transaction.

    Raises `IntegrityError` if the suggestion already has an outcome of this kind.
    """
    profile_lock(reader_id=suggestion.reader_id, now=now)
    outcome = outcome_draft(suggestion=suggestion, ending=ending, evidence=suggestion.evidence.all(), now=now)
    outcome.save(force_insert=True)
    profile_update(reader_id=suggestion.reader_id, now=now)
    return outcome


def outcome_draft(
    *, suggestion: Suggestion, ending: Ending, evidence: Iterable[Evidence], now: datetime
) -> Outcome:
    """The unsaved outcome row, with the evidence copied into it."""
    return Outcome(
        suggestion=suggestion,
        reader_id=suggestion.reader_id,
        kind=ending.kind,
        outcome=ending.outcome,
        suggestion_type=suggestion.suggestion_type,
        target_key=suggestion.target_key,
        user_reason=reason_clean(ending.user_reason),
        edited_value=ending.edited_value,
        config_before=ending.before,
        config_after=ending.after,
        evidence_summary=evidence_summary(evidence=evidence),
        measured=dict(ending.measured),
        created_at=suggestion.created_at,
        decided_at=now,
    )


def evidence_summary(*, evidence: Iterable[Evidence]) -> list[dict[str, Any]]:
    """The evidence as plain JSON; the URL is the canonical key."""
    return [
        {
            "url": row.url,
            "title": row.title,
            "source": row.source_key,
            "feedback": "liked" if row.useful else "disliked",
            "reason_tags": row.reason_tags,
            "item_id": row.item_id,
        }
        for row in evidence
    ]


def profile_lock(*, reader_id: UUID, now: datetime) -> None:
    """Hold the reader's profile till the transaction ends, so that no two outcomes miss each other."""
    PreferenceProfile.objects.select_for_update().get_or_create(
        reader_id=reader_id, defaults={"computed_at": now}
    )


def profile_update(*, reader_id: UUID, now: datetime) -> None:
    """Recompute the reader's profile from the decisions of the last 900 days; five queries."""
    profiles_update(reader_ids=[reader_id], now=now)


def profiles_update(*, reader_ids: Collection[UUID], now: datetime) -> None:
    """Recompute the profiles of these readers, which the caller holds; five queries for any number."""
    settled = _settled(reader_ids, now)
    totals = _totals(reader_ids)
    waiting = Suggestion.objects.filter(reader_id__in=reader_ids, status=Suggestion.Status.SNOOZED)
    put_off = dict(waiting.order_by().values_list("reader_id").annotate(Count("pk")))
    rows = list(PreferenceProfile.objects.filter(reader_id__in=reader_ids))
    for row in rows:
        total, row.last_outcome_at = totals.get(row.reader_id, (0, None))
        profile = profile_compute(
            settled[row.reader_id], now=now, total=total, put_off=put_off.get(row.reader_id, 0)
        )
        _take(row, profile, now)
    fields = ["acceptance_stats", "patterns", "trends", "total_outcomes", "last_outcome_at", "computed_at"]
    PreferenceProfile.objects.bulk_update(rows, fields)


def _take(row: PreferenceProfile, profile: Profile, now: datetime) -> None:
    row.acceptance_stats, row.patterns = profile.acceptance_stats, profile.patterns
    row.trends, row.total_outcomes, row.computed_at = profile.trends, profile.total_outcomes, now


def _totals(reader_ids: Collection[UUID]) -> dict[UUID, tuple[int, datetime | None]]:
    """How many suggestions of each reader ever came to an end, and when the last one did."""
    rows = Outcome.objects.filter(reader_id__in=reader_ids, kind=Kind.DECISION).order_by()
    counted = rows.values_list("reader_id").annotate(Count("pk"), Max("decided_at"))
    return {reader_id: (count, last) for reader_id, count, last in counted}


def _settled(reader_ids: Collection[UUID], now: datetime) -> defaultdict[UUID, list[Settled]]:
    """The decisions of these readers within the profile's horizon, with what followed each; one query."""
    others = Outcome.objects.filter(suggestion=OuterRef("suggestion"))
    rows = (
        Outcome.objects.filter(
            reader_id__in=reader_ids, kind=Kind.DECISION, decided_at__gt=now - HORIZON
        )
        .annotate(
            effect=Subquery(others.filter(kind=Kind.EFFECT).values("outcome")[:1]),
            reverted=Exists(others.filter(kind=Kind.REVERT)),
        )
        .values_list(
            "reader_id", "suggestion_type", "outcome", "decided_at", "reverted", "effect", "user_reason",
            "edited_value", "suggestion__status", "suggestion__current_value", "suggestion__suggested_value",
        )
    )  # fmt: skip
    settled: defaultdict[UUID, list[Settled]] = defaultdict(list)
    for reader_id, kind, outcome, at, reverted, effect, reason, edited, status, *values in rows:
        code = "" if outcome != Outcome.Result.REJECTED or reason == NEVER else reason_code(reason)
        struck, step = status == Suggestion.Status.TAKEN_BACK, step_share(edited, *values)
        settled[reader_id].append(
            Settled(kind, outcome, at, bool(reverted), effect or "", code, step, struck)
        )
    return settled
