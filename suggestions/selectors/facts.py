"""What the rules need to know about a reader, read in a fixed number of queries."""

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Max, Q

from digest.selectors import feedback_by_urls, feedback_source_counts, reader_sources
from ranking.selectors import config_effective
from suggestions.entities import FIELD_OF_TYPE
from suggestions.hypotheses import Experience, acceptance_of
from suggestions.models import Outcome, Suggestion
from suggestions.rules import Facts, Target, types_declined

DECIDED = (Suggestion.Status.ACCEPTED, Suggestion.Status.REJECTED)
WAITING = (Suggestion.Status.PENDING, Suggestion.Status.SNOOZED)


def facts_for(
    *,
    reader_id: UUID,
    now: datetime,
    run_id: UUID | None = None,
    urls: Collection[str] = (),
    but: int | None = None,
) -> Facts:
    """The facts about the reader, this run's suggestions so far and the reader's thumbs on `urls`.

    As if the suggestion with the id `but` were not there.
    """
    return Facts(
        effective=config_effective(reader_id=reader_id),
        sources=frozenset(reader_sources(reader_id=reader_id))
        | frozenset(feedback_source_counts(reader_id=reader_id)),
        rated=feedback_by_urls(reader_id=reader_id, urls=urls) if urls else {},
        waiting=suggestions_waiting(reader_id=reader_id, but=but),
        cooling=targets_cooling(reader_id=reader_id, now=now, but=but),
        written=fields_written(reader_id=reader_id, run_id=run_id) if run_id else (),
        declined=types_declined(answers_by_type(reader_id=reader_id)),
    )


def suggestions_waiting(*, reader_id: UUID, but: int | None = None) -> frozenset[Target]:
    """The targets of the reader's pending and put-aside suggestions, `but` one of them."""
    others = Q() if but is None else ~Q(pk=but)
    rows = Suggestion.objects.filter(others, reader_id=reader_id, status__in=WAITING)
    return frozenset(rows.values_list("field", "target_key"))


def targets_cooling(*, reader_id: UUID, now: datetime, but: int | None = None) -> dict[Target, datetime]:
    """When each target that was lately suggested, decided or put back may be suggested again; with drafts.

    The suggestion with the id `but` counts for nothing.
    """
    rest = timedelta(days=settings.COOLDOWN_DAYS)
    since = now - rest
    reverted = Q(outcomes__kind=Outcome.Kind.REVERT, outcomes__decided_at__gt=since)
    lately = Q(created_at__gt=since) | Q(resolved_at__gt=since) | reverted
    others = Q() if but is None else ~Q(pk=but)
    rows = Suggestion.objects.filter(lately, others, reader_id=reader_id).values_list(
        "field", "target_key", "created_at", "resolved_at", "outcomes__decided_at"
    )
    cooling: dict[Target, datetime] = {}
    for field, key, *moments in rows:
        until = max(moment for moment in moments if moment is not None) + rest
        cooling[field, key] = max(until, cooling.get((field, key), until))
    return cooling


def targets_decided(*, reader_id: UUID) -> dict[Target, datetime]:
    """When the reader last accepted or rejected a suggestion about each target; one query."""
    rows = Suggestion.objects.filter(reader_id=reader_id, status__in=DECIDED).order_by()
    latest = rows.values_list("field", "target_key").annotate(Max("resolved_at"))
    return {(field, key): at for field, key, at in latest if at is not None}


def answers_by_type(*, reader_id: UUID) -> dict[str, tuple[int, int]]:
    """How many suggestions of each type the reader accepted and rejected; one query."""
    rows = Suggestion.objects.filter(reader_id=reader_id, status__in=DECIDED).order_by()
    accepted = Count("pk", filter=Q(status=Suggestion.Status.ACCEPTED))
    counted = rows.values_list("suggestion_type").annotate(yes=accepted, total=Count("pk"))
    return {kind: (yes, total - yes) for kind, yes, total in counted}


def experience_for(*, reader_id: UUID) -> Experience:
    """What the reader made of earlier suggestions: decisions, acceptance by type, harmful effects."""
    harmful = Outcome.objects.filter(
        reader_id=reader_id, kind=Outcome.Kind.EFFECT, outcome=Outcome.Result.HARMED
    ).values_list("suggestion_type", "target_key")
    return Experience(
        decided=targets_decided(reader_id=reader_id),
        acceptance=acceptance_of(answers_by_type(reader_id=reader_id)),
        harmed=frozenset((kind, (FIELD_OF_TYPE[kind], key)) for kind, key in harmful),
    )


def fields_written(*, reader_id: UUID, run_id: UUID) -> tuple[str, ...]:
    """The field of each suggestion this run has written, drafts included."""
    rows = Suggestion.objects.filter(reader_id=reader_id, run_id=run_id)
    return tuple(rows.values_list("field", flat=True))
