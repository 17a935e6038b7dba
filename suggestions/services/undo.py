"""Taking an answer back: a person's door beside `resolve`, and as closed to the agent.

One put off comes back at once. One turned down, or accepted in the last ten minutes, comes back as a copy:
the answer stays in the audit, and is forgotten everywhere else. What it did to the settings is put back, and
"never" is lifted. A change that was accepted earlier is reverted, which counts as a no. Codes: `not_found`,
`already_resolved`, `too_late`, and whatever `ranking.services` refuses.
"""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

import structlog
from django.db import transaction

from ranking.body import body_of
from ranking.entities import EffectiveConfig
from ranking.errors import RankingError
from ranking.selectors import config_effective
from ranking.services import target_pin
from suggestions.entities import Refusal, Resolved
from suggestions.models import Evidence, Outcome, Suggestion
from suggestions.presenters import BROUGHT_BACK
from suggestions.rules import target_pinned
from suggestions.selectors import suggestion_for
from suggestions.selectors.decided import suggestion_forgotten, suggestion_still_open
from suggestions.selectors.facts import WAITING
from suggestions.selectors.outcomes import outcome_heavy
from suggestions.services.lifecycle import suggestions_sweep
from suggestions.services.outcomes import Ending, outcome_record
from suggestions.services.resolve import suggestion_revert, target_put_back

log = structlog.get_logger(__name__)
Status = Suggestion.Status
ANSWERED = (Status.ACCEPTED, Status.REJECTED)


def suggestion_undo(*, reader_id: UUID, suggestion_id: int, now: datetime) -> Resolved | Refusal:
    """Take back the reader's last answer to a suggestion.

    The id in the result is the one that waits again, or that was put back. A rejection can be taken back
    while the suggestion would still wait, 14 days from when it was made, and an answer only once.
    """
    suggestions_sweep(now=now, reader_id=reader_id)
    suggestion = suggestion_for(reader_id=reader_id, suggestion_id=suggestion_id)
    if suggestion is None:
        return Refusal("not_found", "There is no such suggestion.")
    if suggestion.status == Status.ACCEPTED and not suggestion_forgotten(suggestion=suggestion, now=now):
        return suggestion_revert(reader_id=reader_id, suggestion_id=suggestion_id, now=now)
    try:
        with transaction.atomic():
            # The lock lets a second undo wait here and then see what the first one did.
            locked = Suggestion.objects.select_for_update(of=("self",)).get(pk=suggestion_id)
            answer = _wake(locked) if locked.status == Status.SNOOZED else _bring_back(locked, now)
    except RankingError as error:
        answer = Refusal(error.code, error.message, suggestion.label)
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
    """A copy of an answered suggestion that waits, and the answer marked as taken back."""
    accepted = suggestion.status == Status.ACCEPTED
    if suggestion.status not in ANSWERED or suggestion.outcomes.filter(kind=Outcome.Kind.REVERT).exists():
        return Refusal("already_resolved", f"There is no answer about {suggestion.label} to take back.")
    if not suggestion_still_open(suggestion=suggestion, now=now):
        return Refusal("too_late", f"The suggestion about {suggestion.label} is too old to come back.")
    if not accepted and (refusal := _twin(suggestion)):
        return refusal
    before = config_effective(reader_id=suggestion.reader_id)
    version = _accept_lifted(suggestion, now) if accepted else _pin_lifted(suggestion, now)
    # A change is put back whatever waits; a newer suggestion about the same target waits instead of a copy.
    copy = _newer(suggestion) or _copied(suggestion, version)
    Suggestion.objects.filter(pk=suggestion.pk).update(status=Status.TAKEN_BACK)
    outcome = outcome_record(suggestion=suggestion, ending=_ending(suggestion, before, accepted), now=now)
    return Resolved(copy.pk, copy.status, outcome.pk, version != before.config.version, version)


def _ending(suggestion: Suggestion, before: EffectiveConfig, accepted: bool) -> Ending:
    """What is put on record; settings that were changed back are kept with it."""
    after = config_effective(reader_id=suggestion.reader_id) if accepted else None
    return Ending(
        Outcome.Result.REVERTED,
        body_of(before.config, before.deltas),
        body_of(after.config, after.deltas) if after else None,
        kind=Outcome.Kind.REVERT,
    )


def _accept_lifted(suggestion: Suggestion, now: datetime) -> int:
    """The config's version once its target is as it was before the reader agreed."""
    decision = suggestion.outcomes.get(kind=Outcome.Kind.DECISION)
    return target_put_back(
        suggestion=suggestion, earlier=outcome_heavy(outcome=decision).config_before, now=now
    )


def _twin(suggestion: Suggestion) -> Refusal | None:
    """Why it cannot wait again: a newer one about the same target does."""
    if _newer(suggestion) is None:
        return None
    return Refusal("already_resolved", f"A newer suggestion about {suggestion.label} waits already.")


def _newer(suggestion: Suggestion) -> Suggestion | None:
    about = Suggestion.objects.filter(
        reader_id=suggestion.reader_id, field=suggestion.field, target_key=suggestion.target_key
    )
    return about.filter(status__in=WAITING).exclude(pk=suggestion.pk).first()


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
    notes = [*suggestion.validation_notes, BROUGHT_BACK[suggestion.status]]
    copy = Suggestion.objects.get(pk=suggestion.pk)
    copy.pk, copy._state.adding = None, True
    copy.status, copy.resolved_at, copy.snoozed_until = Status.PENDING, None, None
    copy.validation_notes, copy.config_version = notes, version
    copy.save(force_insert=True)
    for row in evidence:
        row.pk, row._state.adding, row.suggestion = None, True, copy
    Evidence.objects.bulk_create(evidence)
    return copy
