"""Hypotheses: the changes a reader's earlier thumbs speak for, measured on the later ones."""

from datetime import datetime
from uuid import UUID

from ranking.forecast import Forecast
from suggestions.beliefs import confidence_of
from suggestions.entities import Hypothesis, HypothesisReport
from suggestions.forecasts import config_with
from suggestions.hypotheses import Choice, choices_make
from suggestions.rules import Facts, permission_refusal
from suggestions.selectors.evidence import (
    Evidence,
    counts_of,
    evidence_for,
    forecast_for,
    label_of,
    overall_p,
)
from suggestions.selectors.facts import facts_for, targets_decided
from suggestions.values import weight_text

LIMIT = 10


def hypotheses_for(*, reader_id: UUID, now: datetime, limit: int = LIMIT) -> HypothesisReport:
    """At most `limit` changes that `suggestion_propose` would take as they are, best first.

    Chosen by the earlier thumbs, measured on the later ones; those whose whole interval lies below zero, or
    that all thumbs together contradict, are dropped and counted. What the reader decided on is left out till
    they have given it new thumbs.
    """
    facts = facts_for(reader_id=reader_id, now=now)
    evidence = evidence_for(reader_id=reader_id, topics=facts.effective.config.topics, now=now)
    choices, found = choices_make(
        evidence.beliefs,
        facts.effective,
        evidence.rated,
        permitted=lambda target: permission_refusal(target, facts) is None,
        decided=targets_decided(reader_id=reader_id),
        limit=limit,
    )
    measured = [(choice, _measured(choice, facts, evidence, reader_id, now)) for choice in choices]
    stands = [
        _hypothesis(choice, forecast, facts, evidence)
        for choice, forecast in measured
        if not _spoken_against(choice, forecast, evidence, now)
    ]
    considered = len(evidence.beliefs.sources) + len(evidence.beliefs.topics)
    return HypothesisReport(tuple(stands), found, considered, len(choices) - len(stands))


def _measured(choice: Choice, facts: Facts, evidence: Evidence, reader_id: UUID, now: datetime) -> Forecast:
    topic = choice.label if choice.liked else ""
    return forecast_for(
        reader_id=reader_id,
        field=choice.field,
        key=choice.key,
        before=facts.effective,
        after=config_with(facts.effective, choice.field, choice.key, weight=choice.weight, topic=topic),
        later=evidence.split.later,
        now=now,
    )


def _spoken_against(choice: Choice, forecast: Forecast, evidence: Evidence, now: datetime) -> bool:
    """Whether later thumbs forbid it: the whole interval below zero, or all thumbs the other way."""
    if forecast.high is not None and forecast.high < 0:
        return True
    return overall_p(evidence, choice.field, choice.key, choice.label, choice.liked, now) < 0.5


def _hypothesis(choice: Choice, forecast: Forecast, facts: Facts, evidence: Evidence) -> Hypothesis:
    belief = choice.belief
    current = weight_text(facts.effective.weight(choice.key)) if choice.weight is not None else ""
    likes, thumbs = counts_of(evidence, choice.field, choice.key, choice.label)
    return Hypothesis(
        suggestion_type=choice.suggestion_type,
        field=choice.field,
        target_key=choice.key,
        label=label_of(evidence, choice.field, choice.label),
        current_value=current or ("" if choice.liked else choice.label),
        suggested_value=choice.label if choice.weight is None else weight_text(choice.weight),
        p_helpful=belief.p_helpful,
        confidence=confidence_of(belief.p_helpful, forecast.gain, forecast.high),
        expected_gain=belief.gain,
        gain=forecast.gain,
        low=forecast.low,
        high=forecast.high,
        later_thumbs=forecast.n,
        likes=likes,
        thumbs=thumbs,
        evidence_urls=tuple(item.url for item in choice.evidence),
    )
