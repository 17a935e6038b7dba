"""The agent's door: a draft goes in, and a pending suggestion or a refusal comes out. Applies nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction

from digest.models import Reader
from ranking.entities import EffectiveConfig
from ranking.forecast import Forecast
from suggestions.beliefs import confidence_of, p_of_direction
from suggestions.entities import LIKED_TYPES, SOURCE_WEIGHTS, Draft, Fence, Proposed, Refusal
from suggestions.forecasts import change_applied, forecast_body
from suggestions.models import Evidence, Suggestion
from suggestions.rules import Accepted, Facts, Strength, check, permission_refusal, weigh
from suggestions.selectors import facts_for, preview_of
from suggestions.selectors.evidence import Evidence as Case
from suggestions.selectors.evidence import counts_of, evidence_for, forecast_for, label_of, overall_p
from suggestions.selectors.facts import fields_written, suggestions_waiting, targets_cooling
from suggestions.wording import impact_sentence, reason_clean, reason_sentence

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Weighed:
    """An accepted draft with what the reader's thumbs say of it."""

    accepted: Accepted
    p_helpful: float
    confidence: str
    forecast: Forecast
    case: Case


def suggestion_propose(
    *, reader_id: UUID, run_id: UUID, draft: Draft, now: datetime, fence: Fence
) -> Proposed | Refusal:
    """Check `draft` by every rule and store it as pending, with evidence and forecast, in one transaction.

    `fence` is called inside that transaction; whatever it raises undoes the write and goes on to the caller.
    A refusal stores nothing.
    """
    facts = facts_for(reader_id=reader_id, now=now, run_id=run_id, urls=_urls(draft.evidence_urls))
    verdict = check(draft, facts)
    if isinstance(verdict, Refusal):
        return _refused(reader_id, draft, verdict)
    weighed = _weigh(reader_id, verdict, facts, now)
    strength = Strength(_overall(weighed, now), weighed.confidence)
    if refusal := weigh(verdict, strength, settings.ADVISOR_MIN_CONFIDENCE):
        return _refused(reader_id, draft, refusal)
    row = _row(reader_id, run_id, draft, weighed, facts, now)
    stored = _store(row, verdict, now=now, fence=fence, facts=facts)
    if isinstance(stored, Refusal):
        return _refused(reader_id, draft, stored)
    log.info("suggestion_written", user_id=str(reader_id), suggestion_id=row.pk, type=row.suggestion_type)
    return stored


def _urls(urls: Sequence[object]) -> list[str]:
    return list(dict.fromkeys(url for url in urls if isinstance(url, str)))[:50]


def _refused(reader_id: UUID, draft: Draft, refusal: Refusal) -> Refusal:
    log.info(
        "suggestion_rejected_validation",
        user_id=str(reader_id),
        type=str(draft.suggestion_type)[:20],
        error=refusal.code,
        evidence_count=len(draft.evidence_urls),
    )
    return refusal


def _weigh(reader_id: UUID, accepted: Accepted, facts: Facts, now: datetime) -> _Weighed:
    """The belief of the earlier thumbs in this change, and its forecast on the later ones."""
    is_source = accepted.field == SOURCE_WEIGHTS
    topics = dict.fromkeys([*facts.effective.config.topics, *([] if is_source else [accepted.label])])
    case = evidence_for(reader_id=reader_id, topics=topics, now=now)
    beliefs = case.beliefs.sources if is_source else case.beliefs.topics
    p_helpful = p_of_direction(beliefs.get(accepted.target_key), accepted.suggestion_type in LIKED_TYPES)
    forecast = forecast_for(
        reader_id=reader_id,
        field=accepted.field,
        key=accepted.target_key,
        before=facts.effective,
        after=_after(accepted, facts),
        later=case.split.later,
        now=now,
    )
    confidence = confidence_of(p_helpful, forecast.gain, forecast.high)
    return _Weighed(accepted, p_helpful, confidence, forecast, case)


def _after(accepted: Accepted, facts: Facts) -> EffectiveConfig:
    return change_applied(
        facts.effective, accepted.suggestion_type, accepted.target_key, accepted.suggested_value
    )


def _overall(weighed: _Weighed, now: datetime) -> float:
    a = weighed.accepted
    return overall_p(weighed.case, a.field, a.target_key, a.label, a.suggestion_type in LIKED_TYPES, now)


def _row(
    reader_id: UUID, run_id: UUID, draft: Draft, weighed: _Weighed, facts: Facts, now: datetime
) -> Suggestion:
    """The unsaved suggestion, in the server's own numbers and words; the agent's reason is only cleaned."""
    accepted, case = weighed.accepted, weighed.case
    label = label_of(case, accepted.field, accepted.label)
    preview = preview_of(reader_id=reader_id, before=facts.effective, after=_after(accepted, facts), now=now)
    step = 0.0
    if accepted.weight is not None:
        step = accepted.weight - facts.effective.weight(accepted.target_key)
    return Suggestion(
        reader_id=reader_id,
        run_id=run_id,
        suggestion_type=accepted.suggestion_type,
        field=accepted.field,
        target_key=accepted.target_key,
        label=label,
        current_value=accepted.current_value,
        suggested_value=accepted.suggested_value,
        reason=reason_clean(draft.reason) or _reason(accepted, label, case),
        confidence=weighed.confidence,
        p_helpful=weighed.p_helpful,
        forecast=forecast_body(weighed.p_helpful, weighed.forecast, preview),
        expected_impact=impact_sentence(accepted.suggestion_type, label, step),
        config_version=facts.effective.config.version,
        validation_notes=list(accepted.notes),
        created_at=now,
    )


def _reason(accepted: Accepted, label: str, case: Case) -> str:
    likes, thumbs = counts_of(case, accepted.field, accepted.target_key, accepted.label)
    all_likes = sum(item.useful for item in case.rated)
    return reason_sentence(
        accepted.suggestion_type, label, likes, thumbs, all_likes - likes, len(case.rated) - thumbs
    )


def _store(
    row: Suggestion, accepted: Accepted, *, now: datetime, fence: Fence, facts: Facts
) -> Proposed | Refusal:
    """Commit the suggestion and its evidence, unless another write got ahead since the facts were read."""
    try:
        with transaction.atomic():
            # One write at a time per reader: what is counted below cannot change before the commit.
            Reader.objects.select_for_update(no_key=True).get(pk=row.reader_id)
            fence()
            if refusal := _got_ahead(row, accepted, facts, now):
                return refusal
            row.save(force_insert=True)
            Evidence.objects.bulk_create(_evidence_rows(row, accepted))
    except IntegrityError:
        # Only a twin that waits is an answer to the draft; whatever else broke goes on to the caller.
        if (row.field, row.target_key) not in suggestions_waiting(reader_id=row.reader_id):
            raise
        return Refusal(
            "duplicate_pending", f"A suggestion about “{row.label}” already waits.", row.target_key
        )
    return Proposed(row.pk, row.status, accepted.notes, row.target_key)


def _got_ahead(row: Suggestion, accepted: Accepted, facts: Facts, now: datetime) -> Refusal | None:
    fresh = Facts(
        effective=facts.effective,
        sources=facts.sources,
        waiting=suggestions_waiting(reader_id=row.reader_id),
        cooling=targets_cooling(reader_id=row.reader_id, now=now),
        written=fields_written(reader_id=row.reader_id, run_id=row.run_id),
    )
    return permission_refusal((accepted.field, accepted.target_key), fresh)


def _evidence_rows(row: Suggestion, accepted: Accepted) -> list[Evidence]:
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
        for item in accepted.evidence
    ]
