"""Operators' decisions on drafts, which reviewers could not agree on: release to the reader, or discard.

Protected: only the operators' admin imports this module.
"""

from datetime import datetime

import structlog
from django.db import IntegrityError, transaction

from digest.feedback.selectors import feedback_recent
from digest.models import Reader
from suggestions.models import Suggestion
from suggestions.proposals import Draft, Refusal
from suggestions.rules import check, repeat_refusal
from suggestions.selectors import facts_for

log = structlog.get_logger(__name__)
Status = Suggestion.Status


def draft_release(*, suggestion_id: int, operator: str, now: datetime) -> Refusal | None:
    """Make a draft pending; its time to wait begins `now`.

    Every rule is checked again, as if it were written now, and the refusal has that rule's code, or
    `not_a_draft`: settled before, or no such draft; `config_changed`: no longer the change that was reviewed.
    """
    with transaction.atomic():
        drafts = Suggestion.objects.filter(pk=suggestion_id, status=Status.DRAFT)
        row = drafts.prefetch_related("evidence").first()
        if row is None:
            return _not_a_draft(suggestion_id)
        # One write at a time per reader: the facts of the rules cannot change before the commit.
        Reader.objects.select_for_update(no_key=True).get(pk=row.reader_id)
        if refusal := _refusal(row, now):
            return refusal
        try:
            with transaction.atomic():
                # The expiry counts from here, as for a snoozed suggestion that came back.
                released = drafts.update(status=Status.PENDING, snoozed_until=now)
        except IntegrityError:
            return Refusal("duplicate_pending", f"A suggestion about “{row.label}” waits already.", row.label)
    if not released:
        return _not_a_draft(suggestion_id)
    log.info("draft_released", suggestion_id=suggestion_id, user_id=str(row.reader_id), operator=operator)
    return None


def draft_discard(*, suggestion_id: int, operator: str, now: datetime) -> Refusal | None:
    """Discard a draft for good; its reader never sees it. Refused as `not_a_draft` when settled before.

    No outcome is recorded, since the reader has decided nothing. The target has the usual cooldown.
    """
    drafts = Suggestion.objects.filter(pk=suggestion_id, status=Status.DRAFT)
    if not drafts.update(status=Status.DISCARDED, resolved_at=now):
        return _not_a_draft(suggestion_id)
    log.info("draft_discarded", suggestion_id=suggestion_id, operator=operator)
    return None


def _refusal(row: Suggestion, now: datetime) -> Refusal | None:
    """Return the rule the draft breaks by now, or `config_changed` if it would be another change."""
    urls = tuple(evidence.url for evidence in row.evidence.all())
    draft = Draft(
        row.suggestion_type,
        row.target_key,
        row.suggested_value,
        urls,
        row.reason,
        row.other_names,
    )
    facts = facts_for(reader_id=row.reader_id, now=now, drafts=[draft], urls=urls, exclude_id=row.pk)
    fresh = check(draft, facts)
    if isinstance(fresh, Refusal):
        return fresh
    if repeated := repeat_refusal(fresh, facts, feedback_recent(reader_id=row.reader_id)):
        return repeated
    if (fresh.current_value, fresh.suggested_value) == (row.current_value, row.suggested_value):
        return None
    return Refusal(
        "config_changed",
        f"The reader's settings for “{row.label}” changed since: {row.current_value or 'none'} is now "
        f"{fresh.current_value or 'none'}. Discard the draft; the advisor will look afresh.",
        row.label,
    )


def _not_a_draft(suggestion_id: int) -> Refusal:
    return Refusal("not_a_draft", f"Suggestion {suggestion_id} is no draft, or was settled before.")
