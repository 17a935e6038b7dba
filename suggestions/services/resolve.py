"""Readers' decisions on suggestions: they take effect here, and nowhere else.

Every decision is one transaction: the suggestion is claimed by a conditional update (only a pending one can
be), the config is written through `ranking.services`, the outcome is appended, and the profile is updated. A
refusal undoes all of it.

Undo: a snoozed suggestion becomes pending at once. One that was rejected, or accepted in the last ten
minutes, comes back as a copy. The old answer stays in the audit and counts nowhere else, its change of the
settings is reverted, and "never" is lifted. A change that was accepted earlier is reverted, which counts as a
no.

The change shown on today's page is undone by the undo of its kind (`change_undo`).

Codes: `not_found`, `already_resolved`, `nothing_to_undo`, `config_changed`, `invalid_weight`, `too_late`,
`too_many_changes`, and those of `ranking.services`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from uuid import UUID

import structlog
from django.db import transaction
from django.utils.translation import gettext as _

from digest.daily.changes import OrderChange, order_change_read
from digest.daily.selectors import digest_for
from digest.daily.services import digest_refresh
from digest.days import day_of
from digest.feedback.services import answers_undo
from digest.models import Digest, Reader
from ranking.config_body import effective_body
from ranking.entities import EffectiveConfig, RankingError, TooManyChanges
from ranking.language import gettext_noop
from ranking.selectors import body_current, config_effective, config_version, key_current
from ranking.services import Cause, body_change, learning_undo, target_pin, version_undo
from suggestions.changes.change import Change
from suggestions.changes.weights import weight_bounds, weight_clamp, weight_parse, weight_text
from suggestions.models import Evidence, Outcome, Suggestion
from suggestions.outcomes.selectors import outcome_full
from suggestions.outcomes.services import (
    OutcomeValues,
    outcome_reason_add,
    outcome_record,
    profile_lock,
    profile_update,
)
from suggestions.preview import previews_of
from suggestions.proposals import NEVER, SNOOZE_DAYS, Refusal, Resolved
from suggestions.reasons import reason_code
from suggestions.rules import target_pinned
from suggestions.selectors import (
    DECIDED,
    WAITING,
    suggestion_for,
    suggestion_outdated,
    suggestion_undo_forgets,
)
from suggestions.sentences import changed_message, weight_step
from suggestions.services.lifecycle import suggestions_sweep
from suggestions.wording import BROUGHT_BACK

log = structlog.get_logger(__name__)

Status = Suggestion.Status
Result = Outcome.Result
Kind = Outcome.Kind
# Bounds are compared with this much slack, since weights travel as decimal text.
SLACK = 1e-6
# What a second answer, as from another tab, is told about the first.
_ANSWERS = {
    Status.ACCEPTED: gettext_noop("You said yes."),
    Status.REJECTED: gettext_noop("You said no."),
    Status.SNOOZED: gettext_noop("You said later: it comes back in a week."),
}
_SETTLED = gettext_noop("The suggestion about {label} was settled before.")
NOTHING = "There is nothing left to undo: the page has changed since."
# Answers that a reader may take back in a day. Each stores a copy of the suggestion and of its evidence, and
# the profile is computed from all answers of 900 days.
UNDOS_PER_DAY = 50


class _Refused(Exception):
    """Undoes the transaction it is raised in; `refusal` is the answer."""

    def __init__(self, code: str, message: str, suggestion: Suggestion, **data: object) -> None:
        self.refusal = Refusal(code, message, suggestion.label, {"suggestion_id": suggestion.pk, **data})


@dataclass(frozen=True, slots=True)
class _Agreement:
    """The change a reader agreed to, checked against the current config."""

    suggestion: Suggestion
    before: EffectiveConfig
    weight: float | None = None
    edited: str = ""


def suggestion_accept(
    *, reader_id: UUID, suggestion_id: int, now: datetime, user_reason: str = "", value: float | None = None
) -> Resolved | Refusal:
    """Apply a pending suggestion exactly as agreed; `value` is a weight the reader chose instead.

    Refuses with `config_changed` and a fresh preview, changing nothing, when the agreed weight is no longer
    within ±0.3 of the effective one. A topic already there, or gone, is accepted with a note.
    """

    def decide(suggestion: Suggestion) -> Resolved:
        _claim(suggestion, Status.ACCEPTED, now)
        agreed = _agreement(suggestion, value, now)
        version = _apply(agreed, now)
        changed = version != agreed.before.config.version
        values = OutcomeValues(
            Result.ACCEPTED,
            effective_body(agreed.before),
            effective_body(config_effective(reader_id=reader_id)),
            user_reason,
            edited_value=agreed.edited,
        )
        outcome = outcome_record(suggestion=suggestion, values=values, now=now)
        note = "" if changed else _(suggestion.change.kind.texts.nothing_left).format(label=suggestion.label)
        return Resolved(suggestion.pk, Status.ACCEPTED, outcome.pk, changed, version, note)

    return _decide(reader_id, suggestion_id, decide, "suggestion_accepted", now)


def suggestion_reject(
    *, reader_id: UUID, suggestion_id: int, now: datetime, user_reason: str = ""
) -> Resolved | Refusal:
    """Reject a pending suggestion; the config stays as it is. A reason may follow a no that has none."""

    def decide(suggestion: Suggestion) -> Resolved:
        return _reason_after(suggestion, now, user_reason) or _reject(suggestion, now, user_reason)

    # Only the code of a reader's reason is logged, never their text.
    logged = {"user_reason": reason_code(user_reason)}
    return _decide(reader_id, suggestion_id, decide, "suggestion_rejected", now, **logged)


def suggestion_never(*, reader_id: UUID, suggestion_id: int, now: datetime) -> Resolved | Refusal:
    """Reject a pending suggestion and pin its target, so that it is never suggested again.

    This may follow a no without a reason.
    """

    def decide(suggestion: Suggestion) -> Resolved:
        resolved = _reason_after(suggestion, now, NEVER) or _reject(suggestion, now, NEVER)
        version = target_pin(
            reader_id=reader_id, target=suggestion.target_key, pin="avoided", ref=str(suggestion.pk), now=now
        )
        return replace(resolved, config_updated=True, config_version=version)

    return _decide(reader_id, suggestion_id, decide, "suggestion_rejected", now, user_reason=NEVER)


def suggestion_snooze(*, reader_id: UUID, suggestion_id: int, now: datetime) -> Resolved | Refusal:
    """Snooze a pending suggestion for 7 days; this decides nothing, and the profile counts it as put off."""

    def decide(suggestion: Suggestion) -> Resolved:
        _claim(suggestion, Status.SNOOZED, now, snoozed_until=now + timedelta(days=SNOOZE_DAYS))
        profile_lock(reader_id=reader_id, now=now)
        profile_update(reader_id=reader_id, now=now)
        version = config_effective(reader_id=reader_id).config.version
        return Resolved(suggestion.pk, Status.SNOOZED, None, False, version)

    return _decide(reader_id, suggestion_id, decide, "suggestion_snoozed", now)


def suggestion_revert(*, reader_id: UUID, suggestion_id: int, now: datetime) -> Resolved | Refusal:
    """Give the target of an accepted suggestion its earlier state; everything else stays.

    Only an accepted suggestion can be reverted, and only once: else `already_resolved`.
    """

    def decide(suggestion: Suggestion) -> Resolved:
        # The lock lets a second revert wait here and then see the first one's outcome.
        Suggestion.objects.select_for_update().get(pk=suggestion.pk)
        accepted = suggestion.outcomes.filter(kind=Kind.DECISION, outcome=Result.ACCEPTED)
        if not accepted.exists() or _is_reverted(suggestion):
            raise _already_resolved(suggestion)
        before = config_effective(reader_id=reader_id)
        version = _target_restore(suggestion, now)
        after = config_effective(reader_id=reader_id)
        values = OutcomeValues(
            Result.REVERTED, effective_body(before), effective_body(after), kind=Kind.REVERT
        )
        outcome = outcome_record(suggestion=suggestion, values=values, now=now)
        changed = version != before.config.version
        note = _undone_words(suggestion, before, after) if changed else ""
        return Resolved(suggestion.pk, suggestion.status, outcome.pk, changed, version, note)

    return _decide(reader_id, suggestion_id, decide, "suggestion_reverted", now)


def suggestion_undo(*, reader_id: UUID, suggestion_id: int, now: datetime) -> Resolved | Refusal:
    """Undo the reader's last answer to a suggestion.

    The id in the result is the one that is pending again, or whose change was reverted. A rejection can be
    undone within 14 days (`too_late`), and an answer only once.
    """
    suggestion = suggestion_for(reader_id=reader_id, suggestion_id=suggestion_id)
    accepted = suggestion is not None and suggestion.status == Status.ACCEPTED
    if suggestion and accepted and not suggestion_undo_forgets(suggestion=suggestion, now=now):
        return suggestion_revert(reader_id=reader_id, suggestion_id=suggestion_id, now=now)

    def decide(suggestion: Suggestion) -> Resolved:
        # The lock lets a second undo wait here and then see the first one's outcome.
        locked = Suggestion.objects.select_for_update(of=("self",)).get(pk=suggestion.pk)
        return _wake(locked, now) if locked.status == Status.SNOOZED else _bring_back(locked, now)

    return _decide(reader_id, suggestion_id, decide, "suggestion_undone", now)


def suggestions_accept_all(*, reader_id: UUID, now: datetime) -> list[Resolved | Refusal]:
    """Accept every suggestion still pending at `now`, each on its own, in the order they were made."""
    suggestions_sweep(now=now, reader_id=reader_id)
    rows = Suggestion.objects.filter(reader_id=reader_id, status=Status.PENDING).order_by("created_at", "pk")
    return [
        suggestion_accept(reader_id=reader_id, suggestion_id=pk, now=now)
        for pk in rows.values_list("pk", flat=True)
    ]


def _decide(
    reader_id: UUID,
    suggestion_id: int,
    decide: Callable[[Suggestion], Resolved],
    event: str,
    now: datetime,
    **logged: str,
) -> Resolved | Refusal:
    """Run one decision in a transaction. A refusal inside undoes it and becomes the answer.

    The sweep comes first, and its result stays even if the decision fails.
    """
    suggestions_sweep(now=now, reader_id=reader_id)
    suggestion = suggestion_for(reader_id=reader_id, suggestion_id=suggestion_id)
    if suggestion is None:
        return Refusal("not_found", _("There is no such suggestion."))
    try:
        with transaction.atomic():
            resolved = decide(suggestion)
    except _Refused as refused:
        return refused.refusal
    except RankingError as error:
        return Refusal(error.code, error.message, suggestion.label, {"suggestion_id": suggestion_id})
    ids = {"user_id": str(reader_id), "suggestion_id": suggestion_id, "type": suggestion.suggestion_type}
    log.info(event, **ids, **logged)
    return resolved


def _claim(suggestion: Suggestion, status: str, now: datetime, snoozed_until: datetime | None = None) -> None:
    """Move a pending suggestion to `status`, or refuse: the first update wins."""
    pending = Suggestion.objects.filter(pk=suggestion.pk, status=Status.PENDING)
    resolved_at = None if status == Status.SNOOZED else now
    if not pending.update(status=status, resolved_at=resolved_at, snoozed_until=snoozed_until):
        raise _already_resolved(suggestion)


def _already_resolved(suggestion: Suggestion) -> _Refused:
    """Return the refusal of a second answer, with the first one, which may be of another tab."""
    suggestion.refresh_from_db(fields=["status"])
    words = _(_ANSWERS.get(Status(suggestion.status), _SETTLED)).format(label=suggestion.label)
    return _Refused("already_resolved", words, suggestion)


def _is_reverted(suggestion: Suggestion) -> bool:
    return suggestion.outcomes.filter(kind=Kind.REVERT).exists()


def _reject(suggestion: Suggestion, now: datetime, user_reason: str) -> Resolved:
    _claim(suggestion, Status.REJECTED, now)
    current = config_effective(reader_id=suggestion.reader_id)
    values = OutcomeValues(Result.REJECTED, effective_body(current), user_reason=user_reason)
    outcome = outcome_record(suggestion=suggestion, values=values, now=now)
    return Resolved(suggestion.pk, Status.REJECTED, outcome.pk, False, current.config.version)


def _reason_after(suggestion: Suggestion, now: datetime, user_reason: str) -> Resolved | None:
    """Give the reader's no its reason; `None` if there is no such no, or no reason."""
    outcome = outcome_reason_add(suggestion=suggestion, user_reason=user_reason, now=now)
    if outcome is None:
        return None
    version = config_effective(reader_id=suggestion.reader_id).config.version
    return Resolved(suggestion.pk, Status.REJECTED, outcome.pk, False, version)


def _agreement(suggestion: Suggestion, value: float | None, now: datetime) -> _Agreement:
    """Return the agreed value, if it still fits the current config."""
    before = config_effective(reader_id=suggestion.reader_id)
    if not suggestion.change.kind.weighs:
        if value is not None:
            raise _Refused("invalid_weight", _("A topic has no number to choose."), suggestion)
        return _Agreement(suggestion, before)
    kind = suggestion.suggestion_type if value is not None else ""
    low, high = weight_bounds(before.weight(suggestion.target_key), kind)
    wanted = weight_parse(suggestion.suggested_value if value is None else value)
    if wanted is not None and low - SLACK <= wanted <= high + SLACK:
        edited = weight_text(wanted) if value is not None else ""
        return _Agreement(suggestion, before, wanted, edited)
    if value is None and wanted is not None:
        raise _config_changed(suggestion, before, wanted, now)
    words = _("For {label}, choose a number between {low} and {high}.")
    message = words.format(label=suggestion.label, low=weight_text(low), high=weight_text(high))
    raise _Refused("invalid_weight", message, suggestion)


def _config_changed(
    suggestion: Suggestion, before: EffectiveConfig, wanted: float, now: datetime
) -> _Refused:
    """Return the refusal of a weight out of reach, with the nearest one within reach and its preview."""
    current = before.weight(suggestion.target_key)
    nearest = weight_clamp(wanted, current)
    after = replace(suggestion.change, after=nearest).applied(before)
    (preview,) = previews_of(reader_id=suggestion.reader_id, before=before, afters=[after], now=now)
    return _Refused(
        "config_changed",
        changed_message(suggestion.label, current, wanted),
        suggestion,
        current_value=weight_text(current),
        suggested_value=weight_text(wanted),
        nearest_value=weight_text(nearest),
        preview={
            "enters": [item.title for item in preview.enters],
            "leaves": [item.title for item in preview.leaves],
        },
    )


def _apply(agreed: _Agreement, now: datetime) -> int:
    """Write the agreed change; refuse if another write changed the config since it was read."""
    suggestion, change = agreed.suggestion, _current(agreed.suggestion.change)
    if agreed.weight is not None:
        change = replace(change, after=agreed.weight)
    version = body_change(
        reader_id=suggestion.reader_id,
        change=change.make,
        cause=Cause.ACCEPT,
        ref=str(suggestion.pk),
        now=now,
    )
    if version > agreed.before.config.version + 1:
        message = _("Your settings changed just now. Nothing was applied; look again and repeat your answer.")
        raise _Refused("config_changed", message, suggestion)
    return version


def _undone_words(suggestion: Suggestion, before: EffectiveConfig, after: EffectiveConfig) -> str:
    """Return the way of a source that was put back in words: "Gazette: much more → as usual."."""
    if not suggestion.change.kind.weighs:
        return ""
    weights = (config.weight(suggestion.target_key) for config in (before, after))
    return f"{suggestion.label}: {' → '.join(weight_step(*weights))}."


def _target_restore(suggestion: Suggestion, now: datetime) -> int:
    """Give the target its state before the reader accepted; returns the config's version after that."""
    decision = suggestion.outcomes.get(kind=Kind.DECISION)
    earlier = body_current(body=outcome_full(outcome=decision).config_before)
    change = _current(suggestion.change)
    return body_change(
        reader_id=suggestion.reader_id,
        change=lambda body: change.undo(body, earlier),
        cause=Cause.REVERT,
        ref=f"revert:{suggestion.pk}",
        now=now,
    )


def _current(change: Change) -> Change:
    """Return a change with the current key of its source, which an operator may have renamed."""
    if not change.kind.of_source:
        return change
    key = key_current(key=change.target)
    return replace(change, target=key, label=key)


def _wake(suggestion: Suggestion, now: datetime) -> Resolved:
    """Make a snoozed suggestion pending, unless a newer one about the same target waits."""
    if _newer(suggestion):
        raise _newer_waits(suggestion)
    Suggestion.objects.filter(pk=suggestion.pk).update(status=Status.PENDING, snoozed_until=now)
    version = config_effective(reader_id=suggestion.reader_id).config.version
    return Resolved(suggestion.pk, Status.PENDING, None, False, version)


def _bring_back(suggestion: Suggestion, now: datetime) -> Resolved:
    """Make a pending copy of an answered suggestion, and mark the answer as taken back."""
    reader_id, accepted = suggestion.reader_id, suggestion.status == Status.ACCEPTED
    if suggestion.status not in DECIDED or _is_reverted(suggestion):
        message = _("There is no answer about {label} to undo.").format(label=suggestion.label)
        raise _Refused("already_resolved", message, suggestion)
    if suggestion_outdated(suggestion=suggestion, now=now):
        message = _("The suggestion about {label} is too old to come back.").format(label=suggestion.label)
        raise _Refused("too_late", message, suggestion)
    if not accepted and _newer(suggestion):
        raise _newer_waits(suggestion)
    _check_undos_left(reader_id, now)
    before = config_effective(reader_id=reader_id)
    version, after = before.config.version, None
    if accepted:
        version = _target_restore(suggestion, now)
        after = effective_body(config_effective(reader_id=reader_id))
    elif target_pinned((suggestion.field, suggestion.target_key), before):
        ref = f"undo:{suggestion.pk}"
        version = target_pin(reader_id=reader_id, target=suggestion.target_key, pin="", ref=ref, now=now)
    # An accepted change is reverted in any case; a newer suggestion about its target replaces the copy.
    copy = _newer(suggestion) or _copy(suggestion, version, now)
    Suggestion.objects.filter(pk=suggestion.pk).update(status=Status.TAKEN_BACK)
    values = OutcomeValues(Result.REVERTED, effective_body(before), after, kind=Kind.REVERT)
    outcome = outcome_record(suggestion=suggestion, values=values, now=now)
    return Resolved(copy.pk, copy.status, outcome.pk, version != before.config.version, version)


def _check_undos_left(reader_id: UUID, now: datetime) -> None:
    """Raise `TooManyChanges` beyond `UNDOS_PER_DAY`."""
    lately = Outcome.objects.filter(
        reader_id=reader_id, kind=Kind.REVERT, decided_at__gt=now - timedelta(days=1)
    )
    if lately.count() >= UNDOS_PER_DAY:
        words = _("You took back {answers} answers in a day. Wait until tomorrow.")
        raise TooManyChanges(words.format(answers=UNDOS_PER_DAY))


def _newer(suggestion: Suggestion) -> Suggestion | None:
    about = Suggestion.objects.filter(
        reader_id=suggestion.reader_id, field=suggestion.field, target_key=suggestion.target_key
    )
    return about.filter(status__in=WAITING).exclude(pk=suggestion.pk).first()


def _newer_waits(suggestion: Suggestion) -> _Refused:
    message = f"A newer suggestion about {suggestion.label} waits already."
    return _Refused("already_resolved", message, suggestion)


def _copy(suggestion: Suggestion, version: int, now: datetime) -> Suggestion:
    """Store the same proposal as a new row, with the same evidence and date."""
    evidence = list(suggestion.evidence.all())
    copy = Suggestion.objects.get(pk=suggestion.pk)
    copy.pk, copy._state.adding = None, True
    # Its time to wait counts from here, as for one that comes back from Later.
    copy.status, copy.resolved_at, copy.snoozed_until = Status.PENDING, None, now
    copy.validation_notes = [*suggestion.validation_notes, BROUGHT_BACK[suggestion.status]]
    copy.config_version = version
    copy.save(force_insert=True)
    for row in evidence:
        row.pk, row._state.adding, row.suggestion = None, True, copy
    Evidence.objects.bulk_create(evidence)
    return copy


def change_undo(*, reader: Reader, version: int, cycle: str, now: datetime) -> Refusal | None:
    """Undo the change to `version`, of the learning `cycle` or of answers. Build today's page again.

    Returns `None` when done. The undo is a change as well: the new page tells of it, and it can be undone.
    Refuses with `nothing_to_undo` if the page no longer shows that change, and it is not the last one of the
    settings either: after a second call, or a later change.
    """
    today = day_of(now, reader.zone)
    undone = _take_back(reader, today, version, cycle, now)
    if isinstance(undone, Refusal):
        return undone
    digest = digest_refresh(reader=reader, now=now)
    if undone.answers:  # they are gone, so the undo of learning from them would bring back half
        Digest.objects.filter(pk=digest.pk).update(change=None)
    return None


@transaction.atomic
def _take_back(reader: Reader, today: date, version: int, cycle: str, now: datetime) -> Refusal | OrderChange:
    """Take the change back under the digest's row lock, so that a second call waits and finds none."""
    Digest.objects.select_for_update().filter(reader=reader, date=today).first()
    digest = digest_for(reader_id=reader.pk, date=today)
    change = order_change_read(digest.change) if digest else None
    is_shown = change and change.may_be_undone and (change.version, change.cycle) == (version, cycle)
    if change is None or not is_shown:
        if not version or cycle or config_effective(reader_id=reader.pk).config.version != version:
            return Refusal("nothing_to_undo", NOTHING)
        change = OrderChange((), (), version=version)
    refusal = _undone(reader, change, now)
    if refusal is None and digest:
        Digest.objects.filter(pk=digest.pk).update(change=None)
    return refusal or change


def _undone(reader: Reader, change: OrderChange, now: datetime) -> Refusal | None:
    if change.answers:
        answers_undo(reader_id=reader.pk, item_ids=change.answers)
    if change.cycle:
        learning_undo(reader_id=reader.pk, cycle=date.fromisoformat(change.cycle), now=now)
    if change.answers or change.cycle:
        return None
    row = config_version(reader_id=reader.pk, version=change.version)
    if row and row.cause == Cause.ACCEPT and row.cause_ref.isdecimal():
        found = suggestion_undo(reader_id=reader.pk, suggestion_id=int(row.cause_ref), now=now)
        return found if isinstance(found, Refusal) else None
    try:
        version_undo(reader_id=reader.pk, version=change.version, expected_version=change.version, now=now)
    except RankingError as error:
        return Refusal(error.code, error.message)
    return None
