"""Read a reader's suggestions, their decisions, and the facts for rules."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Exists, F, Max, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from digest.feedback.selectors import feedback_by_urls, feedback_written
from digest.items.selectors import (
    items_hidden,
    mutes_in_force,
    reader_sources_known,
    subscribed_own_names,
    subscribed_titles,
)
from digest.models import Exposure, Reader
from digest.notifications.news import LOOKBACK, Due, Event, News, news_since, news_words
from ranking.common.rows import export_rows
from ranking.common.text import fold
from ranking.config_body import body_effective
from ranking.config_words import EARLY
from ranking.entities import EffectiveConfig
from ranking.selectors import config_changed_by, config_effective
from suggestions.changes.change import Change
from suggestions.changes.registry import change_stored, keys_named
from suggestions.models import (
    EarlyForecast,
    Evidence,
    Outcome,
    OutcomeArchive,
    PreferenceProfile,
    Question,
    Suggestion,
    TasteContribution,
    UntakenVerdict,
)
from suggestions.proposals import EXPIRE_DAYS, UNDO_MINUTES, Draft, Facts, Target
from suggestions.questions import ANSWER_KEEPS, OPEN
from suggestions.rules import types_declined
from suggestions.wishes.wish import Names
from suggestions.wishes.written import WRITTEN_DAYS, changes_written

Status = Suggestion.Status
WAITS = gettext_noop("A suggestion waits for you: {label}")
EFFECT_WORDS = {
    Outcome.Result.HELPED: gettext_noop("Two weeks after your change to {label}: it helped."),
    Outcome.Result.HARMED: gettext_noop("Two weeks after your change to {label}: it did harm."),
    Outcome.Result.UNCLEAR: gettext_noop(
        "Two weeks after your change to {label}: whether it helped is not clear."
    ),
}
DECIDED = (Status.ACCEPTED, Status.REJECTED)
WAITING = (Status.PENDING, Status.SNOOZED)
TARGET_CHARS, REASON_CHARS = 64, 120
# The newest ratings with a line beside them that are read; who wrote more has said it lately, too.
WRITTEN_READ_MAX = 200
# What a check found is told at the next visit within this time.
EFFECT_NEWS_FOR = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A reader's decisions: all results counted by type, and the newest of each kind first."""

    by_type: dict[str, dict[str, int]]
    accepted: list[dict[str, Any]]
    rejected: list[dict[str, Any]]


class TargetsAtRest(NamedTuple):
    """Targets of suggestions that wait, the end of each cooldown, and the field of each one a run wrote.

    `bare` are the fields of those that bring no other names. `asked` are the changes of all that wait or that
    the run wrote.
    """

    waiting: frozenset[Target]
    cooling: dict[Target, datetime]
    written: tuple[str, ...]
    bare: tuple[str, ...]
    asked: tuple[Change, ...]


def facts_for(
    *,
    reader_id: UUID,
    now: datetime,
    run_id: UUID | None = None,
    drafts: Collection[Draft] = (),
    urls: Collection[str] = (),
    exclude_id: int | None = None,
    known: Facts | None = None,
) -> Facts:
    """Return the facts for rules: the reader, this run's suggestions and the ratings on `urls`.

    Of the reader's sources those that `drafts` are about. The suggestion `exclude_id` counts for nothing. A
    fixed number of queries; `known` are facts of this reader and run that need not be read again.
    """
    targets = {fold(draft.target_key) for draft in drafts if isinstance(draft.target_key, str)}
    return replace(
        known or facts_of(reader_id=reader_id, now=now, run_id=run_id, exclude_id=exclude_id),
        sources=reader_sources_known(reader_id=reader_id, keys=targets),
        rated=feedback_by_urls(reader_id=reader_id, urls=urls) if urls else {},
    )


def facts_of(
    *,
    reader_id: UUID,
    now: datetime,
    run_id: UUID | None = None,
    exclude_id: int | None = None,
    with_wished: bool = True,
) -> Facts:
    """Return the facts of a reader and a run that rest on no draft; what they wrote only `with_wished`."""
    answers = answers_by_type(reader_id=reader_id)
    effective = config_effective(reader_id=reader_id)
    resting = targets_at_rest(reader_id=reader_id, now=now, run_id=run_id, exclude_id=exclude_id)
    return Facts(
        effective=effective,
        sources=frozenset(),
        **resting._asdict(),
        answers=answers,
        declined=types_declined(answers),
        kinds=frozenset(settings.ADVISOR_KINDS) or None,
        wished=_changes_wished(reader_id, effective, now) if with_wished else (),
    )


def _changes_wished(reader_id: UUID, effective: EffectiveConfig, now: datetime) -> tuple[Change, ...]:
    """Return the changes that the reader's own words beside ratings ask for; one query, a few with any."""
    since = now - timedelta(days=WRITTEN_DAYS)
    rated = feedback_written(reader_id=reader_id, since=since, limit=WRITTEN_READ_MAX)
    if not rated:
        return ()
    titles, topics = subscribed_titles(reader_id=reader_id), effective.config.topics
    return changes_written(
        rated,
        Names(
            titles,
            topics,
            topics,
            called=subscribed_own_names(reader_id=reader_id),
            other_names=effective.config.other_names,
        ),
        Facts(effective=effective, sources=frozenset(titles)),
        targets_decided(reader_id=reader_id),
        now.date(),
    )


def suggestions_waiting(*, reader_id: UUID) -> frozenset[Target]:
    """Return the targets of the reader's pending and snoozed suggestions."""
    rows = Suggestion.objects.filter(reader_id=reader_id, status__in=WAITING)
    return frozenset(rows.values_list("field", "target_key"))


def targets_at_rest(
    *, reader_id: UUID, now: datetime, run_id: UUID | None = None, exclude_id: int | None = None
) -> TargetsAtRest:
    """Return the targets that may not be proposed now, and the fields a run has written; two queries.

    A cooldown begins when a target is suggested, decided or reverted. Drafts count, and so does an early
    change that was applied, undone or not. The other names that a waiting suggestion gives a topic wait, too.
    The suggestion `exclude_id` counts for nothing.
    """
    cooldown = timedelta(days=settings.COOLDOWN_DAYS)
    since = now - cooldown
    reverted = Q(outcomes__kind=Outcome.Kind.REVERT, outcomes__decided_at__gt=since)
    recent = Q(created_at__gt=since) | Q(resolved_at__gt=since) | reverted
    wanted = recent | Q(status__in=WAITING) | (Q(run_id=run_id) if run_id else Q())
    cooling: dict[Target, datetime] = {}
    waiting, written, bare, asked = set[Target](), dict[int, str](), dict[int, str](), dict[int, Change]()
    moments = ("created_at", "resolved_at", "outcomes__decided_at", "outcomes__kind")
    rows = _without(exclude_id).filter(wanted, reader_id=reader_id)
    change = ("suggestion_type", "suggested_value")
    columns = ("pk", "run_id", "status", "field", "target_key", "other_names", *change, *moments)
    for row in rows.values_list(*columns):
        pk, run, status, field, key, names, type_, value, made, resolved, decided, kind = row
        if status in WAITING:
            waiting |= {(field, key), *((field, one) for name in names for one in keys_named(field, name))}
        if run_id and run == run_id:
            written[pk] = field
            bare |= {} if names else {pk: field}
        if status in WAITING or (run_id and run == run_id):
            asked[pk] = change_stored(kind=type_, target=key, value=value, names=names)
        begun = [made, resolved, decided if kind == Outcome.Kind.REVERT else None]
        if any(moment and moment > since for moment in begun):
            until = max(moment for moment in (made, resolved, decided) if moment) + cooldown
            cooling[field, key] = max(until, cooling.get((field, key), until))
    for (field, key), at in config_changed_by(reader_id=reader_id, ref=EARLY, since=since).items():
        for target in ((field, one) for one in keys_named(field, key)):
            cooling[target] = max(at + cooldown, cooling.get(target, at))
    by_run = tuple(written.values()), tuple(bare.values())
    return TargetsAtRest(frozenset(waiting), cooling, *by_run, tuple(asked.values()))


def _without(suggestion_id: int | None) -> QuerySet[Suggestion]:
    rows = Suggestion.objects.all()
    return rows if suggestion_id is None else rows.exclude(pk=suggestion_id)


def targets_decided(*, reader_id: UUID) -> dict[Target, tuple[datetime, bool]]:
    """Return when the reader last decided on a suggestion about each target, and if by a yes; one query.

    Going back is a decision, too, and a no. So is a check by headlines that withdrew the suggestion.
    """
    settled = (*DECIDED, Status.WITHDRAWN)
    rows = Suggestion.objects.filter(reader_id=reader_id, status__in=settled, resolved_at__isnull=False)
    back = Max("outcomes__decided_at", filter=Q(outcomes__kind=Outcome.Kind.REVERT))
    decided = rows.annotate(back=back, at=Coalesce("back", "resolved_at")).order_by("at", "pk")
    found = decided.values_list("field", "target_key", "at", "back", "status")
    return {
        (field, key): (at, status == Status.ACCEPTED and not back) for field, key, at, back, status in found
    }


def answers_by_type(*, reader_id: UUID) -> dict[str, tuple[int, int]]:
    """Return (accepted, rejected) of each type of suggestion. One query.

    Changes that the reader reverted or that turned out harmful count as rejected.
    """
    rows = Suggestion.objects.filter(reader_id=reader_id, status__in=DECIDED).order_by()
    regrets = Q(kind=Outcome.Kind.REVERT) | Q(outcome=Outcome.Result.HARMED)
    regretted = Exists(Outcome.objects.filter(regrets, suggestion=OuterRef("pk")))
    accepted = Count("pk", filter=Q(~regretted, status=Status.ACCEPTED))
    counted = rows.values_list("suggestion_type").annotate(yes=accepted, total=Count("pk"))
    return {kind: (yes, total - yes) for kind, yes, total in counted}


def evidence_muted(*, reader_id: UUID, suggestions: Iterable[Suggestion], now: datetime) -> set[int]:
    """Return the items among the prefetched evidence that the reader has muted; two or three queries."""
    ids = {row.item_id for suggestion in suggestions for row in suggestion.evidence.all() if row.item_id}
    mutes = mutes_in_force(reader_id=reader_id, now=now)
    return items_hidden(mutes=mutes, item_ids=ids)


def suggestions_pending(*, reader_id: UUID) -> list[Suggestion]:
    """Return the pending suggestions in the order they were made, evidence prefetched: two queries."""
    rows = Suggestion.objects.filter(reader_id=reader_id, status=Status.PENDING)
    rows = rows.select_related("question").order_by("created_at", "pk")
    return list(rows.prefetch_related("evidence"))


class AsksWaiting(NamedTuple):
    """How many suggestions are pending, and whether a question waits for an answer."""

    suggestions: int
    has_question: bool


def asks_waiting(*, reader_id: UUID, now: datetime) -> AsksWaiting:
    """Return what waits for the reader's answer; one query."""
    mine = Suggestion.objects.filter(reader=OuterRef("pk"), status=Status.PENDING).order_by()
    count = mine.values("reader").annotate(n=Count("pk")).values("n")
    asked = Question.objects.filter(reader=OuterRef("pk"), answered_at__isnull=True, asked_at__gt=now - OPEN)
    row = Reader.objects.filter(pk=reader_id).values_list(Coalesce(Subquery(count), 0), Exists(asked))
    return AsksWaiting(*row.get())


def question_open(*, reader_id: UUID, now: datetime) -> Question | None:
    """Return the question that waits for a reader who wants suggestions, or `None`; one query."""
    rows = Question.objects.filter(reader_id=reader_id, answered_at__isnull=True, asked_at__gt=now - OPEN)
    return rows.filter(reader__suggestions_enabled=True).first()


def questions_answered(*, reader_id: UUID, now: datetime, limit: int) -> list[Question]:
    """Return the questions that the reader answered in the last 180 days, the newest first; one query."""
    rows = Question.objects.filter(reader_id=reader_id, answered_at__gt=now - ANSWER_KEEPS)
    return list(rows.exclude(answer="").order_by("-answered_at")[:limit])


def question_of_answer(*, reader_id: UUID, question_id: int, now: datetime) -> Question | None:
    """Return the reader's question of this id if they answered it in the last 180 days; one query."""
    rows = Question.objects.filter(pk=question_id, reader_id=reader_id, answered_at__gt=now - ANSWER_KEEPS)
    return rows.exclude(answer="").first()


def suggestion_for(*, reader_id: UUID, suggestion_id: int) -> Suggestion | None:
    """Return the suggestion, evidence prefetched, if it is this reader's and visible to them."""
    rows = Suggestion.objects.filter(reader_id=reader_id, pk=suggestion_id)
    return rows.exclude(status__in=Suggestion.UNSEEN).prefetch_related("evidence").first()


def suggestions_created_between(*, reader_id: UUID, start: datetime, end: datetime) -> list[int]:
    """Return the ids of the visible suggestions with `start` <= created < `end`."""
    rows = Suggestion.objects.filter(reader_id=reader_id, created_at__gte=start, created_at__lt=end)
    rows = rows.exclude(status__in=Suggestion.UNSEEN)
    return list(rows.order_by("pk").values_list("pk", flat=True))


def suggestions_settled(*, reader_id: UUID) -> QuerySet[Suggestion]:
    """Return the suggestions that are no longer pending: snoozed ones first, then the newest answer first.

    Their outcomes leave out columns that only the audit needs. A lazy list: a page of it costs two queries.
    """
    light = Outcome.objects.defer("config_after", "evidence_summary")
    rows = Suggestion.objects.filter(reader_id=reader_id)
    rows = rows.exclude(status__in=(Status.PENDING, *Suggestion.UNSEEN))
    ordered = rows.order_by(F("resolved_at").desc(nulls_first=True), "-pk")
    return ordered.prefetch_related(Prefetch("outcomes", light))


def suggestion_can_undo(*, suggestion: Suggestion, now: datetime) -> bool:
    """Return True if `suggestion_undo` would take this answer back; outcomes prefetched."""
    if suggestion.status == Status.SNOOZED:
        return True
    if any(row.kind == Outcome.Kind.REVERT for row in suggestion.outcomes.all()):
        return False
    return suggestion.status == Status.ACCEPTED or (
        suggestion.status == Status.REJECTED and not suggestion_outdated(suggestion=suggestion, now=now)
    )


def suggestion_outdated(*, suggestion: Suggestion, now: datetime) -> bool:
    """Return True if its answer is older than 14 days."""
    return now - (suggestion.resolved_at or suggestion.created_at) >= timedelta(days=EXPIRE_DAYS)


def suggestion_undo_forgets(*, suggestion: Suggestion, now: datetime) -> bool:
    """Return True if taking back its accept now deletes the answer instead of counting as a no."""
    answered = suggestion.resolved_at
    return (
        suggestion.status == Status.ACCEPTED
        and answered is not None
        and now - answered <= timedelta(minutes=UNDO_MINUTES)
    )


def suggestion_not_in_force(
    *, suggestion: Suggestion, decision: Outcome | None, effective: EffectiveConfig
) -> bool:
    """Return True if the target is as before the reader agreed; False if that config is archived."""
    if not decision or not decision.config_before:
        return False
    before, change = body_effective(decision.config_before), suggestion.change
    return change.kind.same(before, effective, change.label)


def profile_for(*, reader_id: UUID) -> dict[str, Any] | None:
    """Return the reader's preference profile as plain JSON values, or `None` before the first outcome."""
    row = PreferenceProfile.objects.filter(reader_id=reader_id, total_outcomes__gt=0).first()
    if row is None:
        return None
    return {
        "acceptance_stats": row.acceptance_stats,
        "patterns": row.patterns,
        "trends": row.trends,
        "total_outcomes": row.total_outcomes,
        "last_outcome_at": row.last_outcome_at and row.last_outcome_at.isoformat(),
        "computed_at": row.computed_at.isoformat(),
    }


def acceptance_history(*, reader_id: UUID, limit: int, now: datetime) -> Acceptance:
    """Return the reader's decisions with the newest `limit` of either kind; four queries.

    An answer that was taken back is no decision. A row holds `type`, `target`, `value`, `days_ago`, the
    reader's `reason` if there is one, and for an accepted one `later`: helped, harmed, unclear or reverted.
    """
    rows = Outcome.objects.filter(reader_id=reader_id).exclude(suggestion__status=Status.TAKEN_BACK)
    counted: defaultdict[str, dict[str, int]] = defaultdict(dict)
    ordered = rows.order_by("suggestion_type", "outcome").values_list("suggestion_type", "outcome")
    for kind, outcome, count in ordered.annotate(Count("pk")):
        counted[kind][outcome] = count
    decisions = rows.filter(kind=Outcome.Kind.DECISION).select_related("suggestion")
    accepted, rejected = (
        list(decisions.filter(outcome=result)[:limit])
        for result in (Outcome.Result.ACCEPTED, Outcome.Result.REJECTED)
    )
    followed = Outcome.objects.filter(
        reader_id=reader_id,
        suggestion_id__in=[row.suggestion_id for row in accepted],
        kind__in=(Outcome.Kind.EFFECT, Outcome.Kind.REVERT),
    )
    # "revert" sorts after "effect", so a revert wins over a measured effect.
    later = dict(followed.order_by("kind").values_list("suggestion_id", "outcome"))
    return Acceptance(
        dict(counted),
        [_acceptance_row(row, now, later.get(row.suggestion_id, "")) for row in accepted],
        [_acceptance_row(row, now) for row in rejected],
    )


def _acceptance_row(row: Outcome, now: datetime, later: str = "") -> dict[str, Any]:
    reason = row.user_reason[:REASON_CHARS]
    return {
        "type": row.suggestion_type,
        "target": row.target_key[:TARGET_CHARS],
        "value": row.edited_value or row.suggestion.suggested_value,
        "days_ago": max(0, (now - row.decided_at).days),
        **({"reason": reason} if reason else {}),
        **({"later": later} if later else {}),
    }


def suggestions_news(*, due: Due, now: datetime) -> list[News]:
    """Return the suggestions that began to wait lately for the readers in `due`; one query."""
    rows = Suggestion.objects.filter(reader_id__in=due, status=Status.PENDING)
    rows = rows.filter(created_at__gt=now - LOOKBACK, created_at__lte=now)
    found = rows.order_by("pk").values_list("reader_id", "pk", "label", "created_at")
    return [
        News(
            reader_id, Event.SUGGESTION, (f"suggestion:{pk}",),
            news_words(due[reader_id], WAITS, label=label),
            reverse("suggestions:list"),
        )
        for reader_id, pk, label, at in found
        if at > news_since(due[reader_id], now)
    ]  # fmt: skip


def effects_news(*, due: Due, now: datetime) -> list[News]:
    """Return news of recent checks of changes that the readers in `due` accepted; one query."""
    rows = Outcome.objects.filter(reader_id__in=due, kind=Outcome.Kind.EFFECT)
    rows = rows.filter(decided_at__gt=now - LOOKBACK, decided_at__lte=now).order_by("pk")
    found = rows.values_list("reader_id", "pk", "suggestion__label", "outcome", "decided_at")
    return [
        News(
            reader_id, Event.EFFECT, (f"effect:{pk}",),
            news_words(due[reader_id], EFFECT_WORDS[Outcome.Result(result)], label=label),
            reverse("suggestions:history"),
        )
        for reader_id, pk, label, result, at in found
        if at > news_since(due[reader_id], now)
    ]  # fmt: skip


class EffectNews(NamedTuple):
    """What one check found, in words, and its measures."""

    words: str
    measured: Mapping[str, Any]
    harmed: bool


def effects_unseen(*, reader_id: UUID, today: datetime, now: datetime) -> list[EffectNews]:
    """Return what the checks found that the reader has not seen yet; one query.

    It is told on the whole first day on which the reader sees a page after the check. `today` is the
    beginning of their day. A change that was undone since then is left out.
    """
    pages = Exposure.objects.filter(reader=OuterRef("reader"), door=Exposure.Door.PAGE)
    seen = pages.filter(shown_at__gt=OuterRef("decided_at"), shown_at__lt=today)
    undone = Outcome.objects.filter(suggestion=OuterRef("suggestion"), kind=Outcome.Kind.REVERT)
    rows = Outcome.objects.filter(reader_id=reader_id, kind=Outcome.Kind.EFFECT, decided_at__lte=now)
    rows = rows.filter(~Exists(seen), ~Exists(undone), decided_at__gt=now - EFFECT_NEWS_FOR)
    return [
        EffectNews(
            _(EFFECT_WORDS[Outcome.Result(how)]).format(label=label), measured, how == Outcome.Result.HARMED
        )
        for how, label, measured in rows.values_list("outcome", "suggestion__label", "measured")
    ]


def reader_export_suggestions(*, reader_id: UUID) -> Iterator[tuple[str, object]]:
    """Yield (name, rows) of all suggestions to the reader, unseen drafts included, and their outcomes."""
    yield "suggestions", export_rows(Suggestion.objects.filter(reader_id=reader_id))
    yield "questions", export_rows(Question.objects.filter(reader_id=reader_id))
    yield "evidence", export_rows(Evidence.objects.filter(suggestion__reader_id=reader_id))
    yield "outcomes", export_rows(Outcome.objects.filter(reader_id=reader_id))
    yield "outcome_archives", export_rows(OutcomeArchive.objects.filter(outcome__reader_id=reader_id))
    yield "untaken_verdicts", export_rows(UntakenVerdict.objects.filter(reader_id=reader_id))
    yield "preference_profile", export_rows(PreferenceProfile.objects.filter(reader_id=reader_id))
    yield "early_forecast", export_rows(EarlyForecast.objects.filter(reader_id=reader_id), without=["basis"])
    yield "taste_contributions", export_rows(TasteContribution.objects.filter(reader_id=reader_id))
