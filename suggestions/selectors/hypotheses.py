"""Hypotheses: the changes a reader's thumbs speak for, measured on thumbs that did not choose them."""

from datetime import datetime
from uuid import UUID

from ranking.forecast import Forecast
from suggestions.beliefs import confidence_of
from suggestions.entities import SOURCE_WEIGHTS, Hypothesis, HypothesisReport, Lead
from suggestions.forecasts import change_applied
from suggestions.hypotheses import Change, Choice, Choices, changes_possible, choices_make
from suggestions.rules import Facts, permission_refusal
from suggestions.selectors.evidence import (
    Evidence,
    counts_of,
    evidence_for,
    forecast_for,
    label_of,
    overall_p,
)
from suggestions.selectors.facts import experience_for, facts_for
from suggestions.silence import silence_code
from suggestions.values import weight_text

LIMIT = 10
# Thumbs that say nothing to order, or no target that could be cited.
NOTHING = Choices((), (), 0, 0, 0, 0.0)


def hypotheses_for(*, reader_id: UUID, now: datetime, limit: int = LIMIT) -> HypothesisReport:
    """At most `limit` changes that `suggestion_propose` would take as they are, best first.

    Chosen by five sixths of the thumbs, measured on the rest; those whose whole measured interval lies below
    zero, or that all thumbs together contradict, are dropped and counted. With no hypothesis the report says
    why, and what is undecided.
    """
    facts = facts_for(reader_id=reader_id, now=now)
    evidence = evidence_for(reader_id=reader_id, effective=facts.effective, now=now)
    choices = _choices(evidence, facts, reader_id, limit)
    measured = [(choice, _measured(choice, facts, evidence, reader_id, now)) for choice in choices.chosen]
    stands = [
        _hypothesis(choice, forecast, facts, evidence)
        for choice, forecast in measured
        if not _spoken_against(choice, forecast, evidence, facts)
    ]
    dropped = len(measured) - len(stands)
    silence = (
        ""
        if stands
        else silence_code(
            thumbs=len(evidence.split.choosing),
            tried=choices.tried,
            closed=choices.closed,
            dropped=dropped,
            best=choices.best,
        )
    )
    considered = len(evidence.attributes.sources) + len(evidence.attributes.topics)
    leads = tuple(_lead(choice, evidence) for choice in choices.leads)
    return HypothesisReport(tuple(stands), choices.found, considered, dropped, silence, leads)


def _choices(evidence: Evidence, facts: Facts, reader_id: UUID, limit: int) -> Choices:
    if evidence.judge is None:
        return NOTHING

    def permitted(change: Change) -> bool:
        if change.suggestion_type in facts.declined:
            return False
        return permission_refusal((change.field, change.key), facts) is None

    return choices_make(
        changes_possible(evidence.attributes, facts.effective, evidence.rated),
        evidence.judge,
        evidence.attributes,
        facts.effective,
        evidence.rated,
        permitted=permitted,
        experience=experience_for(reader_id=reader_id),
        limit=limit,
    )


def _measured(choice: Choice, facts: Facts, evidence: Evidence, reader_id: UUID, now: datetime) -> Forecast:
    change = choice.change
    return forecast_for(
        reader_id=reader_id,
        field=change.field,
        key=change.key,
        before=facts.effective,
        after=change_applied(facts.effective, change.suggestion_type, change.key, change.value),
        measuring=evidence.split.measuring,
        now=now,
    )


def _spoken_against(choice: Choice, forecast: Forecast, evidence: Evidence, facts: Facts) -> bool:
    """Whether other thumbs forbid it: the whole measured interval below zero, or all thumbs together."""
    if forecast.high is not None and forecast.high < 0:
        return True
    return overall_p(evidence, choice.change, facts.effective) < 0.5


def _hypothesis(choice: Choice, forecast: Forecast, facts: Facts, evidence: Evidence) -> Hypothesis:
    change = choice.change
    is_source = change.field == SOURCE_WEIGHTS
    likes, thumbs = counts_of(evidence, change.field, change.key, change.label)
    current = weight_text(facts.effective.weight(change.key)) if is_source else ""
    return Hypothesis(
        suggestion_type=change.suggestion_type,
        field=change.field,
        target_key=change.key,
        label=label_of(evidence, change.field, change.label),
        current_value=current or ("" if change.liked else change.label),
        suggested_value=change.value,
        p_helpful=choice.p_helpful,
        confidence=confidence_of(choice.p_helpful, forecast.gain, forecast.high),
        expected_gain=choice.expected_gain,
        gain=forecast.gain,
        low=forecast.low,
        high=forecast.high,
        later_thumbs=forecast.n,
        likes=likes,
        thumbs=thumbs,
        evidence_urls=tuple(item.url for item in change.evidence),
    )


def _lead(choice: Choice, evidence: Evidence) -> Lead:
    change = choice.change
    return Lead(
        suggestion_type=change.suggestion_type,
        field=change.field,
        target_key=change.key,
        label=label_of(evidence, change.field, change.label),
        p_helpful=choice.p_helpful,
        information=choice.information,
    )
