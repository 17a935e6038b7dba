"""Taking an answer back: a person's door beside `resolve`, and as closed to the agent.

An accepted change is put back; one put off comes back at once; one turned down comes back as a copy, since
its rejection stays in the audit, marked as taken back, and "never" is lifted. Codes: `not_found`,
`already_resolved`, `too_late`.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import transaction

from ranking.body import body_of
from ranking.selectors import config_effective
from ranking.services import target_pin
from suggestions.entities import EXPIRE_DAYS, Refusal, Resolved
from suggestions.models import Evidence, Outcome, Suggestion
from suggestions.rules import target_pinned
from suggestions.selectors import suggestion_for
from suggestions.selectors.facts import suggestions_waiting
from suggestions.services.lifecycle import suggestions_sweep
from suggestions.services.outcomes import Ending, outcome_record
from suggestions.services.resolve import suggestion_revert

log = structlog.get_logger(__name__)
Status = Suggestion.Status
BROUGHT_BACK = "You turned this down and took that back."


def suggestion_undo(*, reader_id: UUID, suggestion_id: int, now: datetime) -> Resolved | Refusal:
    """Take back the reader's last answer to a suggestion.

    The id in the result is the one that waits again, or that was put back. A rejection can be taken back
    while the suggestion would still wait, 14 days from when it was made, and only once.
    """
    suggestions_sweep(now=now, reader_id=reader_id)
    suggestion = suggestion_for(reader_id=reader_id, suggestion_id=suggestion_id)
    if suggestion is None:
        return Refusal("not_found", "There is no such suggestion.")
    if suggestion.status == Status.ACCEPTED:
        return suggestion_revert(reader_id=reader_id, suggestion_id=suggestion_id, now=now)
    with transaction.atomic():
        # The lock lets a second undo wait here and then see what the first one did.
        locked = Suggestion.objects.select_for_update(of=("self",)).get(pk=suggestion_id)
        answer = _wake(locked) if locked.status == Status.SNOOZED else _bring_back(locked, now)
    if isinstance(answer, Resolved):
        log.info("suggestion_undone", user_id=str(reader_id), suggestion_id=suggestion_id)
        return answer
    return replace(answer, data={"suggestion_id": suggestion_id})


def _wake(suggestion: Suggestion) -> Resolved | Refusal:
    if refusal := _twin(suggestion):
        return refusal
    Suggestion.objects.filter(pk=suggestion.pk, status=Status.SNOOZED).update(
        status=Status.PENDING, snoozed_until=None
    )
    version = config_effective(reader_id=suggestion.reader_id).config.version
    return Resolved(suggestion.pk, Status.PENDING, None, False, version)


def _bring_back(suggestion: Suggestion, now: datetime) -> Resolved | Refusal:
    """A copy of a rejected suggestion that waits, and the rejection marked as taken back."""
    taken_back = suggestion.outcomes.filter(kind=Outcome.Kind.REVERT).exists()
    if suggestion.status != Status.REJECTED or taken_back:
        return Refusal("already_resolved", f"There is no answer about {suggestion.label} to take back.")
    if now - suggestion.created_at >= timedelta(days=EXPIRE_DAYS):
        return Refusal("too_late", f"The suggestion about {suggestion.label} is too old to come back.")
    if refusal := _twin(suggestion):
        return refusal
    before = config_effective(reader_id=suggestion.reader_id)
    ending = Ending(Outcome.Result.REVERTED, body_of(before.config, before.deltas), kind=Outcome.Kind.REVERT)
    outcome = outcome_record(suggestion=suggestion, ending=ending, now=now)
    version = _pin_lifted(suggestion, now)
    copy = _copied(suggestion, version)
    return Resolved(copy.pk, copy.status, outcome.pk, version != before.config.version, version)


def _twin(suggestion: Suggestion) -> Refusal | None:
    """Why it cannot wait again: a newer one about the same target does."""
    others = suggestions_waiting(reader_id=suggestion.reader_id, but=suggestion.pk)
    if (suggestion.field, suggestion.target_key) not in others:
        return None
    return Refusal("already_resolved", f"A newer suggestion about {suggestion.label} waits already.")


def _pin_lifted(suggestion: Suggestion, now: datetime) -> int:
    """The config's version once "never" is taken off the target, if it was on it."""
    effective = config_effective(reader_id=suggestion.reader_id)
    if not target_pinned((suggestion.field, suggestion.target_key), effective):
        return effective.config.version
    return target_pin(
        reader_id=suggestion.reader_id,
        target=suggestion.target_key,
        pin="",
        ref=f"undo:{suggestion.pk}",
        now=now,
    )


def _copied(suggestion: Suggestion, version: int) -> Suggestion:
    """The same proposal as a new row, with the same evidence and date."""
    evidence = list(suggestion.evidence.all())
    notes = [*suggestion.validation_notes, BROUGHT_BACK]
    copy = Suggestion.objects.get(pk=suggestion.pk)
    copy.pk, copy._state.adding = None, True
    copy.status, copy.resolved_at, copy.snoozed_until = Status.PENDING, None, None
    copy.validation_notes, copy.config_version = notes, version
    copy.save(force_insert=True)
    for row in evidence:
        row.pk, row._state.adding, row.suggestion = None, True, copy
    Evidence.objects.bulk_create(evidence)
    return copy
