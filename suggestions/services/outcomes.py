"""The one place where an outcome is written, and the profile that follows from it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count

from ranking.body import Body
from suggestions.models import Evidence, Outcome, PreferenceProfile, Suggestion
from suggestions.profile import Settled, profile_compute
from suggestions.wording import reason_clean

RECENT_MAX = 60


@dataclass(frozen=True, slots=True)
class Ending:
    """How a suggestion ended. `after` is `None` unless the decision reached the config."""

    outcome: str
    before: Body
    after: Body | None = None
    user_reason: str = ""
    edited_value: str = ""
    kind: str = Outcome.Kind.DECISION


def outcome_record(*, suggestion: Suggestion, ending: Ending, now: datetime) -> Outcome:
    """Append one outcome and bring the profile up to date, inside the caller's transaction.

    Raises `IntegrityError` if the suggestion already has an outcome of this kind.
    """
    profile_lock(reader_id=suggestion.reader_id, now=now)
    outcome = outcome_of(suggestion, ending, suggestion.evidence.all(), now)
    outcome.save(force_insert=True)
    profile_update(reader_id=suggestion.reader_id, now=now)
    return outcome


def outcome_of(
    suggestion: Suggestion, ending: Ending, evidence: Iterable[Evidence], now: datetime
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
        evidence_summary=evidence_summary(evidence),
        created_at=suggestion.created_at,
        decided_at=now,
    )


def evidence_summary(evidence: Iterable[Evidence]) -> list[dict[str, Any]]:
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
    """Recompute the reader's profile: counts in SQL, trends from the newest 60 outcomes; three queries."""
    decisions = Outcome.objects.filter(reader_id=reader_id, kind=Outcome.Kind.DECISION)
    counted = decisions.values_list("suggestion_type", "outcome").order_by().annotate(Count("pk"))
    recent: Sequence[Settled] = [
        Settled(*row)
        for row in decisions.values_list("suggestion_type", "outcome", "decided_at")[:RECENT_MAX]
    ]
    profile = profile_compute({(kind, result): n for kind, result, n in counted}, recent, now=now)
    PreferenceProfile.objects.filter(reader_id=reader_id).update(
        acceptance_stats=profile.acceptance_stats,
        patterns=profile.patterns,
        trends=profile.trends,
        total_outcomes=profile.total_outcomes,
        last_outcome_at=recent[0].decided_at if recent else None,
        computed_at=now,
    )
