"""Writes of outcomes: appending them, keeping the profiles up to date, and compaction."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Count, Exists, Max, OuterRef, Subquery

from ranking.common.isolation import READER, isolate, isolate_batches
from ranking.config_body import Body
from suggestions.changes.weights import step_share
from suggestions.models import Evidence, Outcome, OutcomeArchive, PreferenceProfile, Suggestion
from suggestions.outcomes.profile import HORIZON, SettledSuggestion, profile_compute
from suggestions.proposals import NEVER
from suggestions.reasons import reason_code, step_wished
from suggestions.sentences import reason_clean

log = structlog.get_logger(__name__)
Kind = Outcome.Kind
Progress = Callable[[int, int], None]

# Compaction archives the heavy fields of outcomes older than this, of readers with more decisions than this.
FULL_FOR = timedelta(days=30)
DECISIONS_FULL = 100
BATCH = 200
# Older profiles are recomputed, since their counts decay.
STALE_AFTER = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class OutcomeValues:
    """The end of a suggestion, or its effect. `after` is `None` unless the decision changed the config.

    `measured` has the figures of an effect check; an effect has no config of its own, so `before` is empty.
    """

    outcome: str
    before: Body
    after: Body | None = None
    user_reason: str = ""
    edited_value: str = ""
    kind: str = Outcome.Kind.DECISION
    measured: Mapping[str, Any] = field(default_factory=dict)


def outcome_record(*, suggestion: Suggestion, values: OutcomeValues, now: datetime) -> Outcome:
    """Append one outcome and update the profile, inside the caller's transaction.

    Raises `IntegrityError` if the suggestion already has an outcome of this kind.
    """
    profile_lock(reader_id=suggestion.reader_id, now=now)
    outcome = outcome_build(suggestion=suggestion, values=values, evidence=suggestion.evidence.all(), now=now)
    outcome.save(force_insert=True)
    profile_update(reader_id=suggestion.reader_id, now=now)
    return outcome


def outcome_reason_add(*, suggestion: Suggestion, user_reason: str, now: datetime) -> Outcome | None:
    """Store the reason of a no that has none, inside the caller's transaction. Update the profile.

    Returns the outcome, or `None` if there is no such no, or no reason.
    """
    if suggestion.status != Suggestion.Status.REJECTED or not (reason := reason_clean(user_reason)):
        return None
    profile_lock(reader_id=suggestion.reader_id, now=now)
    rejected = Outcome.objects.filter(suggestion=suggestion, suggestion__status=Suggestion.Status.REJECTED)
    outcome = rejected.filter(kind=Kind.DECISION, outcome=Outcome.Result.REJECTED, user_reason="").first()
    if outcome is None:
        return None
    outcome.user_reason = reason
    outcome.save(update_fields=["user_reason"])
    profile_update(reader_id=suggestion.reader_id, now=now)
    return outcome


def outcome_build(
    *, suggestion: Suggestion, values: OutcomeValues, evidence: Iterable[Evidence], now: datetime
) -> Outcome:
    """Return the unsaved outcome row, with the evidence copied into it."""
    return Outcome(
        suggestion=suggestion,
        reader_id=suggestion.reader_id,
        kind=values.kind,
        outcome=values.outcome,
        suggestion_type=suggestion.suggestion_type,
        target_key=suggestion.target_key,
        user_reason=reason_clean(values.user_reason),
        edited_value=values.edited_value,
        config_before=values.before,
        config_after=values.after,
        evidence_summary=evidence_summary(evidence=evidence),
        measured=dict(values.measured),
        created_at=suggestion.created_at,
        decided_at=now,
    )


def evidence_summary(*, evidence: Iterable[Evidence]) -> list[dict[str, Any]]:
    """Return the evidence as plain JSON; the URL is the canonical key."""
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
    """Lock the reader's profile till the transaction ends, so that no two outcomes miss each other."""
    PreferenceProfile.objects.select_for_update().get_or_create(
        reader_id=reader_id, defaults={"computed_at": now}
    )


def profile_update(*, reader_id: UUID, now: datetime) -> None:
    """Recompute the reader's profile from the decisions of the last 900 days; five queries."""
    profiles_update(reader_ids=[reader_id], now=now)


def profiles_update(*, reader_ids: Collection[UUID], now: datetime) -> None:
    """Recompute the profiles of these readers, which the caller has locked; five queries."""
    settled = _settled_by_reader(reader_ids, now)
    decisions = Outcome.objects.filter(reader_id__in=reader_ids, kind=Kind.DECISION).order_by()
    counted = decisions.values_list("reader_id").annotate(Count("pk"), Max("decided_at"))
    totals = {reader_id: (count, last) for reader_id, count, last in counted}
    snoozed = Suggestion.objects.filter(reader_id__in=reader_ids, status=Suggestion.Status.SNOOZED)
    put_off = dict(snoozed.order_by().values_list("reader_id").annotate(Count("pk")))
    rows = list(PreferenceProfile.objects.filter(reader_id__in=reader_ids))
    for row in rows:
        total, row.last_outcome_at = totals.get(row.reader_id, (0, None))
        profile = profile_compute(
            settled[row.reader_id], now=now, total=total, put_off=put_off.get(row.reader_id, 0)
        )
        row.acceptance_stats, row.patterns = profile.acceptance_stats, profile.patterns
        row.trends, row.total_outcomes, row.computed_at = profile.trends, profile.total_outcomes, now
    fields = ["acceptance_stats", "patterns", "trends", "total_outcomes", "last_outcome_at", "computed_at"]
    PreferenceProfile.objects.bulk_update(rows, fields)


def _settled_by_reader(
    reader_ids: Collection[UUID], now: datetime
) -> defaultdict[UUID, list[SettledSuggestion]]:
    """Return the decisions within the profile's horizon with their later outcomes; one query."""
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
    settled: defaultdict[UUID, list[SettledSuggestion]] = defaultdict(list)
    for reader_id, kind, outcome, at, reverted, effect, reason, edited, status, *values in rows:
        code = "" if outcome != Outcome.Result.REJECTED or reason == NEVER else reason_code(reason)
        taken_back = status == Suggestion.Status.TAKEN_BACK
        step = step_wished(kind, reason) if code else step_share(edited, *values)
        settled[reader_id].append(
            SettledSuggestion(kind, outcome, at, bool(reverted), effect or "", code, step, taken_back)
        )
    return settled


def outcomes_compact(*, now: datetime, progress: Progress | None = None) -> dict[str, Any]:
    """Compact every long history and recompute stale profiles.

    Returns `{"readers", "archived", "profiles"}`: long histories, rows archived by this run, profiles
    recomputed. A second run finds nothing left to do. `progress` gets (readers done, in all).
    """
    profiles = profiles_refresh(now=now)
    decisions = Outcome.objects.filter(kind=Kind.DECISION).order_by()
    long = decisions.values("reader_id").annotate(n=Count("pk")).filter(n__gt=DECISIONS_FULL)
    readers = list(long.order_by("reader_id").values_list("reader_id", flat=True))
    archived = 0
    for done, reader_id in enumerate(readers, start=1):
        with isolate(READER, reader_id, "outcomes_compact_failed"):
            archived += reader_compact(reader_id=reader_id, now=now)
        if progress:
            progress(done, len(readers))
    log.info("outcomes_compacted", readers=len(readers), archived=archived)
    return {"readers": len(readers), "archived": archived, "profiles": profiles}


def reader_compact(*, reader_id: UUID, now: datetime) -> int:
    """Archive the heavy fields of one reader's old outcomes and return how many."""
    archived = 0
    while count := _batch(reader_id, now):
        archived += count
    return archived


def profiles_refresh(*, now: datetime) -> int:
    """Recompute the profiles that are older than a week, in batches, and return how many."""
    stale = PreferenceProfile.objects.filter(computed_at__lte=now - STALE_AFTER, total_outcomes__gt=0)
    readers = list(stale.order_by("pk").values_list("reader_id", flat=True))

    @transaction.atomic
    def refresh(some: Sequence[UUID]) -> int:
        rows = list(stale.filter(reader_id__in=some).select_for_update().order_by("pk"))
        profiles_update(reader_ids=[row.reader_id for row in rows], now=now)
        return len(rows)

    return sum(isolate_batches(readers, refresh, event="profile_refresh_failed", size=BATCH))


def _batch(reader_id: UUID, now: datetime) -> int:
    """Archive the next 200 outcomes, oldest first, and return how many; five queries.

    Effects are skipped: they have no heavy fields.
    """
    archived = OutcomeArchive.objects.filter(outcome_id=OuterRef("pk"))
    old = Outcome.objects.filter(reader_id=reader_id, decided_at__lt=now - FULL_FOR)
    due = old.filter(~Exists(archived)).exclude(kind=Kind.EFFECT).order_by("decided_at", "pk")
    with transaction.atomic():
        profile_lock(reader_id=reader_id, now=now)
        rows = list(due[:BATCH])
        if not rows:
            return 0
        OutcomeArchive.objects.bulk_create(
            OutcomeArchive(
                outcome=row,
                config_before=row.config_before,
                config_after=row.config_after,
                evidence_summary=row.evidence_summary,
                archived_at=now,
            )
            for row in rows
        )
        compacted = Outcome.objects.filter(pk__in=[row.pk for row in rows])
        compacted.update(config_before={}, config_after=None, evidence_summary=[])
        PreferenceProfile.objects.filter(reader_id=reader_id).update(compacted_through=rows[-1].decided_at)
    return len(rows)
