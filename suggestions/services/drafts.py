"""The operator's door to drafts: what reviewers could not agree on is released to its reader, or discarded.

Protected: only the operators' admin imports this module.
"""

from datetime import datetime

import structlog
from django.db import IntegrityError, transaction

from digest.models import Reader
from suggestions.entities import Draft, Refusal
from suggestions.models import Suggestion
from suggestions.rules import Accepted, check
from suggestions.selectors.facts import facts_for

log = structlog.get_logger(__name__)

Status = Suggestion.Status


def draft_release(*, suggestion_id: int, operator: str, now: datetime) -> Refusal | None:
    """Let the reader see a draft from `now` on: it becomes pending, and has 14 days from here.

    Held against every rule again, as if it were written now. The refusal names the rule it breaks by now;
    `not_a_draft`: settled before, or no such draft; `config_changed`: its weight is out of reach.
    """
    with transaction.atomic():
        row = _draft(suggestion_id)
        if row is None:
            return _gone(suggestion_id)
        # One write at a time per reader: what the rules count cannot change before the commit.
        Reader.objects.select_for_update(no_key=True).get(pk=row.reader_id)
        if refusal := _broken_rule(row, now):
            return refusal
        try:
            with transaction.atomic():
                # The expiry counts from here, as for a suggestion that was put aside and came back.
                released = _claim(suggestion_id, status=Status.PENDING, snoozed_until=now)
        except IntegrityError:
            return Refusal("duplicate_pending", f"A suggestion about “{row.label}” waits already.", row.label)
    if not released:
        return _gone(suggestion_id)
    log.info("draft_released", suggestion_id=suggestion_id, user_id=str(row.reader_id), operator=operator)
    return None


def draft_discard(*, suggestion_id: int, operator: str, now: datetime) -> Refusal | None:
    """Do away with a draft for good; its reader never hears of it. Refused as `not_a_draft` when settled.

    No outcome is recorded: the reader has decided nothing, so nothing is learnt about them. The target
    rests for the usual cooldown.
    """
    if not _claim(suggestion_id, status=Status.DISCARDED, resolved_at=now):
        return _gone(suggestion_id)
    log.info("draft_discarded", suggestion_id=suggestion_id, operator=operator)
    return None


def _draft(suggestion_id: int) -> Suggestion | None:
    rows = Suggestion.objects.filter(pk=suggestion_id, status=Status.DRAFT)
    return rows.prefetch_related("evidence").first()


def _claim(suggestion_id: int, **changes: object) -> bool:
    """Move a draft on; whoever updates the row first has won."""
    return bool(Suggestion.objects.filter(pk=suggestion_id, status=Status.DRAFT).update(**changes))


def _broken_rule(row: Suggestion, now: datetime) -> Refusal | None:
    urls = tuple(evidence.url for evidence in row.evidence.all())
    facts = facts_for(reader_id=row.reader_id, now=now, urls=urls, but=row.pk)
    draft = Draft(row.suggestion_type, row.field, row.target_key, row.suggested_value, urls, row.reason)
    verdict = check(draft, facts)
    if isinstance(verdict, Refusal):
        return verdict
    return _moved(row, verdict)


def _moved(row: Suggestion, fresh: Accepted) -> Refusal | None:
    """The refusal of a draft whose change would no longer be the one that was reviewed."""
    if (fresh.current_value, fresh.suggested_value) == (row.current_value, row.suggested_value):
        return None
    return Refusal(
        "config_changed",
        f"The reader's settings for “{row.label}” changed since: {row.current_value or 'none'} is now "
        f"{fresh.current_value or 'none'}. Discard the draft; the advisor will look afresh.",
        row.label,
    )


def _gone(suggestion_id: int) -> Refusal:
    return Refusal("not_a_draft", f"Suggestion {suggestion_id} is no draft, or was settled before.")
