"""The check of accepted changes after two weeks: ratings before and after, digests since, and the verdict.

A batch costs a fixed number of queries for any number of changes: the decisions, the other changes of those
readers, their ratings, their digests and their settings.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet, Value

from digest.models import Feedback, Impression
from ranking.common.isolation import isolate_batches
from ranking.common.text import fold
from ranking.config_body import Body, body_effective
from ranking.entities import EffectiveConfig
from ranking.selectors import config_effective_many
from suggestions.changes.change import Aspects, Change
from suggestions.changes.registry import change_stored
from suggestions.models import Outcome, OutcomeArchive, PreferenceProfile, Suggestion
from suggestions.outcomes.by_taste import taste_effect
from suggestions.outcomes.effects import (
    WINDOW_DAYS,
    Effect,
    EffectCase,
    Exposure,
    RankedItem,
    Tally,
    effect_incomparable,
    effect_measure,
    exposure_of,
)
from suggestions.outcomes.selectors import outcome_full
from suggestions.outcomes.services import OutcomeValues, outcome_build, profiles_update
from suggestions.proposals import HARMED, HELPED, UNCLEAR

log = structlog.get_logger(__name__)
Kind = Outcome.Kind
Progress = Callable[[int, int], None]
Judged = tuple[Outcome, Effect]
WINDOW = timedelta(days=WINDOW_DAYS)
BATCH = 50


@dataclass(frozen=True, slots=True)
class Scope:
    """The target of one change, and the articles shown as evidence for it."""

    change: Change
    cited: frozenset[int] = frozenset()

    @property
    def key(self) -> tuple[str, str]:
        """Return the setting and the identity of the target."""
        return self.change.field, self.change.target

    def covers(self, item: "Rating | ShownItem") -> bool:
        """Return True if the change affects the item."""
        return self.change.finder(item.aspects)


@dataclass(frozen=True, slots=True)
class Rating:
    """A rating with the aspects of its item, which say which changes affect it."""

    aspects: Aspects
    useful: bool
    at: datetime
    item_id: int = 0


@dataclass(frozen=True, slots=True)
class ShownItem:
    """One item of a digest with its stored score."""

    digest_id: int
    built_at: datetime
    aspects: Aspects
    score: float
    interest: float


@dataclass(frozen=True, slots=True)
class BatchData:
    """The data that a batch of changes is judged by, per reader."""

    ratings: dict[UUID, list[Rating]]
    shown: dict[UUID, list[ShownItem]]
    changes: dict[UUID, list[tuple[datetime, Scope]]]
    configs: dict[UUID, EffectiveConfig]


def decisions_due(*, now: datetime) -> list[int]:
    """Return the ids of decisions accepted two weeks ago or more, not reverted, not checked; oldest first."""
    return list(decisions_unchecked(now=now).order_by("decided_at", "pk").values_list("pk", flat=True))


def decisions_unchecked(*, now: datetime) -> QuerySet[Outcome]:
    """Return the decisions accepted two weeks ago or more that were neither reverted nor checked."""
    followed = Outcome.objects.filter(suggestion=OuterRef("suggestion"), kind__in=[Kind.EFFECT, Kind.REVERT])
    return _accepts().filter(~Exists(followed), decided_at__lte=now - WINDOW)


def cases_of(*, decision_ids: Collection[int], taken: bool = True) -> list[tuple[Outcome, EffectCase]]:
    """Return each of these decisions, its suggestion joined, with its case; eight queries.

    Accepted ones, or if not `taken` refused and expired ones, as if they had been accepted.
    """
    rows = (
        (_accepts() if taken else Outcome.objects.filter(kind=Kind.DECISION))
        .filter(pk__in=decision_ids)
        .select_related("suggestion", "archive")
        .prefetch_related("suggestion__evidence")
    )
    decisions = list(rows.order_by("decided_at", "pk"))
    data = _batch_data(decisions)
    return [(decision, _case(decision, data, taken=taken)) for decision in decisions]


def _accepts() -> QuerySet[Outcome]:
    return Outcome.objects.filter(kind=Kind.DECISION, outcome=Outcome.Result.ACCEPTED)


def _batch_data(decisions: Sequence[Outcome]) -> BatchData:
    if not decisions:
        return BatchData({}, {}, {}, {})
    readers = sorted({row.reader_id for row in decisions})
    start = decisions[0].decided_at - WINDOW
    end = decisions[-1].decided_at + WINDOW
    changes = _changes(readers, start, end)
    with_text = any(not scope.change.kind.of_source for rows in changes.values() for _, scope in rows)
    return BatchData(
        ratings=_ratings(readers, start, end, with_text),
        shown=_impressions(readers, start, end, with_text),
        changes=changes,
        configs=config_effective_many(reader_ids=readers),
    )


def _changes(
    readers: Collection[UUID], start: datetime, end: datetime
) -> dict[UUID, list[tuple[datetime, Scope]]]:
    rows = _accepts().filter(reader_id__in=readers, decided_at__gte=start, decided_at__lt=end)
    found = rows.order_by("pk").values_list(
        "reader_id",
        "decided_at",
        "suggestion_type",
        "target_key",
        "suggestion__suggested_value",
        "suggestion__other_names",
    )
    changes: defaultdict[UUID, list[tuple[datetime, Scope]]] = defaultdict(list)
    for reader_id, at, kind, key, value, names in found:
        change = change_stored(kind=kind, target=key, value=value, names=names)
        changes[reader_id].append((at, Scope(change)))
    return dict(changes)


def _ratings(
    readers: Collection[UUID], start: datetime, end: datetime, with_text: bool
) -> dict[UUID, list[Rating]]:
    # Answers to our own questions depend on the questions, not on the digest.
    read = Feedback.objects.filter(reader_id__in=readers, origin=Feedback.Origin.READING)
    rows = read.filter(at__gte=start, at__lt=end).order_by("pk")
    text = F("item__text") if with_text else Value("")
    named = [F(f"item__{name}") if with_text else Value("") for name in ("categories", "author")]
    found = rows.values_list(
        "reader_id", "item__source_id", "item__title", text, *named, "useful", "at", "item_id"
    )
    ratings: defaultdict[UUID, list[Rating]] = defaultdict(list)
    for reader_id, source, title, body, categories, author, *rating in found.iterator():
        folded = _fold_text(title, body, with_text)
        ratings[reader_id].append(Rating(Aspects.of(source, folded, categories, author), *rating))
    return dict(ratings)


def _impressions(
    readers: Collection[UUID], start: datetime, end: datetime, with_text: bool
) -> dict[UUID, list[ShownItem]]:
    rows = Impression.objects.filter(
        digest__reader_id__in=readers, digest__built_at__gte=start, digest__built_at__lt=end
    ).order_by("digest_id", "rank")
    text = F("item__text") if with_text else Value("")
    named = [F(f"item__{name}") if with_text else Value("") for name in ("categories", "author")]
    found = rows.values_list(
        "digest__reader_id", "digest_id", "digest__built_at", "item__source_id", "item__title", text, *named,
        "score", "parts__interest",
    )  # fmt: skip
    shown: defaultdict[UUID, list[ShownItem]] = defaultdict(list)
    for reader_id, digest_id, built_at, source, title, body, categories, author, *scores in found.iterator():
        score, interest = scores
        about = Aspects.of(source, _fold_text(title, body, with_text), categories, author)
        shown[reader_id].append(ShownItem(digest_id, built_at, about, score, float(interest or 1.0)))
    return dict(shown)


def _fold_text(title: str, text: str, with_text: bool) -> str:
    return fold(f"{title}\n{text}") if with_text else ""


def _case(decision: Outcome, data: BatchData, *, taken: bool) -> EffectCase:
    """Return the ratings in equal windows before and after, and the exposure after."""
    suggestion, at, reader_id = decision.suggestion, decision.decided_at, decision.reader_id
    cited = frozenset(row.item_id or 0 for row in suggestion.evidence.all())
    full, change = outcome_full(outcome=decision), suggestion.change
    scope = Scope(
        change.named_in(body_effective(full.config_before)) if full.config_before else change, cited
    )
    others = [
        other
        for when, other in data.changes.get(reader_id, ())
        if at - WINDOW <= when < at + WINDOW and other.key != scope.key
    ]
    ratings = data.ratings.get(reader_id, ())
    before = [t for t in ratings if at - WINDOW <= t.at < at]
    after = [t for t in ratings if at <= t.at < at + WINDOW]
    return EffectCase(
        kind=scope.change.kind,
        label=suggestion.label,
        scope_before=_tally(t for t in before if scope.covers(t)),
        rest_before=_tally(_rest(before, scope, others)),
        scope_after=_scope_after(scope, before, after),
        rest_after=_tally(_rest(after, scope, others)),
        exposure=(_exposure if taken else _exposure_untaken)(
            decision, scope, full, data.shown.get(reader_id, ())
        ),
        changed_again=_is_changed_again(
            scope.change, full.config_after if taken else full.config_before, data.configs[reader_id]
        ),
    )


def _tally(ratings: Iterable[Rating]) -> Tally:
    useful = [rating.useful for rating in ratings]
    return Tally(sum(useful), len(useful))


def _rest(ratings: Iterable[Rating], scope: Scope, others: Sequence[Scope]) -> list[Rating]:
    """Return the ratings that neither this change nor another of these weeks affects."""
    touched = (scope, *others)
    return [t for t in ratings if not any(other.covers(t) for other in touched)]


def _scope_after(scope: Scope, before: Sequence[Rating], after: Sequence[Rating]) -> Tally:
    """Return later ratings of the target; for a hidden target, earlier ones that were not cited.

    The cited ones chose the change, and would confirm it.
    """
    counted = [t for t in before if t.item_id not in scope.cited] if scope.change.kind.hides else after
    return _tally(t for t in counted if scope.covers(t))


def _exposure(
    decision: Outcome, scope: Scope, full: Outcome | OutcomeArchive, shown: Iterable[ShownItem]
) -> Exposure | None:
    """Return the scope's share of the digests of the two weeks after, with and without the change.

    For a mute nobody can know the digests since without the change, so the two weeks before stand in.
    """
    at, change = decision.decided_at, scope.change
    bodies = full.config_before, full.config_after
    configs = [body_effective(body) for body in bodies if body]
    if len(configs) == len(bodies) and change.kind.same(configs[0], configs[1], change.label):
        return Exposure(0.0, 0.0)
    before, after = (body_effective(body).weight(change.target) if body else 1.0 for body in bodies)
    ratio = before / after
    digests: defaultdict[int, list[RankedItem]] = defaultdict(list)
    earlier: defaultdict[int, list[RankedItem]] = defaultdict(list)
    for item in shown:
        covered = scope.covers(item)
        if at <= item.built_at < at + WINDOW:
            without = change.kind.rescore(item.score, item.interest, ratio, made=False)
            digests[item.digest_id].append(
                RankedItem(item.score, without if covered else item.score, covered)
            )
        elif at - WINDOW <= item.built_at < at:
            earlier[item.digest_id].append(RankedItem(item.score, item.score, covered))
    since = exposure_of(list(digests.values()))
    if not change.kind.hides:
        return since
    then = exposure_of(list(earlier.values()))
    return Exposure(then.with_, since.with_) if then and since else None


def _exposure_untaken(
    decision: Outcome, scope: Scope, full: Outcome | OutcomeArchive, shown: Iterable[ShownItem]
) -> Exposure | None:
    """Return the scope's share of the two weeks' digests as they were, and as the change would order them."""
    at, change = decision.decided_at, scope.change
    weight = body_effective(full.config_before).weight(change.target) if full.config_before else 1.0
    ratio = 1.0 if change.weight is None else change.weight / weight
    digests: defaultdict[int, list[RankedItem]] = defaultdict(list)
    for item in shown:
        if at <= item.built_at < at + WINDOW:
            covered = scope.covers(item)
            made = change.kind.rescore(item.score, item.interest, ratio, made=True)
            digests[item.digest_id].append(RankedItem(made if covered else item.score, item.score, covered))
    return exposure_of(list(digests.values()))


def _is_changed_again(change: Change, agreed: Body | None, current: EffectiveConfig) -> bool:
    """Return True if somebody changed the target since; learned weights do not count."""
    return bool(agreed) and change.kind.changed_by_hand(body_effective(agreed or {}), current, change.label)


def effects_check(*, now: datetime, progress: Progress | None = None) -> dict[str, Any]:
    """Judge every accepted change of two weeks ago or more that was not judged or reverted before.

    Returns `{"due", "checked", "helped", "harmed", "unclear", "effects": [{"suggestion_id", "reader_id",
    "suggestion_type", "outcome", "reason", "p_helped"}]}`. Each batch of 50 costs a fixed number of queries
    and is one transaction. If it fails, each change is checked alone. A second or simultaneous run finds only
    the rest. `progress` gets (done, due).
    """
    due = decisions_due(now=now)
    rows: list[dict[str, Any]] = []
    readers = dict(Outcome.objects.filter(pk__in=due).values_list("pk", "reader_id"))

    def check(some: Sequence[int]) -> list[dict[str, Any]]:
        cases = cases_of(decision_ids=some)
        judged = [(row, _measure(row, case)) for row, case in cases]
        found = [_row(decision, effect) for decision, effect in _store(judged, now)]
        if progress:
            progress(due.index(some[-1]) + 1, len(due))
        return found

    for found in isolate_batches(due, check, event="effect_check_failed", size=BATCH, key_of=readers.get):
        rows += found
    verdicts = Counter(row["outcome"] for row in rows)
    counts = {verdict: verdicts[verdict] for verdict in (HELPED, HARMED, UNCLEAR)}
    log.info("effects_checked", due=len(due), checked=len(rows), **counts)
    return {"due": len(due), "checked": len(rows), **counts, "effects": rows}


def _measure(decision: Outcome, case: EffectCase) -> Effect:
    """Judge one change; the order of the page by its own measure, twelve queries more."""
    if case.kind.has_own_rule and not case.changed_again:
        return effect_incomparable(case)
    if case.kind.of_page and not case.changed_again:
        return taste_effect(decision=decision)
    return effect_measure(case, seed=decision.suggestion_id)


@transaction.atomic
def _store(judged: Sequence[Judged], now: datetime) -> list[Judged]:
    """Append the effects and update the profiles; nine queries.

    Suggestions are locked before profiles, as a revert locks them: a change reverted meanwhile gets no
    effect, and one that another check judged meanwhile no second one.
    """
    ids = [decision.suggestion_id for decision, _ in judged]
    locked = Suggestion.objects.select_for_update(of=("self",)).filter(pk__in=ids).order_by("pk")
    suggestions = {row.pk: row for row in locked}
    readers = sorted({row.reader_id for row in suggestions.values()})
    list(PreferenceProfile.objects.select_for_update().filter(reader_id__in=readers).order_by("pk"))
    kinds = [Kind.EFFECT, Kind.REVERT]
    followed = set(
        Outcome.objects.filter(suggestion_id__in=ids, kind__in=kinds).values_list("suggestion_id", flat=True)
    )
    fresh = [pair for pair in judged if pair[0].suggestion_id not in followed]
    Outcome.objects.bulk_create(
        outcome_build(
            suggestion=suggestions[decision.suggestion_id],
            values=OutcomeValues(effect.verdict, before={}, kind=Kind.EFFECT, measured=effect.measured),
            evidence=(),
            now=now,
        )
        for decision, effect in fresh
    )
    profiles_update(reader_ids=readers, now=now)
    return fresh


def _row(decision: Outcome, effect: Effect) -> dict[str, Any]:
    return {
        "suggestion_id": decision.suggestion_id,
        "reader_id": str(decision.reader_id),
        "suggestion_type": decision.suggestion_type,
        "outcome": effect.verdict,
        "reason": effect.measured["reason"],
        "p_helped": effect.measured.get("p_helped"),
    }
