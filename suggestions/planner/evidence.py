"""A reader's ratings as evidence for or against changes: to propose hypotheses and to weigh drafts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID
from zlib import crc32

from django.conf import settings

from digest.entities import RatedItem
from digest.feedback.peers import community_deviation, peer_deviations
from digest.feedback.selectors import feedback_recent, feedback_tallies
from digest.items.selectors import items_candidates, source_titles
from ranking.entities import EffectiveConfig, SourceTally
from suggestions.entities import FIELD_OF_TYPE, SOURCE_WEIGHTS, Refusal
from suggestions.models import Outcome
from suggestions.planner.gains import (
    POOL_DAYS,
    POOLS,
    Forecast,
    Judge,
    Split,
    Stock,
    forecast_of,
    split_by_time,
    stock_of,
)
from suggestions.planner.hypotheses import (
    Change,
    Choice,
    Choices,
    Experience,
    Hypothesis,
    HypothesisReport,
    Lead,
    acceptance_of,
    changes_possible,
    choices_make,
    confidence_of,
    judged,
    silence_code,
)
from suggestions.planner.posterior import Attributes, attributes_of, design_of, posterior_draws, reasons_given
from suggestions.rules import (
    Accepted,
    Facts,
    change_applied,
    concerns,
    permission_refusal,
    strength_refusal,
    weight_text,
)
from suggestions.selectors import answers_by_type, facts_for, targets_decided

# Enough to replay a week of a busy reader; more would only cost time.
CANDIDATES_MAX = 600
LIMIT = 10


@dataclass(frozen=True, slots=True)
class Evidence:
    """A reader's ratings with the posteriors they lead to.

    `rated` are the newest ones, newest first, `split` the same in two parts; `judge` judges changes by the
    choosing part, `overall` by all of them; both are `None` where there is nothing to order. `titles` are the
    sources' names.
    """

    split: Split
    rated: tuple[RatedItem, ...]
    attributes: Attributes
    judge: Judge | None
    overall: Judge | None
    titles: dict[str, str]


@dataclass(frozen=True, slots=True)
class Weighed:
    """A change with its probabilities and its measured effect.

    `p_helpful` is the probability that it helps by the choosing ratings (0 where nothing can be ordered),
    `forecast` its effect measured on holdout ratings, `p_overall` the probability by all ratings together,
    `after` the config with it; `expected_gain` of nDCG@10 is the posterior mean.
    """

    p_helpful: float
    confidence: str
    forecast: Forecast
    p_overall: float
    after: EffectiveConfig
    evidence: Evidence
    expected_gain: float = 0.0

    def refusal(self, change: Accepted) -> Refusal | None:
        """Return why the ratings do not support `change` strongly enough, or `None`."""
        return strength_refusal(
            change,
            p_overall=self.p_overall,
            confidence=self.confidence,
            minimum=settings.ADVISOR_MIN_CONFIDENCE,
        )


def evidence_for(
    *, reader_id: UUID, effective: EffectiveConfig, topics: Iterable[str] = (), now: datetime
) -> Evidence:
    """Read the reader's ratings and fit their posteriors; a fixed number of queries.

    `topics` are columns besides the config's own and the phrases found in titles. The newest 500 ratings are
    the sample; older ones count by source. The same data give the same answer.
    """
    rated = tuple(feedback_recent(reader_id=reader_id))
    older = feedback_tallies(reader_id=reader_id, now=now, until=rated[-1].at) if rated else []
    candidates = items_candidates(reader_id=reader_id, now=now, days=POOLS + POOL_DAYS, limit=CANDIDATES_MAX)
    sources = {*(tally.source for tally in older), *(candidate.source for candidate in candidates)}
    titles = source_titles(keys={*sources, *(item.source for item in rated)})
    split = split_by_time(rated)
    wanted = [*effective.config.topics, *topics]
    attributes = attributes_of(rated, sources=sorted(sources), topics=wanted, titles=titles)
    stock = stock_of(candidates, rated, attributes, effective, now) if rated else None
    judge = overall = None
    if stock is not None:
        deviation = deviations_for(reader_id=reader_id, now=now)
        seed = crc32(str(reader_id).encode())
        judge, overall = (
            _judge(stock, part, attributes, older, deviation, seed, now) for part in (split.choosing, rated)
        )
    return Evidence(split, rated, attributes, judge, overall, titles)


def deviations_for(*, reader_id: UUID, now: datetime) -> dict[str, float]:
    """Return how much more or less than usual others like a source: the nearest peers, else the community.

    Empty for a reader who does not share, or where fewer than five others do.
    """
    return {
        **community_deviation(reader_id=reader_id, now=now),
        **peer_deviations(reader_id=reader_id, now=now),
    }


def _judge(
    stock: Stock,
    rated: Sequence[RatedItem],
    attributes: Attributes,
    older: Sequence[SourceTally],
    deviation: Mapping[str, float],
    seed: int,
    now: datetime,
) -> Judge:
    design = design_of(rated, attributes, older=older, deviation=deviation, now=now)
    return Judge(stock, posterior_draws(design, seed), seed, reasons_given(rated))


def counts_of(evidence: Evidence, field: str, key: str, label: str) -> tuple[int, int]:
    """Return (likes, ratings) of the target among the newest ratings."""
    found = [item for item in evidence.rated if concerns(item, field, key, label)]
    return sum(item.useful for item in found), len(found)


def label_of(evidence: Evidence, field: str, label: str) -> str:
    """Return the name of a target: the source's title, or the topic itself."""
    return evidence.titles.get(label, label) if field == SOURCE_WEIGHTS else label


def change_weigh(
    *, reader_id: UUID, change: Accepted | Hypothesis, effective: EffectiveConfig, now: datetime
) -> Weighed:
    """Weigh one change of the reader's ranking; a fixed number of queries."""
    topics = () if change.field == SOURCE_WEIGHTS else (change.label,)
    case = evidence_for(reader_id=reader_id, effective=effective, topics=topics, now=now)
    plain = Change(
        change.suggestion_type, change.field, change.target_key, change.label, change.suggested_value, ()
    )
    choice = _choice(case, case.judge, plain, effective)
    p_helpful = choice.p_helpful if choice else 0.0
    forecast = _forecast(case, plain, effective, reader_id, now)
    return Weighed(
        p_helpful=p_helpful,
        confidence=confidence_of(p_helpful, forecast.gain, forecast.high),
        forecast=forecast,
        p_overall=_p_overall(case, plain, effective),
        after=change_applied(effective, plain.suggestion_type, plain.key, plain.value),
        evidence=case,
        expected_gain=choice.expected_gain if choice else 0.0,
    )


def _choice(
    evidence: Evidence, judge: Judge | None, change: Change, effective: EffectiveConfig
) -> Choice | None:
    """Judge one change; `None` without ratings, or for a source that is read but was never rated."""
    known = change.field != SOURCE_WEIGHTS or change.key in evidence.attributes.sources
    return judged(change, judge, evidence.attributes, effective) if judge and known else None


def _p_overall(evidence: Evidence, change: Change, effective: EffectiveConfig) -> float:
    """Return P(better rather than worse) by all the reader's ratings; without any, one half."""
    choice = _choice(evidence, evidence.overall, change, effective)
    return choice.p_better if choice else 0.5


def _forecast(
    evidence: Evidence, change: Change, effective: EffectiveConfig, reader_id: UUID, now: datetime
) -> Forecast:
    after = change_applied(effective, change.suggestion_type, change.key, change.value)
    seed = f"{reader_id}:{change.field}:{change.key}"
    return forecast_of(evidence.split.measuring, effective, after, now=now, seed=seed)


def hypotheses_for(*, reader_id: UUID, now: datetime, limit: int = LIMIT) -> HypothesisReport:
    """Return at most `limit` changes that `suggestion_propose` would take as they are, best first.

    Chosen by five sixths of the ratings, measured on the rest; those whose whole measured interval is below
    zero, or that all ratings together contradict, are dropped and counted. Without any hypothesis the report
    has the reason, and the undecided leads.
    """
    facts = facts_for(reader_id=reader_id, now=now)
    evidence = evidence_for(reader_id=reader_id, effective=facts.effective, now=now)
    choices = _choices(evidence, facts, reader_id, limit)
    measured = [(c, _forecast(evidence, c.change, facts.effective, reader_id, now)) for c in choices.chosen]
    hypotheses = tuple(
        _hypothesis(choice, forecast, facts, evidence)
        for choice, forecast in measured
        if (forecast.high is None or forecast.high >= 0)
        and _p_overall(evidence, choice.change, facts.effective) >= 0.5
    )
    dropped = len(measured) - len(hypotheses)
    silence = silence_code(
        ratings=len(evidence.split.choosing),
        tried=choices.tried,
        closed=choices.closed,
        dropped=dropped,
        best=choices.best,
    )
    return HypothesisReport(
        hypotheses=hypotheses,
        patterns_found=choices.found,
        considered=len(evidence.attributes.sources) + len(evidence.attributes.topics),
        dropped=dropped,
        silence="" if hypotheses else silence,
        leads=tuple(_lead(choice, evidence) for choice in choices.leads),
    )


def _choices(evidence: Evidence, facts: Facts, reader_id: UUID, limit: int) -> Choices:
    if evidence.judge is None:
        return Choices((), (), 0, 0, 0, 0.0)

    def permitted(change: Change) -> bool:
        return permission_refusal((change.field, change.key), facts, change.suggestion_type) is None

    harmful = Outcome.objects.filter(
        reader_id=reader_id, kind=Outcome.Kind.EFFECT, outcome=Outcome.Result.HARMED
    ).values_list("suggestion_type", "target_key")
    experience = Experience(
        decided=targets_decided(reader_id=reader_id),
        acceptance=acceptance_of(answers_by_type(reader_id=reader_id)),
        harmed=frozenset((kind, (FIELD_OF_TYPE[kind], key)) for kind, key in harmful),
    )
    return choices_make(
        changes_possible(evidence.attributes, facts.effective, evidence.rated),
        evidence.judge,
        evidence.attributes,
        facts.effective,
        evidence.rated,
        permitted=permitted,
        experience=experience,
        limit=limit,
    )


def _hypothesis(choice: Choice, forecast: Forecast, facts: Facts, evidence: Evidence) -> Hypothesis:
    change = choice.change
    is_source = change.field == SOURCE_WEIGHTS
    likes, ratings = counts_of(evidence, change.field, change.key, change.label)
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
        holdout_ratings=forecast.n,
        likes=likes,
        ratings=ratings,
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
