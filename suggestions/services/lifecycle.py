"""Store suggestions of the advisor, and settle those that got no answer.

Proposing is the advisor's only write: a draft becomes a pending suggestion, waits for an operator, or is
refused. The sweep expires, wakes and supersedes. Neither applies anything.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from digest.models import Reader, Source
from ranking.common.isolation import READER, isolate, isolate_batches
from ranking.common.text import fold
from ranking.config_body import effective_body
from ranking.entities import EffectiveConfig
from ranking.selectors import config_changed_since, config_effective, config_effective_many
from suggestions.changes.change import Change
from suggestions.changes.proposal import DRAFT, IMPROVE, REFUSE, Proposal, Review
from suggestions.changes.registry import KINDS_OF_SOURCES, keys_named
from suggestions.models import Evidence, Outcome, Suggestion
from suggestions.notes import note_grounds, note_named, note_refusal
from suggestions.outcomes.services import OutcomeValues, outcome_build, profile_lock, profile_update
from suggestions.planner.evidence import WeighedChange, change_weigh
from suggestions.planner.forecasts import forecast_body
from suggestions.planner.hypotheses import confidence_of
from suggestions.proposals import (
    EXPIRE_DAYS,
    Draft,
    Facts,
    Fence,
    Proposed,
    Refusal,
    WeekEffect,
)
from suggestions.rules import (
    change_permission,
    check,
    names_refusal,
    repeat_refusal,
    target_pinned,
    visibility_refusal,
)
from suggestions.selectors import (
    WAITING,
    facts_for,
    question_of_answer,
    suggestions_waiting,
    targets_at_rest,
)
from suggestions.sentences import REASON_MAX_CHARS, impact_sentence, reason_clean, written_sentence
from suggestions.waiting import suggestions_wait_until
from suggestions.week import week_for

log = structlog.get_logger(__name__)
EVIDENCE_URLS_MAX = 50
SWEEP_FAILED = "suggestions_sweep_failed"
REVIEW_IMPROVE, REVIEW_REFUSED = "review_improve", "review_refused"
Status = Suggestion.Status
_HAND_CAUSES = ("edit", "revert")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A draft that passed every rule: the unsaved suggestion, and the facts it is judged and stored with."""

    row: Suggestion
    weighed: WeighedChange
    facts: Facts

    @property
    def proposal(self) -> Proposal:
        """Return the candidate as reviewers see it."""
        row, weighed = self.row, self.weighed
        return Proposal(
            reader_id=row.reader_id,
            run_id=row.run_id,
            change=weighed.change,
            label=row.label,
            reason=row.reason,
            expected_impact=row.expected_impact,
            confidence=row.confidence,
            p_helpful=row.p_helpful,
            forecast=row.forecast,
            likes=weighed.likes,
            ratings=weighed.ratings,
            now=row.created_at,
            likes_all=sum(item.useful for item in weighed.evidence.rated),
            ratings_all=len(weighed.evidence.rated),
            model_note=row.model_note,
        )


def suggestion_candidate(
    *, reader_id: UUID, run_id: UUID, draft: Draft, now: datetime, known: Facts | None = None
) -> Candidate | Refusal:
    """Check `draft` by every rule; return it with evidence and forecast, or the refusal. Stores nothing.

    `known`: facts of the reader and the run that were read a moment ago.
    """
    urls = list(dict.fromkeys(url for url in draft.evidence_urls if isinstance(url, str)))[:EVIDENCE_URLS_MAX]
    facts = facts_for(reader_id=reader_id, now=now, run_id=run_id, drafts=[draft], urls=urls, known=known)
    permitted = check(draft, facts)
    if isinstance(permitted, Refusal):
        return _log_refusal(reader_id, draft, permitted)
    weighed = change_weigh(reader_id=reader_id, change=permitted, effective=facts.effective, now=now)
    change = weighed.change
    week = week_for(reader_id=reader_id, before=facts.effective, changes=[change], now=now)
    (effect,) = week.effects([change])
    refusal = (
        names_refusal(permitted, weighed.evidence.rated, effect)
        or weighed.refusal(permitted)
        or visibility_refusal(permitted, effect)
        or repeat_refusal(permitted, facts, weighed.evidence.rated)
    )
    if refusal:
        return _log_refusal(reader_id, draft, refusal)
    row = _row(reader_id, run_id, weighed, facts, effect, now)
    if draft.question is not None:
        row.question = question_of_answer(reader_id=reader_id, question_id=draft.question, now=now)
        if row.question is None:
            refusal = change.refusal("question_unknown", "The reader has not answered that question.")
            return _log_refusal(reader_id, draft, refusal)
    if refusal := _note_refused(row, draft, weighed):
        return _log_refusal(reader_id, draft, refusal)
    return Candidate(row, weighed, facts)


def suggestion_store(
    *, candidate: Candidate, review: Review | None, now: datetime, fence: Fence
) -> Proposed | Refusal:
    """Store a candidate according to its `review`; without one it passes.

    `fence` is called inside the transaction of the write. An error of it undoes the write and goes on to the
    caller. A refusal, or a request to improve (`review_improve`), stores nothing.
    """
    row, change = candidate.row, candidate.weighed.change
    stored: Proposed | Refusal | None = _review_apply(row, candidate.weighed, review) if review else None
    stored = stored or _store(candidate, now=now, fence=fence)
    about = {"user_id": str(row.reader_id), "type": row.suggestion_type}
    if isinstance(stored, Refusal):
        cited = len(change.evidence)
        log.info("suggestion_rejected_validation", **about, error=stored.code, evidence_count=cited)
    else:
        log.info("suggestion_written", **about, suggestion_id=row.pk, status=row.status)
    return stored


def _review_apply(row: Suggestion, weighed: WeighedChange, review: Review) -> Refusal | None:
    """Apply the reviewers' verdict to the unsaved `row`, or return why it may not be stored."""
    if review.verdict in (IMPROVE, REFUSE):
        code = REVIEW_IMPROVE if review.verdict == IMPROVE else review.code or REVIEW_REFUSED
        return Refusal(code, review.message, row.target_key)
    row.status = Suggestion.Status.DRAFT if review.verdict == DRAFT else Suggestion.Status.PENDING
    row.validation_notes = [*row.validation_notes, *review.notes]
    if review.p_helpful is not None:
        row.p_helpful = review.p_helpful
        row.forecast = {**row.forecast, "p_helpful": round(review.p_helpful, 3)}
        row.confidence = confidence_of(review.p_helpful, weighed.forecast.low, weighed.forecast.high)
    return None


def _note_refused(row: Suggestion, draft: Draft, weighed: WeighedChange) -> Refusal | None:
    """Put the agent's own words into the unsaved `row`, or return the refusal if a reader may not see them.

    The words are checked before cleaning, because cleaning could hide a fault.
    """
    titles, change = weighed.evidence.titles, weighed.change
    note = note_named(draft.reason, titles)
    cited = [(item.title, item.source, item.tags) for item in change.evidence]
    grounds = note_grounds(label=row.label, evidence=cited, titles=titles)
    stored = "" if fold(note) == fold(row.reason) else reason_clean(note)
    if len(note) > REASON_MAX_CHARS:
        # Cut at a word's end, because a piece of a word would be unknown.
        stored = f"{stored.rpartition(' ')[0]}…"
    for text in (note, stored):
        if refusal := note_refusal(text, grounds, row.target_key, liked=change.kind.liked):
            return refusal
    row.model_note = stored
    return None


def _log_refusal(reader_id: UUID, draft: Draft, refusal: Refusal) -> Refusal:
    log.info(
        "suggestion_rejected_validation",
        user_id=str(reader_id),
        type=str(draft.suggestion_type)[:20],
        error=refusal.code,
        evidence_count=len(draft.evidence_urls),
    )
    return refusal


def _row(
    reader_id: UUID,
    run_id: UUID,
    weighed: WeighedChange,
    facts: Facts,
    effect: WeekEffect,
    now: datetime,
) -> Suggestion:
    """Return the unsaved suggestion in the server's own numbers and words, without the agent's note."""
    change, label = weighed.change, weighed.label
    is_author = weighed.is_author
    step = 0.0 if change.weight is None else change.weight - facts.effective.weight(change.target)
    return Suggestion(
        reader_id=reader_id,
        run_id=run_id,
        suggestion_type=change.suggestion_type,
        field=str(change.field),
        target_key=change.target,
        label=label,
        current_value=change.current_value,
        suggested_value=change.suggested_value,
        other_names=list(change.names) if change.kind.is_named else [],
        reason=written_sentence(change.words)
        or change.kind.reason(label, weighed.counts, is_author=is_author),
        confidence=weighed.confidence,
        p_helpful=weighed.p_helpful,
        forecast=forecast_body(
            weighed.p_helpful,
            weighed.forecast,
            effect,
            others=weighed.others,
            by_words=bool(change.words),
        ),
        expected_impact=impact_sentence(change.suggestion_type, label, step, is_author=is_author),
        config_version=facts.effective.config.version,
        validation_notes=list(change.notes),
        created_at=now,
    )


def _store(candidate: Candidate, *, now: datetime, fence: Fence) -> Proposed | Refusal:
    """Commit the suggestion and its evidence, unless another write came first since the facts were read."""
    row, change = candidate.row, candidate.weighed.change
    try:
        with transaction.atomic():
            # One write at a time per reader: the fresh facts cannot change before the commit.
            Reader.objects.select_for_update(no_key=True).get(pk=row.reader_id)
            fence()
            if refusal := _permission_now(candidate, now):
                return refusal
            row.save(force_insert=True)
            Evidence.objects.bulk_create(_evidence_rows(row, change))
    except IntegrityError:
        # Only a waiting duplicate answers the draft; any other error goes on to the caller.
        if (row.field, row.target_key) not in suggestions_waiting(reader_id=row.reader_id):
            raise
        return Refusal(
            "duplicate_pending", f"A suggestion about “{row.label}” already waits.", row.target_key
        )
    return Proposed(row.pk, row.status, change.notes, row.target_key)


def _permission_now(candidate: Candidate, now: datetime) -> Refusal | None:
    row = candidate.row
    resting = targets_at_rest(reader_id=row.reader_id, now=now, run_id=row.run_id)
    facts = replace(candidate.facts, **resting._asdict())
    refused = change_permission(row.change, facts)
    return refused or repeat_refusal(row.change, facts, candidate.weighed.evidence.rated)


def _evidence_rows(row: Suggestion, change: Change) -> list[Evidence]:
    return [
        Evidence(
            suggestion=row,
            item_id=item.item_id,
            url=item.url,
            title=item.title,
            source_key=item.source,
            useful=item.useful,
            reason_tags=list(item.tags),
            rated_at=item.at,
        )
        for item in change.evidence
    ]


def suggestions_sweep(*, now: datetime, reader_id: UUID | None = None) -> dict[str, int]:
    """Settle suggestions that need no answer, of one reader or all; return the counts. Safe at any time.

    One query if none waits.

    1. superseded: the reader changed the same target by hand (or went back to a version) or pinned it since
       then, or an operator merged or renamed its source
    2. woken: snoozed, and the 7 days are over
    3. expired: unanswered for 14 days of its reader's presence (`suggestions.waiting`)
    """
    rows = Suggestion.objects.filter(status__in=WAITING)
    if reader_id is not None:
        rows = rows.filter(reader_id=reader_id)
    waiting = list(rows.only("reader_id", "field", "target_key", "config_version"))
    if not waiting:
        return {"superseded": 0, "woken": 0, "expired": 0}
    source_gone = ~Q(Exists(Source.objects.filter(pk=OuterRef("target_key"))))
    settled = Q(pk__in=_ids_changed_by_hand(waiting)) | Q(source_gone, suggestion_type__in=KINDS_OF_SOURCES)
    superseded = _settle(rows.filter(settled), Status.SUPERSEDED, now)
    woken = _wake(rows, now)
    limit = now - timedelta(days=EXPIRE_DAYS)
    unanswered = Q(snoozed_until=None) | Q(snoozed_until__lte=limit)
    ends = suggestions_wait_until(
        rows=rows.filter(unanswered, status=Status.PENDING, created_at__lte=limit), now=now
    )
    old = rows.filter(pk__in=[pk for pk, end in ends.items() if end <= now], status=Status.PENDING)
    return {"superseded": superseded, "woken": woken, "expired": _settle(old, Status.EXPIRED, now)}


def _wake(rows: QuerySet[Suggestion], now: datetime) -> int:
    """Bring back snoozed suggestions, unless a newer one about the same target is pending."""
    twin = Suggestion.objects.filter(
        reader_id=OuterRef("reader_id"),
        field=OuterRef("field"),
        target_key=OuterRef("target_key"),
        status=Status.PENDING,
    )
    due = rows.filter(status=Status.SNOOZED, snoozed_until__lte=now)
    return due.filter(~Exists(twin)).update(status=Status.PENDING)


def _ids_changed_by_hand(rows: Iterable[Suggestion]) -> list[int]:
    """Return the ids of suggestions whose target the reader later changed by hand, or pinned."""
    waiting: defaultdict[UUID, list[Suggestion]] = defaultdict(list)
    for row in rows:
        waiting[row.reader_id].append(row)
    found: list[int] = []
    ids = list(waiting)
    for some in isolate_batches(ids, lambda keys: config_effective_many(reader_ids=keys), event=SWEEP_FAILED):
        for reader_id, current in some.items():
            with isolate(READER, reader_id, SWEEP_FAILED):
                found += _ids_changed(waiting[reader_id], current)
    return found


def _ids_changed(rows: Sequence[Suggestion], current: EffectiveConfig) -> list[int]:
    """Return the ids of one reader's suggestions if the reader later changed, or pinned, their target."""
    stale = [row for row in rows if row.config_version < current.config.version]
    # One query per version: suggestions of a run share it, so these are few.
    touched = {version: _targets(rows[0].reader_id, version) for version in {r.config_version for r in stale}}
    return [
        row.pk
        for row in stale
        if (row.field, row.target_key) in touched[row.config_version]
        or target_pinned((row.field, row.target_key), current)
    ]


def _targets(reader_id: UUID, version: int) -> set[tuple[str, str]]:
    changed = config_changed_since(reader_id=reader_id, version=version, causes=_HAND_CAUSES)
    return {(field, key) for field, target in changed for key in keys_named(field, target)}


def _settle(rows: QuerySet[Suggestion], status: str, now: datetime) -> int:
    """Close these suggestions with an outcome each, in one transaction per reader."""
    settled = 0
    for reader in list(rows.order_by().values_list("reader_id", flat=True).distinct()):
        with isolate(READER, reader, SWEEP_FAILED):
            settled += _settle_reader(rows.filter(reader_id=reader), reader, status, now)
    return settled


def _settle_reader(rows: QuerySet[Suggestion], reader_id: UUID, status: str, now: datetime) -> int:
    with transaction.atomic():
        claimed: Sequence[Suggestion] = list(
            rows.select_for_update(of=("self",)).order_by("pk").prefetch_related("evidence")
        )
        if not claimed:
            return 0
        Suggestion.objects.filter(pk__in=[row.pk for row in claimed], status__in=WAITING).update(
            status=status, resolved_at=now
        )
        profile_lock(reader_id=reader_id, now=now)
        values = OutcomeValues(outcome=status, before=effective_body(config_effective(reader_id=reader_id)))
        Outcome.objects.bulk_create(
            outcome_build(suggestion=row, values=values, evidence=row.evidence.all(), now=now)
            for row in claimed
        )
        profile_update(reader_id=reader_id, now=now)
    return len(claimed)
