"""What was said and shown in the two weeks before and after accepted changes, for judging their effects.

A batch costs a fixed number of queries, whatever the number of its changes: the decisions, the other
changes of those readers, their thumbs, their digests and their settings.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Exists, F, OuterRef, QuerySet, Value

from digest.models import Feedback, Impression
from ranking.body import Body, body_effective
from ranking.entities import EffectiveConfig
from ranking.matching import fold, term_matches
from ranking.selectors import config_effective_many
from suggestions.effects import WINDOW_DAYS, Case, Exposure, Placed, Thumbs, exposure_of, score_without
from suggestions.entities import SOURCE_WEIGHTS
from suggestions.models import Outcome, OutcomeArchive
from suggestions.selectors.outcomes import outcome_heavy
from suggestions.values import topic_in_config

WINDOW = timedelta(days=WINDOW_DAYS)


@dataclass(frozen=True, slots=True)
class Scope:
    """What one change is about: a source, or a topic by its spelling."""

    field: str
    key: str
    label: str

    def holds(self, source: str, folded: str) -> bool:
        """Whether an item of `source` with this folded title and text is affected by the change."""
        return source == self.key if self.field == SOURCE_WEIGHTS else term_matches(self.label, folded)


@dataclass(frozen=True, slots=True)
class Thumb:
    """A thumb with what tells whether a change is about it."""

    source: str
    folded: str
    useful: bool
    at: datetime


@dataclass(frozen=True, slots=True)
class Shown:
    """One item of a digest, as it was scored."""

    digest_id: int
    built_at: datetime
    source: str
    folded: str
    score: float
    interest: float


@dataclass(frozen=True, slots=True)
class World:
    """Everything a batch of changes is judged by, per reader."""

    thumbs: dict[UUID, list[Thumb]]
    shown: dict[UUID, list[Shown]]
    changes: dict[UUID, list[tuple[datetime, Scope]]]
    configs: dict[UUID, EffectiveConfig]


def decisions_due(*, now: datetime) -> list[int]:
    """The ids of decisions accepted two weeks ago or more, not put back, not yet checked; oldest first."""
    followed = Outcome.objects.filter(
        suggestion=OuterRef("suggestion"), kind__in=[Outcome.Kind.EFFECT, Outcome.Kind.REVERT]
    )
    rows = _accepted().filter(~Exists(followed), decided_at__lte=now - WINDOW)
    return list(rows.order_by("decided_at", "pk").values_list("pk", flat=True))


def cases_of(*, decision_ids: Collection[int]) -> list[tuple[Outcome, Case]]:
    """Each of these accepted decisions, its suggestion joined, with its case; seven queries."""
    rows = _accepted().filter(pk__in=decision_ids).select_related("suggestion", "archive")
    decisions = list(rows.order_by("decided_at", "pk"))
    world = _world(decisions)
    return [(decision, _case(decision, world)) for decision in decisions]


def _accepted() -> QuerySet[Outcome]:
    return Outcome.objects.filter(kind=Outcome.Kind.DECISION, outcome=Outcome.Result.ACCEPTED)


def _world(decisions: Sequence[Outcome]) -> World:
    if not decisions:
        return World({}, {}, {}, {})
    readers = sorted({row.reader_id for row in decisions})
    start = decisions[0].decided_at - WINDOW
    end = decisions[-1].decided_at + WINDOW
    changes = _changes(readers, start, end)
    with_text = any(scope.field != SOURCE_WEIGHTS for rows in changes.values() for _, scope in rows)
    return World(
        thumbs=_thumbs(readers, start, end, with_text),
        shown=_shown(readers, decisions[0].decided_at, end, with_text),
        changes=changes,
        configs=config_effective_many(reader_ids=readers),
    )


def _changes(
    readers: Collection[UUID], start: datetime, end: datetime
) -> dict[UUID, list[tuple[datetime, Scope]]]:
    rows = _accepted().filter(reader_id__in=readers, decided_at__gte=start, decided_at__lt=end)
    found = rows.order_by("pk").values_list(
        "reader_id", "decided_at", "suggestion__field", "target_key", "suggestion__suggested_value"
    )
    changes: defaultdict[UUID, list[tuple[datetime, Scope]]] = defaultdict(list)
    for reader_id, at, field, key, value in found:
        changes[reader_id].append((at, _scope(field, key, value)))
    return dict(changes)


def _scope(field: str, key: str, value: str) -> Scope:
    return Scope(field, key, key if field == SOURCE_WEIGHTS else value)


def _thumbs(
    readers: Collection[UUID], start: datetime, end: datetime, with_text: bool
) -> dict[UUID, list[Thumb]]:
    rows = Feedback.objects.filter(reader_id__in=readers, at__gte=start, at__lt=end).order_by("pk")
    text = F("item__text") if with_text else Value("")
    found = rows.values_list("reader_id", "item__source_id", "item__title", text, "useful", "at")
    thumbs: defaultdict[UUID, list[Thumb]] = defaultdict(list)
    for reader_id, source, title, body, useful, at in found.iterator():
        thumbs[reader_id].append(Thumb(source, _folded(title, body, with_text), useful, at))
    return dict(thumbs)


def _shown(
    readers: Collection[UUID], start: datetime, end: datetime, with_text: bool
) -> dict[UUID, list[Shown]]:
    rows = Impression.objects.filter(
        digest__reader_id__in=readers, digest__built_at__gte=start, digest__built_at__lt=end
    ).order_by("digest_id", "rank")
    text = F("item__text") if with_text else Value("")
    found = rows.values_list(
        "digest__reader_id", "digest_id", "digest__built_at", "item__source_id", "item__title", text,
        "score", "parts__interest",
    )  # fmt: skip
    shown: defaultdict[UUID, list[Shown]] = defaultdict(list)
    for reader_id, digest_id, built_at, source, title, body, score, interest in found.iterator():
        folded = _folded(title, body, with_text)
        shown[reader_id].append(Shown(digest_id, built_at, source, folded, score, float(interest or 1.0)))
    return dict(shown)


def _folded(title: str, text: str, with_text: bool) -> str:
    return fold(f"{title}\n{text}") if with_text else ""


def _case(decision: Outcome, world: World) -> Case:
    """What was said in equal windows before and after, and shown after."""
    suggestion, at, reader_id = decision.suggestion, decision.decided_at, decision.reader_id
    scope = _scope(suggestion.field, decision.target_key, suggestion.suggested_value)
    others = [
        other
        for when, other in world.changes.get(reader_id, ())
        if at - WINDOW <= when < at + WINDOW and (other.field, other.key) != (scope.field, scope.key)
    ]
    thumbs = world.thumbs.get(reader_id, ())
    before = [t for t in thumbs if at - WINDOW <= t.at < at]
    after = [t for t in thumbs if at <= t.at < at + WINDOW]
    heavy = outcome_heavy(outcome=decision)
    return Case(
        suggestion_type=decision.suggestion_type,
        label=suggestion.label,
        scope_before=_counted(t for t in before if scope.holds(t.source, t.folded)),
        rest_before=_counted(_rest(before, scope, others)),
        scope_after=_counted(t for t in after if scope.holds(t.source, t.folded)),
        rest_after=_counted(_rest(after, scope, others)),
        exposure=_exposure(decision, scope, heavy, world.shown.get(reader_id, ())),
        changed_again=_changed_again(scope, heavy.config_after, world.configs[reader_id]),
    )


def _counted(thumbs: Iterable[Thumb]) -> Thumbs:
    useful = [thumb.useful for thumb in thumbs]
    return Thumbs(sum(useful), len(useful))


def _rest(thumbs: Iterable[Thumb], scope: Scope, others: Sequence[Scope]) -> list[Thumb]:
    """The thumbs that neither this change nor another of these weeks is about."""
    touched = (scope, *others)
    return [t for t in thumbs if not any(other.holds(t.source, t.folded) for other in touched)]


def _exposure(
    decision: Outcome, scope: Scope, heavy: Outcome | OutcomeArchive, shown: Iterable[Shown]
) -> Exposure | None:
    """The scope's share of the digests built in the two weeks after, with and without the change."""
    at, kind = decision.decided_at, decision.suggestion_type
    before, after = (_weight(scope, body) for body in (heavy.config_before, heavy.config_after))
    if _same(scope, heavy.config_before, heavy.config_after):
        return Exposure(0.0, 0.0)
    digests: defaultdict[int, list[Placed]] = defaultdict(list)
    for item in shown:
        if at <= item.built_at < at + WINDOW:
            held = scope.holds(item.source, item.folded)
            without = score_without(item.score, item.interest, kind, before, after) if held else item.score
            digests[item.digest_id].append(Placed(item.score, without, held))
    return exposure_of(list(digests.values()))


def _weight(scope: Scope, body: Body | None) -> float:
    return body_effective(body).weight(scope.key) if body and scope.field == SOURCE_WEIGHTS else 1.0


def _same(scope: Scope, before: Body | None, after: Body | None) -> bool:
    """Whether accepting found nothing left to change."""
    if not before or not after:
        return False
    if scope.field == SOURCE_WEIGHTS:
        return abs(_weight(scope, before) - _weight(scope, after)) < 1e-9
    return bool(topic_in_config(scope.key, before["topics"])) == bool(
        topic_in_config(scope.key, after["topics"])
    )


def _changed_again(scope: Scope, agreed: Body | None, current: EffectiveConfig) -> bool:
    """Whether the target is no longer what was agreed; what the loop learned is no change of anybody's."""
    if not agreed:
        return False
    if scope.field == SOURCE_WEIGHTS:
        return bool(agreed["source_weights"].get(scope.key) != current.config.source_weights.get(scope.key))
    topics = (agreed["topics"], current.config.topics)
    return len({bool(topic_in_config(scope.key, own)) for own in topics}) == 2
