"""The person's door: what a reader decides about a suggestion takes effect here, and nowhere else.

Every decision is one transaction: the suggestion is claimed by a conditional update (only a pending one can
be), the config written through `ranking.services`, the outcome appended, the profile brought up to date. A
refusal undoes all of it. Codes: `not_found`, `already_resolved`, `config_changed`, `invalid_weight`, and
whatever `ranking.services` refuses.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import transaction

from ranking.body import Body, body_of
from ranking.entities import EffectiveConfig
from ranking.errors import RankingError
from ranking.selectors import config_effective
from ranking.services import (
    Cause,
    source_weight_agree,
    source_weight_restore,
    target_pin,
    topic_agree,
)
from suggestions.entities import ADD_TOPIC, SNOOZE_DAYS, SOURCE_WEIGHTS, Refusal, Resolved
from suggestions.forecasts import config_with
from suggestions.models import Outcome, Suggestion
from suggestions.reasons import reason_code
from suggestions.selectors import preview_of, suggestion_for
from suggestions.selectors.outcomes import outcome_heavy
from suggestions.services.lifecycle import suggestions_sweep
from suggestions.services.outcomes import Ending, outcome_record, profile_lock, profile_update
from suggestions.values import topic_in_config, weight_bounds, weight_clamp, weight_parse, weight_text
from suggestions.wording import changed_message, no_op_note

log = structlog.get_logger(__name__)

Status = Suggestion.Status
Result = Outcome.Result
NEVER_REASON = "never"
# Bounds are compared with this much slack, since weights travel as decimal text.
SLACK = 1e-6


class _Refused(Exception):
    """Undoes the transaction it is raised in; `refusal` is the answer."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class _Agreement:
    """What a reader agreed to, checked against the config as it is."""

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
        after = config_effective(reader_id=reader_id)
        changed = version != agreed.before.config.version
        outcome = outcome_record(
            suggestion=suggestion,
            ending=Ending(
                Result.ACCEPTED, _body(agreed.before), _body(after), user_reason, edited_value=agreed.edited
            ),
            now=now,
        )
        note = "" if changed else _no_change_note(suggestion)
        return Resolved(suggestion.pk, Status.ACCEPTED, outcome.pk, changed, version, note)

    return _decide(reader_id, suggestion_id, decide, "suggestion_accepted", now)


def suggestion_reject(
    *, reader_id: UUID, suggestion_id: int, now: datetime, user_reason: str = ""
) -> Resolved | Refusal:
    """Turn a pending suggestion down; the config stays as it is."""

    def decide(suggestion: Suggestion) -> Resolved:
        return _reject(suggestion, now, user_reason)

    # A reader's own words are kept with the answer and never logged.
    said = {"user_reason": reason_code(user_reason)}
    return _decide(reader_id, suggestion_id, decide, "suggestion_rejected", now, **said)


def suggestion_never(*, reader_id: UUID, suggestion_id: int, now: datetime) -> Resolved | Refusal:
    """Turn a pending suggestion down and pin its target, so that it is never suggested again."""

    def decide(suggestion: Suggestion) -> Resolved:
        resolved = _reject(suggestion, now, NEVER_REASON)
        version = target_pin(
            reader_id=reader_id, target=suggestion.target_key, pin="avoided", ref=str(suggestion.pk), now=now
        )
        return replace(resolved, config_updated=True, config_version=version)

    said = {"user_reason": NEVER_REASON}
    return _decide(reader_id, suggestion_id, decide, "suggestion_rejected", now, **said)


def suggestion_snooze(*, reader_id: UUID, suggestion_id: int, now: datetime) -> Resolved | Refusal:
    """Put a pending suggestion aside for 7 days; decides nothing, and the profile says it waits."""

    def decide(suggestion: Suggestion) -> Resolved:
        _claim(suggestion, Status.SNOOZED, now, snoozed_until=now + timedelta(days=SNOOZE_DAYS))
        profile_lock(reader_id=reader_id, now=now)
        profile_update(reader_id=reader_id, now=now)
        version = config_effective(reader_id=reader_id).config.version
        return Resolved(suggestion.pk, Status.SNOOZED, None, False, version)

    return _decide(reader_id, suggestion_id, decide, "suggestion_snoozed", now)


def suggestion_revert(*, reader_id: UUID, suggestion_id: int, now: datetime) -> Resolved | Refusal:
    """Put the one target of an accepted suggestion back as it was before; everything else stays.

    Only an accepted suggestion can be put back, and only once: else `already_resolved`.
    """

    def decide(suggestion: Suggestion) -> Resolved:
        # The lock lets a second revert wait here and then see the first one's outcome.
        Suggestion.objects.select_for_update().get(pk=suggestion.pk)
        decision = suggestion.outcomes.filter(kind=Outcome.Kind.DECISION, outcome=Result.ACCEPTED).first()
        if decision is None or suggestion.outcomes.filter(kind=Outcome.Kind.REVERT).exists():
            raise _Refused(_already(suggestion))
        before = config_effective(reader_id=reader_id)
        version = target_put_back(
            suggestion=suggestion, earlier=outcome_heavy(outcome=decision).config_before, now=now
        )
        after = config_effective(reader_id=reader_id)
        ending = Ending(Result.REVERTED, _body(before), _body(after), kind=Outcome.Kind.REVERT)
        outcome = outcome_record(suggestion=suggestion, ending=ending, now=now)
        return Resolved(
            suggestion.pk, suggestion.status, outcome.pk, version != before.config.version, version
        )

    return _decide(reader_id, suggestion_id, decide, "suggestion_reverted", now)


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
    **said: str,
) -> Resolved | Refusal:
    """Run one decision in a transaction; a refusal inside undoes it and becomes the answer.

    `said` goes into the log beside the ids.

    What has settled itself by `now` is settled first, and stays so whatever becomes of the decision.
    """
    suggestions_sweep(now=now, reader_id=reader_id)
    suggestion = suggestion_for(reader_id=reader_id, suggestion_id=suggestion_id)
    if suggestion is None:
        return Refusal("not_found", "There is no such suggestion.")
    try:
        with transaction.atomic():
            resolved = decide(suggestion)
    except _Refused as refused:
        return replace(refused.refusal, data={"suggestion_id": suggestion_id, **refused.refusal.data})
    except RankingError as error:
        return Refusal(error.code, error.message, suggestion.label, {"suggestion_id": suggestion_id})
    ids = {"user_id": str(reader_id), "suggestion_id": suggestion_id, "type": suggestion.suggestion_type}
    log.info(event, **ids, **said)
    return resolved


def _claim(suggestion: Suggestion, status: str, now: datetime, snoozed_until: datetime | None = None) -> None:
    """Move a pending suggestion to `status`, or refuse: whoever updates the row has won."""
    pending = Suggestion.objects.filter(pk=suggestion.pk, status=Status.PENDING)
    resolved_at = None if status == Status.SNOOZED else now
    if not pending.update(status=status, resolved_at=resolved_at, snoozed_until=snoozed_until):
        raise _Refused(_already(suggestion))


def _already(suggestion: Suggestion) -> Refusal:
    return Refusal(
        "already_resolved", f"The suggestion about {suggestion.label} was settled before.", suggestion.label
    )


def _reject(suggestion: Suggestion, now: datetime, user_reason: str) -> Resolved:
    _claim(suggestion, Status.REJECTED, now)
    current = config_effective(reader_id=suggestion.reader_id)
    ending = Ending(Result.REJECTED, _body(current), user_reason=user_reason)
    outcome = outcome_record(suggestion=suggestion, ending=ending, now=now)
    return Resolved(suggestion.pk, Status.REJECTED, outcome.pk, False, current.config.version)


def _agreement(suggestion: Suggestion, value: float | None, now: datetime) -> _Agreement:
    """The agreed value, if it still fits the config as it is."""
    before = config_effective(reader_id=suggestion.reader_id)
    if suggestion.field != SOURCE_WEIGHTS:
        if value is not None:
            raise _Refused(Refusal("invalid_weight", "A topic has no weight to choose.", suggestion.label))
        return _Agreement(suggestion, before)
    kind = suggestion.suggestion_type if value is not None else ""
    low, high = weight_bounds(before.weight(suggestion.target_key), kind)
    wanted = weight_parse(suggestion.suggested_value if value is None else value)
    if wanted is not None and low - SLACK <= wanted <= high + SLACK:
        edited = weight_text(wanted) if value is not None else ""
        return _Agreement(suggestion, before, wanted, edited)
    if value is None and wanted is not None:
        raise _Refused(_config_changed(suggestion, before, wanted, now))
    bounds = f"between {weight_text(low)} and {weight_text(high)}"
    raise _Refused(
        Refusal("invalid_weight", f"The weight of {suggestion.label} must lie {bounds}.", suggestion.label)
    )


def _config_changed(suggestion: Suggestion, before: EffectiveConfig, wanted: float, now: datetime) -> Refusal:
    """The refusal of a weight that is out of reach, with the nearest one within reach and its preview."""
    current = before.weight(suggestion.target_key)
    nearest = weight_clamp(wanted, current)
    after = config_with(before, SOURCE_WEIGHTS, suggestion.target_key, weight=nearest)
    preview = preview_of(reader_id=suggestion.reader_id, before=before, after=after, now=now)
    data = {
        "current_value": weight_text(current),
        "suggested_value": weight_text(wanted),
        "nearest_value": weight_text(nearest),
        "preview": {
            "enters": [item.title for item in preview.enters],
            "leaves": [item.title for item in preview.leaves],
        },
    }
    message = changed_message(suggestion.label, current, wanted)
    return Refusal("config_changed", message, suggestion.label, data)


def _apply(agreed: _Agreement, now: datetime) -> int:
    """Write what was agreed; refuse if somebody else wrote the config since it was read."""
    suggestion, ref = agreed.suggestion, str(agreed.suggestion.pk)
    reader_id, target = suggestion.reader_id, suggestion.target_key
    if agreed.weight is not None:
        version = source_weight_agree(
            reader_id=reader_id, source=target, weight=agreed.weight, ref=ref, now=now
        )
    else:
        adds = suggestion.suggestion_type == ADD_TOPIC
        version = topic_agree(
            reader_id=reader_id, topic=suggestion.suggested_value, present=adds, ref=ref, now=now
        )
    if version > agreed.before.config.version + 1:
        message = "Your settings changed just now. Nothing was applied; look again and repeat your answer."
        raise _Refused(Refusal("config_changed", message, suggestion.label))
    return version


def target_put_back(*, suggestion: Suggestion, earlier: Body, now: datetime) -> int:
    """Give the one target of `suggestion` what it had in the body `earlier`; the config's version then."""
    reader_id, target, ref = suggestion.reader_id, suggestion.target_key, f"revert:{suggestion.pk}"
    if suggestion.field == SOURCE_WEIGHTS:
        return source_weight_restore(reader_id=reader_id, source=target, earlier=earlier, ref=ref, now=now)
    spelling = topic_in_config(target, earlier["topics"])
    topic = spelling or suggestion.suggested_value
    return topic_agree(
        reader_id=reader_id, topic=topic, present=bool(spelling), ref=ref, now=now, cause=Cause.REVERT
    )


def _body(effective: EffectiveConfig) -> Body:
    return body_of(effective.config, effective.deltas)


def _no_change_note(suggestion: Suggestion) -> str:
    if suggestion.field == SOURCE_WEIGHTS:
        return "The weight was already what you agreed to."
    return no_op_note(suggestion.suggestion_type, suggestion.label)
