"""A reader's ratings as evidence for or against changes: to propose hypotheses and to weigh drafts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings

from digest.entities import RatedItem
from digest.feedback.peers import community_deviation
from digest.feedback.selectors import feedback_recent
from digest.items.selectors import source_titles
from ranking.entities import EffectiveConfig
from ranking.taste.entities import TasteLevel
from ranking.taste.signal import TasteSignal
from suggestions.changes.change import Change
from suggestions.changes.registry import KINDS
from suggestions.changes.tastes import ORDER_BY_TASTE
from suggestions.models import Outcome
from suggestions.planner.by_taste import THUMBS_MIN, taste_case, taste_counting
from suggestions.planner.forecasts import Forecast, Split, forecast_of, split_by_time
from suggestions.planner.hypotheses import (
    HELPS_MIN,
    DecisionHistory,
    EvaluatedChange,
    Hypothesis,
    HypothesisReport,
    Lead,
    Selection,
    acceptance_rates,
    candidate_changes,
    confidence_of,
    evaluate_change,
    select_changes,
    silence_code,
)
from suggestions.planner.phrases import Attributes, attributes_of, words_disliked
from suggestions.planner.population import taste_spread_for
from suggestions.planner.tastes import Taste, others_lean, reader_preference, tallies_of, tastes_of
from suggestions.proposals import Facts, Refusal
from suggestions.rules import evidence_refusal, permission_refusal, strength_refusal
from suggestions.selectors import facts_for, targets_decided

LIMIT = 10


@dataclass(frozen=True, slots=True)
class RatingEvidence:
    """A reader's ratings with the tastes they lead to.

    `rated` are the newest ones, newest first, `split` the same in two parts (the second empty below 120);
    `tastes` are those of the training part, by column, `overall_tastes` those of all of them. `titles` are
    the sources' names, `signal` the examples that order the reader's page, if they do.
    """

    split: Split
    rated: tuple[RatedItem, ...]
    attributes: Attributes
    tastes: Sequence[Taste]
    overall_tastes: Sequence[Taste]
    titles: dict[str, str]
    signal: TasteSignal | None = None


@dataclass(frozen=True, slots=True)
class WeighedChange:
    """A change with its probabilities and its measured effect.

    `p_helpful` is the probability that it helps by the training ratings (0 where nothing is known),
    `clear` whether they lean its way clearly enough to ask, `forecast` its effect measured on holdout
    ratings, `p_overall` the probability by all ratings together, `after` the config with it, `others` what
    other readers' thumbs add to the reader's lean towards the target, in log-odds.
    """

    p_helpful: float
    confidence: str
    forecast: Forecast
    p_overall: float
    after: EffectiveConfig
    evidence: RatingEvidence
    clear: bool
    expected_gain: float = 0.0
    others: float = 0.0

    def refusal(self, change: Change) -> Refusal | None:
        """Return why the ratings do not support `change` strongly enough, or `None`."""
        return change.kind.contradiction(change, self.evidence.rated) or strength_refusal(
            change,
            p_overall=self.p_overall,
            supported=self.clear and not contradicted(self.forecast),
            confidence=self.confidence,
            minimum=settings.ADVISOR_MIN_CONFIDENCE,
        )


def contradicted(forecast: Forecast) -> bool:
    """Return whether the holdout ratings speak against a change: its whole 90 % interval is below zero."""
    return forecast.high is not None and forecast.high < 0


def evidence_for(
    *,
    reader_id: UUID,
    effective: EffectiveConfig,
    topics: Iterable[str] = (),
    words: Iterable[str] = (),
    now: datetime,
) -> RatingEvidence:
    """Read the reader's newest 500 ratings and derive their tastes; a fixed number of queries.

    `topics` and `words` are columns besides the config's own topics and what is found in the ratings. The
    same data give the same answer.
    """
    rated = tuple(feedback_recent(reader_id=reader_id))
    titles = source_titles(keys={item.source for item in rated})
    split = split_by_time(rated)
    wanted = [*effective.config.topics, *topics]
    config = effective.config
    hidden = words_disliked(rated, titles, (*config.topics, *config.keyword_boosts))
    attributes = attributes_of(rated, sources=(), topics=wanted, titles=titles, words=(*hidden, *words))
    spread = taste_spread_for(reader_id=reader_id)
    deviations = community_deviation(reader_id=reader_id, now=now)

    def tastes(part: Sequence[RatedItem]) -> list[Taste]:
        tallies = tallies_of(part, attributes, now)
        preference = reader_preference(part, attributes)
        return tastes_of(tallies, spread, others_lean(attributes, deviations, tallies), preference)

    signal = taste_counting(reader_id=reader_id, configs=[effective], now=now)
    return RatingEvidence(split, rated, attributes, tastes(split.training), tastes(rated), titles, signal)


def change_counts(evidence: RatingEvidence, change: Change) -> tuple[int, int]:
    """Return (likes, ratings) of the target among the newest ratings."""
    found = change.among(evidence.rated)
    return sum(item.useful for item in found), len(found)


def change_label(evidence: RatingEvidence, change: Change) -> str:
    """Return the reader's name for the target: a source's title, or the topic or word itself."""
    return change.kind.name_of(change.label, evidence.titles)


def change_weigh(
    *, reader_id: UUID, change: Change, effective: EffectiveConfig, now: datetime
) -> WeighedChange:
    """Weigh one change of the reader's ranking; a fixed number of queries."""
    if change.kind.of_page:
        return _weigh_taste(reader_id, change, effective, now)
    added = {change.kind.column: (change.label,)} if change.kind.column else {}
    case = evidence_for(reader_id=reader_id, effective=effective, now=now, **added)
    choice = _evaluated(case, case.tastes, change)
    p_helpful = choice.p_helpful if choice else 0.0
    forecast = _forecast(case, change, effective, reader_id, now)
    return WeighedChange(
        p_helpful=p_helpful,
        confidence=confidence_of(p_helpful, forecast.low, forecast.high),
        forecast=forecast,
        p_overall=_p_overall(case, change),
        after=change.applied(effective),
        evidence=case,
        clear=choice is not None and choice.clear,
        expected_gain=choice.expected_gain if choice else 0.0,
        others=_others(case, change) if choice else 0.0,
    )


def _weigh_taste(reader_id: UUID, change: Change, effective: EffectiveConfig, now: datetime) -> WeighedChange:
    """Weigh the order of the page by the reader's thumbs, each told by those of other days."""
    evidence = evidence_for(reader_id=reader_id, effective=effective, now=now)
    level = TasteLevel(str(change.after))
    case = taste_case(reader_id=reader_id, effective=effective, level=level, rated=evidence.rated, now=now)
    return WeighedChange(
        p_helpful=case.p_helpful,
        confidence=confidence_of(case.p_helpful, case.forecast.low, case.forecast.high),
        forecast=case.forecast,
        p_overall=case.p_helpful,
        after=change.applied(effective),
        evidence=evidence,
        clear=case.clear,
        expected_gain=case.forecast.gain or 0.0,
    )


def _others(evidence: RatingEvidence, change: Change) -> float:
    return evidence.tastes[evidence.attributes.column(change.field, change.target)].others


def _evaluated(evidence: RatingEvidence, tastes: Sequence[Taste], change: Change) -> EvaluatedChange | None:
    """Evaluate one change; `None` without ratings, or for a source that is read but was never rated."""
    known = not change.kind.of_source or change.target in evidence.attributes.sources
    return evaluate_change(change, tastes, evidence.attributes) if evidence.rated and known else None


def _p_overall(evidence: RatingEvidence, change: Change) -> float:
    """Return P(it helps) by all the reader's ratings; without any, one half."""
    choice = _evaluated(evidence, evidence.overall_tastes, change)
    return choice.p_helpful if choice else 0.5


def _forecast(
    evidence: RatingEvidence, change: Change, effective: EffectiveConfig, reader_id: UUID, now: datetime
) -> Forecast:
    after = change.applied(effective)
    seed = f"{reader_id}:{change.field}:{change.target}"
    return forecast_of(evidence.split.holdout, effective, after, now=now, seed=seed, taste=evidence.signal)


def hypotheses_for(*, reader_id: UUID, now: datetime, limit: int = LIMIT) -> HypothesisReport:
    """Return at most `limit` changes that `suggestion_candidate` would take as they are, best first.

    Chosen by five sixths of the ratings (all below 120), measured on the rest; those whose whole measured
    interval is below zero, or that all ratings together contradict, are dropped and counted. Without any
    hypothesis the report has the reason, and the undecided leads.
    """
    facts = facts_for(reader_id=reader_id, now=now)
    evidence = evidence_for(reader_id=reader_id, effective=facts.effective, now=now)
    selection = _select(evidence, facts, reader_id, limit)
    measured = [(c, _forecast(evidence, c.change, facts.effective, reader_id, now)) for c in selection.chosen]
    hypotheses = tuple(
        _hypothesis(choice, forecast, evidence)
        for choice, forecast in measured
        if not contradicted(forecast) and _p_overall(evidence, choice.change) >= HELPS_MIN
    )
    dropped = len(measured) - len(hypotheses)
    hypotheses = (*_by_taste(evidence, facts, reader_id, now), *hypotheses)[:limit]
    silence = silence_code(
        ratings=len(evidence.split.training),
        tried=selection.tried,
        not_permitted=selection.not_permitted,
        declined=selection.declined,
        dropped=dropped,
        best=selection.best,
    )
    return HypothesisReport(
        hypotheses=hypotheses,
        patterns_found=selection.clear,
        considered=len(evidence.attributes.sources) + len(evidence.attributes.topics),
        dropped=dropped,
        silence="" if hypotheses else silence,
        leads=tuple(_lead(choice, evidence) for choice in selection.leads),
    )


def _by_taste(
    evidence: RatingEvidence, facts: Facts, reader_id: UUID, now: datetime
) -> tuple[Hypothesis, ...]:
    """Return the order of the page by thumbs as a hypothesis, if they bear it out and it may be suggested."""
    change = ORDER_BY_TASTE.change(facts.effective, TasteLevel.ON)
    target = change.field, change.target
    refused = permission_refusal(target, facts, change.suggestion_type)
    if change.before != TasteLevel.OFF or len(evidence.rated) < THUMBS_MIN or refused:
        return ()
    case = taste_case(
        reader_id=reader_id,
        effective=facts.effective,
        level=TasteLevel.ON,
        rated=evidence.rated,
        now=now,
    )
    change = change.with_evidence(case.evidence)
    if not case.clear or contradicted(case.forecast) or evidence_refusal(change):
        return ()
    likes = sum(item.useful for item in evidence.rated)
    return (
        Hypothesis(
            change=change,
            label=change.label,
            p_helpful=case.p_helpful,
            confidence=confidence_of(case.p_helpful, case.forecast.low, case.forecast.high),
            expected_gain=case.forecast.gain or 0.0,
            forecast=case.forecast,
            likes=likes,
            ratings=len(evidence.rated),
            evidence_urls=tuple(item.url for item in case.evidence),
        ),
    )


def _select(evidence: RatingEvidence, facts: Facts, reader_id: UUID, limit: int) -> Selection:
    if not evidence.rated:
        return Selection((), (), 0, 0, 0, 0, 0.0)

    def permitted(change: Change) -> bool:
        return permission_refusal((change.field, change.target), facts, change.suggestion_type) is None

    harmful = Outcome.objects.filter(
        reader_id=reader_id, kind=Outcome.Kind.EFFECT, outcome=Outcome.Result.HARMED
    ).values_list("suggestion_type", "target_key")
    history = DecisionHistory(
        decided=targets_decided(reader_id=reader_id),
        acceptance=acceptance_rates(facts.answers),
        harmed=frozenset((kind, (str(KINDS[kind].field), key)) for kind, key in harmful),
    )
    return select_changes(
        candidate_changes(evidence.attributes, facts.effective, evidence.rated),
        evidence.tastes,
        evidence.attributes,
        evidence.rated,
        permitted=permitted,
        declined=facts.declined,
        history=history,
        limit=limit,
    )


def _hypothesis(choice: EvaluatedChange, forecast: Forecast, evidence: RatingEvidence) -> Hypothesis:
    change = choice.change
    likes, ratings = change_counts(evidence, change)
    return Hypothesis(
        change=change,
        label=change_label(evidence, change),
        p_helpful=choice.p_helpful,
        confidence=confidence_of(choice.p_helpful, forecast.low, forecast.high),
        expected_gain=choice.expected_gain,
        forecast=forecast,
        likes=likes,
        ratings=ratings,
        evidence_urls=tuple(item.url for item in change.evidence),
    )


def _lead(choice: EvaluatedChange, evidence: RatingEvidence) -> Lead:
    label = change_label(evidence, choice.change)
    return Lead(choice.change, label, choice.p_helpful, choice.information)
