"""A reader's ratings as evidence for or against changes: to propose hypotheses and to weigh drafts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.conf import settings

from digest.daily.tastes import signals_without_items
from digest.entities import RatedItem
from digest.feedback.peers import community_deviation
from digest.feedback.places import feedback_placed
from digest.feedback.selectors import feedback_recent
from digest.items.selectors import source_titles, sources_posts_a_day
from ranking.entities import EffectiveConfig
from ranking.taste.entities import TasteLevel
from ranking.taste.signal import TasteSignal
from suggestions.changes.change import Change
from suggestions.changes.columns import NO_NAMES, Attributes, attributes_of
from suggestions.changes.registry import COLUMN_KINDS, KINDS, SUGGESTED
from suggestions.changes.tastes import ORDER_BY_TASTE
from suggestions.models import Outcome
from suggestions.planner.by_taste import THUMBS_MIN, taste_case, taste_counting
from suggestions.planner.forecasts import Forecast, Split, forecast_of, split_by_time
from suggestions.planner.hypotheses import (
    EVIDENCE_SHOWN,
    HELPS_MIN,
    DecisionHistory,
    EvaluatedChange,
    Selection,
    acceptance_rates,
    candidate_changes,
    confidence_of,
    evaluate_change,
    has_new_ratings,
    new_ratings,
    select_changes,
    silence_code,
    taste_index,
)
from suggestions.planner.left_out import LEFT_OUT_MAX, LeftOut, Reason, nearest_unclear
from suggestions.planner.population import taste_spread_for
from suggestions.planner.tastes import (
    FALSE_SIGN_AFTER_NAMES,
    Taste,
    hits_of,
    others_lean,
    reader_preference,
    spreads_for,
    tallies_of,
    tastes_of,
)
from suggestions.proposals import Facts, Refusal, WeekEffect
from suggestions.rules import (
    change_permission,
    changes_distinct,
    evidence_refusal,
    places_moved,
    strength_refusal,
    visibility_refusal,
)
from suggestions.selectors import facts_for, targets_decided
from suggestions.week import week_for

LIMIT = 10
# The probability that a change helps for which a reader asks in words: a claim of medium confidence. Of
# those of simulated readers .05 do harm, but these mean what they write (docs/planner.md).
WORDS_HELP = 0.75
# Of a change that no rating of the past can measure.
UNMEASURED = Forecast(None, None, None, 0)


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

    - `p_helpful`: the probability that it helps, by the training ratings (0 if unknown).
    - `expected_gain`: the change of nDCG@10 that they expect.
    - `clear`: whether they lean its way clearly enough to ask.
    - `forecast`: its effect measured on holdout ratings.
    - `p_overall`: the probability by all ratings together.
    - `after`: the config with the change.
    - `false_sign`: the probability that the lean is no preference, or one the other way.
    - `others`: other readers' addition to the reader's lean towards the target, in log-odds.
    - `lean`: the reader's lean in the direction of the change, by all ratings.

    The target has `ratings`, of them `likes`. `label` is the reader's name for it.
    """

    change: Change
    p_helpful: float
    confidence: str
    forecast: Forecast
    p_overall: float
    after: EffectiveConfig
    clear: bool
    likes: int
    ratings: int
    label: str
    evidence: RatingEvidence = field(compare=False, repr=False)
    expected_gain: float = 0.0
    others: float = 0.0
    lean: float = 0.0
    false_sign: float = 0.0

    @property
    def is_against_all(self) -> bool:
        """Return whether the holdout ratings, or all ratings together, contradict it."""
        return is_contradicted(self.forecast) or self.p_overall < HELPS_MIN

    @property
    def is_author(self) -> bool:
        """Return whether its target is an author, by name or by kind."""
        column = self.change.kind.column
        attributes = self.evidence.attributes
        return column is not None and attributes.is_author(column, column.key(self.change.label))

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Return likes and ratings of the target, then of all else."""
        rated = self.evidence.rated
        else_likes = sum(item.useful for item in rated) - self.likes
        return self.likes, self.ratings, else_likes, len(rated) - self.ratings

    def refusal(self, change: Change) -> Refusal | None:
        """Return why the ratings do not support `change` (this one as it may be written), or `None`.

        Once a run has tried other names, its changes without any have to be surer (docs/planner.md).
        """
        is_sure = bool(change.names) or not change.tried or self.false_sign <= FALSE_SIGN_AFTER_NAMES
        return change.kind.contradiction(change, self.evidence.rated) or strength_refusal(
            change,
            p_overall=self.p_overall,
            supported=self.clear and is_sure and not is_contradicted(self.forecast),
            confidence=self.confidence,
            minimum=settings.ADVISOR_MIN_CONFIDENCE,
        )


@dataclass(frozen=True, slots=True)
class HypothesisReport:
    """At most ten hypotheses, best first, and the search behind them.

    `considered` counts the sources and topics tried, `patterns_found` the changes clear enough before any
    other test, `dropped` those that holdout or all ratings contradict. Without any hypothesis `silence` is
    the code of the reason; `leads` are the undecided changes, best first. `left_out` are at most five changes
    that were weighed and are no hypotheses, the nearest first.
    """

    hypotheses: tuple[WeighedChange, ...]
    patterns_found: int
    considered: int
    dropped: int = 0
    silence: str = ""
    leads: tuple[EvaluatedChange, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def is_contradicted(forecast: Forecast) -> bool:
    """Return whether the holdout ratings speak against a change: its whole 90 % interval is below zero."""
    return forecast.high is not None and forecast.high < 0


def evidence_for(
    *,
    reader_id: UUID,
    effective: EffectiveConfig,
    change: Change | None = None,
    more: Sequence[RatedItem] = (),
    now: datetime,
) -> RatingEvidence:
    """Read the reader's newest 500 ratings and derive their tastes. A fixed number of queries.

    The target of `change` is counted, too. If it is a new topic with other names, it counts in texts as well
    as in titles. The ratings have their places if `change` may need them. `more` are ratings of `now` that
    count as if they were stored. The same data give the same answer.
    """
    recent = [*more, *feedback_recent(reader_id=reader_id)]
    placed = change is None or bool(change.kind.axis)
    rated = tuple(feedback_placed(reader_id=reader_id, rated=recent) if placed else recent)
    titles = source_titles(keys={item.source for item in rated})
    split = split_by_time(rated)
    config = effective.config
    names = {change.target: change.names} if change and change.names and change.kind.is_named else NO_NAMES
    given = {column: [*column.found(rated, titles, config)] for column in COLUMN_KINDS}
    if change and change.kind.column:
        given[change.kind.column].append(change.label)
    attributes = attributes_of(rated, titles=titles, given=given, names={**config.other_names, **names})
    attributes = replace(attributes, whole=frozenset(names))
    spread = spreads_for(attributes, taste_spread_for(reader_id=reader_id))
    deviations = community_deviation(reader_id=reader_id, now=now)
    signal = taste_counting(reader_id=reader_id, configs=[effective], now=now)

    # The texts are searched once: the training part has rows of all ratings.
    hits, rows = hits_of(rated, attributes), {item.item_id: n for n, item in enumerate(rated)}
    tastes = []
    for part in (split.training, rated):
        of_part = hits[[rows[item.item_id] for item in part]]
        tallies = tallies_of(part, attributes, now, of_part)
        preference = reader_preference(part, attributes, of_part)
        others = others_lean(attributes, deviations, tallies)
        tastes.append(tastes_of(tallies, spread, others, preference, with_taste=signal is not None))
    return RatingEvidence(split, rated, attributes, tastes[0], tastes[1], titles, signal)


def change_weigh(
    *,
    reader_id: UUID,
    change: Change,
    effective: EffectiveConfig,
    more: Sequence[RatedItem] = (),
    now: datetime,
) -> WeighedChange:
    """Weigh one change of the reader's ranking, as if they had also given `more` ratings; a fixed number of
    queries."""
    evidence = evidence_for(reader_id=reader_id, effective=effective, change=change, more=more, now=now)
    case, change = _Case(reader_id, effective, evidence, now), change.named_in(effective)
    if change.words:
        return case.weigh_words(change)
    if change.kind.has_own_rule:
        return case.weigh_own(change, case.posts_of([change]))
    return case.weigh_taste(change) if change.kind.of_page else case.weigh(change)


@dataclass(frozen=True, slots=True)
class _Case:
    """The data for weighing the changes of one reader."""

    reader_id: UUID
    effective: EffectiveConfig
    evidence: RatingEvidence
    now: datetime

    def weigh(self, change: Change) -> WeighedChange:
        """Weigh a change by the reader's taste for its target, and measure it on the holdout ratings."""
        evidence = self.evidence
        choice = self._evaluate(evidence.tastes, change)
        overall = self._evaluate(evidence.overall_tastes, change)
        forecast = self._forecast(change)
        taste = evidence.tastes[taste_index(change, evidence.attributes)] if choice else None
        return self._compose(
            change,
            forecast,
            p_helpful=choice.p_helpful if choice else 0.0,
            # Without any rating it is as likely to help as to harm.
            p_overall=overall.p_helpful if overall else 0.5,
            clear=choice is not None and choice.clear,
            expected_gain=choice.expected_gain if choice else 0.0,
            others=taste.others if taste else 0.0,
            false_sign=taste.false_sign if taste else 0.0,
            lean=overall.lean if overall else 0.0,
        )

    def weigh_taste(self, change: Change) -> WeighedChange:
        """Weigh the order of the page by the reader's thumbs, each predicted from those of other days.

        Without evidence of its own the change gets the thumbs that support it best.
        """
        signal = signals_without_items(reader_ids=[self.reader_id], now=self.now)[self.reader_id]
        level, rated = TasteLevel(str(change.after)), self.evidence.rated
        case = taste_case(signal, self.effective, level, rated, self.now, seed=str(self.reader_id))
        return self._compose(
            change if change.evidence else change.with_evidence(case.evidence),
            case.forecast,
            p_helpful=case.p_helpful,
            p_overall=case.p_helpful,
            clear=case.clear,
            expected_gain=case.forecast.gain or 0.0,
        )

    def weigh_own(self, change: Change, posts: Mapping[str, float]) -> WeighedChange:
        """Weigh a change of a kind with its own statistical rule, and measure it if that is possible.

        `posts` is how many articles a day its source brings, if its kind asks.
        """
        most, kind = change.kind.posts_a_day_max, change.kind
        is_rare = most is None or posts.get(change.target, 0.0) <= most
        choosing = self.evidence.split.training if kind.is_measured else self.evidence.rated
        p_helpful = kind.probability(change, choosing) if is_rare else 0.0
        forecast = self._forecast(change) if kind.is_measured else UNMEASURED
        return self._compose(
            kind.with_counts(change, self.evidence.rated),
            forecast,
            p_helpful=p_helpful,
            p_overall=max(p_helpful, 0.5),
            clear=p_helpful > 0,
            expected_gain=forecast.gain or 0.0,
        )

    def weigh_words(self, change: Change) -> WeighedChange:
        """Weigh a change that the reader's own words ask for, whatever thumbs say; nothing measures it."""
        return self._compose(
            change,
            UNMEASURED,
            p_helpful=WORDS_HELP,
            p_overall=WORDS_HELP,
            clear=True,
            expected_gain=0.0,
        )

    def _forecast(self, change: Change) -> Forecast:
        """Measure a change on the holdout ratings."""
        seed, after = f"{self.reader_id}:{change.field}:{change.target}", change.applied(self.effective)
        holdout, signal = self.evidence.split.holdout, self.evidence.signal
        return forecast_of(holdout, self.effective, after, now=self.now, seed=seed, taste=signal)

    def posts_of(self, changes: Iterable[Change]) -> Mapping[str, float]:
        """Return the articles a day of the sources of the changes whose kind asks. One query, or none."""
        keys = {change.target for change in changes if change.kind.posts_a_day_max is not None}
        return sources_posts_a_day(reader_id=self.reader_id, sources=keys, now=self.now) if keys else {}

    def _compose(
        self,
        change: Change,
        forecast: Forecast,
        *,
        p_helpful: float,
        p_overall: float,
        clear: bool,
        expected_gain: float,
        **of_taste: float,
    ) -> WeighedChange:
        """Return a change as weighed; `of_taste` are `others`, `lean` and `false_sign`, if thumbs lean."""
        about = change.among(self.evidence.rated)
        return WeighedChange(
            change=change,
            p_helpful=p_helpful,
            confidence=confidence_of(p_helpful, forecast.low, forecast.high),
            forecast=forecast,
            after=change.applied(self.effective),
            likes=sum(item.useful for item in about),
            ratings=len(about),
            label=change.kind.name_of(change.label, self.evidence.titles),
            evidence=self.evidence,
            p_overall=p_overall,
            clear=clear,
            expected_gain=expected_gain,
            **of_taste,
        )

    def _evaluate(self, tastes: Sequence[Taste], change: Change) -> EvaluatedChange | None:
        """Evaluate a change; `None` without ratings, or for a source that is read but was never rated."""
        attributes = self.evidence.attributes
        known = not change.kind.of_source or change.target in attributes.sources
        return evaluate_change(change, tastes, attributes) if self.evidence.rated and known else None


def hypotheses_for(*, reader_id: UUID, now: datetime, limit: int = LIMIT) -> HypothesisReport:
    """Return at most `limit` changes that `suggestion_candidate` would accept unchanged, best first.

    They are chosen by five sixths of the ratings (all below 120) and measured on the rest. Changes whose
    whole measured interval is below zero, or that all ratings together contradict, are dropped and counted.
    Changes whose effect nobody would have seen last week are left out, and so are those that ask about one
    thing a second time. Without any hypothesis the report has the reason, and the undecided leads.
    """
    facts = facts_for(reader_id=reader_id, now=now)
    evidence = evidence_for(reader_id=reader_id, effective=facts.effective, now=now)
    case = _Case(reader_id, facts.effective, evidence, now)
    history = _history(reader_id, facts)
    selection = _select(evidence, facts, history, limit)
    measured = [case.weigh(choice.change) for choice in selection.chosen]
    supported = [one for one in measured if not one.is_against_all]
    rule = _by_rule(case, facts, history)
    found = (*_by_words(case, facts, supported), *_by_taste(case, facts), *supported, *rule)
    changes = [one.change for one in found]
    week = week_for(reader_id=reader_id, before=facts.effective, changes=changes, now=now) if found else None
    effects = list(zip(found, week.effects(changes) if week else (), strict=True))
    seen = [one for one, effect in effects if not visibility_refusal(one.change, effect)]
    distinct = changes_distinct([one.change for one in seen], facts.asked, evidence.rated)
    proposable = [one for one in seen if one.change in distinct]
    ahead = [one for one in proposable if one not in rule]
    hypotheses = (*ahead[: limit - len(rule)], *(one for one in proposable if one in rule))
    silence = silence_code(
        ratings=len(evidence.split.training),
        tried=selection.tried,
        not_permitted=selection.not_permitted + len(seen) - len(proposable),
        declined=selection.declined,
        dropped=len(measured) - len(supported),
        best=selection.best,
        unseen=len(found) - len(seen),
        kinds_off=selection.kinds_off,
    )
    weighed = _Weighed(selection, measured, effects, proposable, hypotheses)
    return HypothesisReport(
        hypotheses=hypotheses,
        patterns_found=selection.clear,
        considered=len(evidence.attributes.sources) + len(evidence.attributes.topics),
        dropped=len(measured) - len(supported),
        silence="" if hypotheses else silence,
        leads=selection.leads,
        left_out=_left_out(case, facts, history, weighed),
    )


class _Weighed(NamedTuple):
    """The steps of a search: the choice, what was measured, its effects last week, and what remained."""

    selection: Selection
    measured: Sequence[WeighedChange]
    effects: Sequence[tuple[WeighedChange, WeekEffect]]
    proposable: Sequence[WeighedChange]
    hypotheses: Sequence[WeighedChange]


def _left_out(case: _Case, facts: Facts, history: DecisionHistory, weighed: _Weighed) -> tuple[LeftOut, ...]:
    """Return the changes nearest to a hypothesis that are none, with the first reason of each. No query."""
    found: list[tuple[Change, Reason]] = []
    room = float(len(weighed.selection.chosen) or len(weighed.hypotheses))
    for one, effect in weighed.effects:
        if visibility_refusal(one.change, effect):
            found.append((one.change, ("unseen", *places_moved(one.change, effect))))
        elif one not in weighed.proposable:
            found.append((one.change, ("repeated", None, None)))
        elif one not in weighed.hypotheses:
            found.append((one.change, ("no_room", float(len(weighed.proposable)), room)))
    for one in weighed.measured:
        if is_contradicted(one.forecast):
            found.append((one.change, ("tests_against", one.forecast.high, 0.0)))
        elif one.is_against_all:
            found.append((one.change, ("all_against", one.p_overall, HELPS_MIN)))
    chosen = [one.change for one in weighed.selection.chosen]
    for choice in weighed.selection.alone:
        if choice.clear and choice.change not in chosen:
            found.append((choice.change, _bar_of(choice.change, facts, history, case, weighed)))
    found += nearest_unclear(weighed.selection.alone)
    titles = case.evidence.titles
    return tuple(
        LeftOut.of(change, change.kind.name_of(change.label, titles), reason)
        for change, reason in found[:LEFT_OUT_MAX]
    )


def _bar_of(change: Change, facts: Facts, history: DecisionHistory, case: _Case, weighed: _Weighed) -> Reason:
    """Return why a change that the reader clearly leans to was not chosen."""
    if refused := change_permission(change, facts):
        return refused.code, None, None
    new, needed = new_ratings(change, history, case.evidence.rated)
    if new < needed:
        return "decided", float(new), float(needed)
    if (change.suggestion_type, (change.field, change.target)) in history.barred:
        return "harmed", None, None
    return "no_room", float(weighed.selection.clear), float(len(weighed.selection.chosen))


def _by_words(case: _Case, facts: Facts, supported: Sequence[WeighedChange]) -> tuple[WeighedChange, ...]:
    """Return the changes that the reader's own words ask for and thumbs do not, if they may be suggested."""
    known = {(one.change.field, one.change.target) for one in supported}
    return tuple(
        case.weigh_words(change.with_evidence(change.evidence[:EVIDENCE_SHOWN]))
        for change in facts.wished
        if (change.field, change.target) not in known and change_permission(change, facts) is None
    )


def _by_taste(case: _Case, facts: Facts) -> tuple[WeighedChange, ...]:
    """Return the order of the page by thumbs as a hypothesis, if they bear it out and it may be suggested."""
    change = ORDER_BY_TASTE.change(facts.effective, TasteLevel.ON)
    refused = change_permission(change, facts)
    if change.before != TasteLevel.OFF or len(case.evidence.rated) < THUMBS_MIN or refused:
        return ()
    weighed = case.weigh_taste(change)
    if not weighed.clear or is_contradicted(weighed.forecast) or evidence_refusal(weighed.change):
        return ()
    return (weighed,)


def _by_rule(case: _Case, facts: Facts, history: DecisionHistory) -> tuple[WeighedChange, ...]:
    """Return the rule for a source that the ratings bear out best, if any may be suggested."""
    rated = case.evidence.rated
    training = case.evidence.split.training
    found = [
        change
        for kind in SUGGESTED
        for change in kind.found(training if kind.is_measured else rated, facts.effective)
    ]
    if not found:
        return ()
    open_ = [
        change
        for change in found
        if change_permission(change, facts) is None
        and evidence_refusal(change) is None
        and has_new_ratings(change, history, rated)
    ]
    posts = case.posts_of(open_)
    weighed = (case.weigh_own(change, posts) for change in open_)
    return tuple(
        sorted(
            (one for one in weighed if one.clear and not one.is_against_all),
            key=lambda one: -one.p_helpful,
        )[:1]
    )


def _history(reader_id: UUID, facts: Facts) -> DecisionHistory:
    """Return the reader's decisions, and the changes that did harm. Two queries."""
    harmful = Outcome.objects.filter(
        reader_id=reader_id, kind=Outcome.Kind.EFFECT, outcome=Outcome.Result.HARMED
    ).values_list("suggestion_type", "target_key")
    return DecisionHistory(
        decided=targets_decided(reader_id=reader_id),
        acceptance=acceptance_rates(facts.answers),
        barred=frozenset((kind, (str(KINDS[kind].field), key)) for kind, key in harmful),
    )


def _select(evidence: RatingEvidence, facts: Facts, history: DecisionHistory, limit: int) -> Selection:
    if not evidence.rated:
        return Selection((), (), 0, 0, 0, 0, 0.0)

    changes = candidate_changes(evidence.attributes, facts.effective, evidence.rated)
    refused = (change for change in changes if change_permission(change, facts))
    not_now = frozenset((change.suggestion_type, (change.field, change.target)) for change in refused)
    return select_changes(
        changes,
        evidence.tastes,
        evidence.attributes,
        evidence.rated,
        declined=facts.declined,
        kinds=facts.kinds,
        history=replace(history, barred=history.barred | not_now),
        limit=limit,
    )
