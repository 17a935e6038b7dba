"""Check a suggestion by headlines before answering it: it grows surer, less sure, or withdraws itself.

Codes: `not_found`, `already_resolved`, `not_checkable`, `already_checked`, `too_few_headlines`,
`too_few_answers`, and `undecided` while further headlines are to come.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models.functions import Left
from django.utils.translation import gettext as _

from digest.daily.onboarding import headlines_askable
from digest.entities import RatedItem
from digest.errors import ItemNotFound
from digest.feedback.services import feedback_set
from digest.items.own_names import own_names
from digest.items.selectors import source_titles
from digest.models import Feedback, Item, Reader
from ranking.common.categories import label_keys, topic_finder
from ranking.common.text import LEAD_CHARS, fold
from ranking.config_body import effective_body
from ranking.selectors import config_effective
from suggestions.changes.change import Change
from suggestions.changes.columns import TOPICS, attributes_of
from suggestions.models import Outcome, Suggestion
from suggestions.outcomes.services import OutcomeValues, outcome_record
from suggestions.planner.checking import (
    ABOUT_MIN,
    HEADLINES,
    headlines_choose,
    is_borne_out,
    probability_moved,
    says_a_name,
)
from suggestions.planner.evidence import WeighedChange, change_weigh
from suggestions.planner.hypotheses import confidence_of
from suggestions.proposals import Refusal
from suggestions.selectors import suggestion_for
from suggestions.services.lifecycle import suggestions_sweep

log = structlog.get_logger(__name__)
Status = Suggestion.Status


@dataclass(frozen=True, slots=True)
class CheckHeadline:
    """One headline of a check, without its source."""

    item_id: int
    title: str
    language: str


@dataclass(frozen=True, slots=True)
class Check:
    """The headlines that check a suggestion, in the order in which they are shown."""

    suggestion: Suggestion
    headlines: tuple[CheckHeadline, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check: of `rated` answers about the target `liked`, and P(helpful) before and after."""

    suggestion_id: int
    status: str
    confidence: str
    liked: int
    rated: int
    before: float
    after: float

    @property
    def is_withdrawn(self) -> bool:
        """Return whether the suggestion withdrew itself."""
        return self.status == Status.WITHDRAWN


@dataclass(frozen=True, slots=True)
class _Pool:
    """A reader's headlines of the last thirty days that may be asked about, by id, and their stories."""

    items: Mapping[int, RatedItem]
    stories: Mapping[int, int]
    languages: Mapping[int, str]
    names: Mapping[str, str]

    def about(self, change: Change) -> list[int]:
        """Return the ids of headlines about the target, one a story, without those that name its source."""
        host = max(change.target.partition("/")[0].split(".")[:-1], key=len, default="")
        names = [self.names.get(change.target, ""), host] if change.kind.of_source else []
        found: dict[int, int] = {}
        for pk, item in self.items.items():
            if change.concerns(item) and not says_a_name(item.title, names):
                found.setdefault(self.stories[pk], pk)
        return list(found.values())

    def subjects(self, ids: Collection[int], change: Change, topics: Sequence[str]) -> dict[int, str]:
        """Return the subject of each of these headlines: the source, or for a source the topic.

        That is the one of the reader's `topics`, of publishers' categories or of phrases in titles that most
        of them have, "" for none.
        """
        if not change.kind.of_source:
            return {pk: self.items[pk].source for pk in ids}
        attributes = attributes_of(tuple(self.items.values()), titles=self.names, given={TOPICS: topics})
        finders = {key: topic_finder(label) for key, label in attributes.labels(TOPICS).items()}
        subjects: dict[int, list[str]] = {}
        for pk in ids:
            item = self.items[pk]
            text = fold(item.title), label_keys(item.categories, item.author)
            subjects[pk] = [key for key, finds in finders.items() if finds(*text)]
        counts = Counter(key for keys in subjects.values() for key in keys)
        return {
            pk: max(keys, key=lambda key: (counts[key], key), default="") for pk, keys in subjects.items()
        }


def is_checkable(suggestion: Suggestion) -> bool:
    """Return whether headlines can check the suggestion: one that rests on a lean, and not checked before."""
    kind = suggestion.change.kind
    by_lean = not (kind.has_own_rule or kind.of_page or "by_words" in suggestion.forecast)
    return suggestion.checked is None and by_lean


def suggestions_checkable(
    *, reader: Reader, suggestions: Sequence[Suggestion], now: datetime
) -> frozenset[int]:
    """Return the ids of the suggestions that have headlines enough to be checked; six queries, or none."""
    able = [row for row in suggestions if is_checkable(row)]
    pool = _pool(reader, now) if able else None
    return frozenset(row.pk for row in able if pool and len(pool.about(row.change)) >= ABOUT_MIN)


def suggestion_check_begin(*, reader: Reader, suggestion_id: int, now: datetime) -> Check | Refusal:
    """Return the headlines that check a pending suggestion, the same ones as long as they may be asked."""
    found = _checkable(reader.pk, suggestion_id, now)
    if isinstance(found, Refusal):
        return found
    pool = _pool(reader, now)
    chosen = _chosen(pool, found)
    if not chosen:
        message = _("There are too few unrated headlines to check this with. Answer it as it is.")
        return Refusal("too_few_headlines", message, found.label)
    shown = (CheckHeadline(pk, pool.items[pk].title, pool.languages[pk]) for pk in chosen)
    return Check(found, tuple(shown))


def suggestion_check(
    *,
    reader: Reader,
    suggestion_id: int,
    answers: Mapping[int, bool],
    skipped: Collection[int] | None = None,
    now: datetime,
) -> Checked | Refusal:
    """Store the answers as thumbs, by item id, and move or withdraw the suggestion; all of it or nothing.

    At most eight answers count; those about items that may not be asked about count nothing. `None` for
    `skipped`: no more will come. Otherwise the headlines that are neither answered nor skipped follow, unless
    they cannot change the result any more (`undecided`).
    """
    found = _checkable(reader.pk, suggestion_id, now)
    if isinstance(found, Refusal):
        return found
    pool, change = _pool(reader, now), found.change
    given = {pk: useful for pk, useful in answers.items() if pk in pool.items}
    given = dict(list(given.items())[:HEADLINES])
    about = [useful for pk, useful in given.items() if change.concerns(pool.items[pk])]
    others = [useful for pk, useful in given.items() if not change.concerns(pool.items[pk])]
    dealt = {*given, *(skipped or ())}
    coming = [] if skipped is None else [pk for pk in _chosen(pool, found) if pk not in dealt]
    if coming := coming[: HEADLINES - len(dealt)]:
        if not _is_settled(found, pool, given, coming, now):
            return Refusal("undecided", "", found.label)
    elif len(about) < ABOUT_MIN:
        message = _("That is too little to tell anything. Answer a few more of the headlines.")
        return Refusal("too_few_answers", message, found.label)
    before = _weigh(found, now)
    with transaction.atomic():
        waits = Suggestion.objects.filter(pk=found.pk, status=Status.PENDING, checked__isnull=True)
        if not waits.update(checked={"at": now.isoformat()}):  # another answer came first
            again = _checkable(reader.pk, suggestion_id, now)
            return again if isinstance(again, Refusal) else _settled(found)
        _answers_store(reader, given, now)
        checked = _move(found, before, _weigh(found, now), about, others, now)
    log.info(
        "suggestion_checked",
        user_id=str(reader.pk),
        suggestion_id=found.pk,
        type=found.suggestion_type,
        withdrawn=checked.is_withdrawn,
    )
    return checked


def _chosen(pool: _Pool, suggestion: Suggestion) -> list[int]:
    """Return the ids of the headlines that check the suggestion, in their order."""
    change = suggestion.change
    taken = {pool.stories[pk] for pk, item in pool.items.items() if change.concerns(item)}
    others = [pk for pk in pool.items if pool.stories[pk] not in taken]
    topics = config_effective(reader_id=suggestion.reader_id).config.topics
    subjects = pool.subjects(pool.about(change), change, topics)
    return headlines_choose(subjects, others, seed=str(suggestion.pk))


def _is_settled(
    suggestion: Suggestion, pool: _Pool, given: Mapping[int, bool], coming: Sequence[int], now: datetime
) -> bool:
    """Return whether the answers to the `coming` headlines cannot change what the `given` ones lead to.

    The two extremes are tried: all that follow agree with the suggestion, or none does. A suggestion stands
    only after four answers about its target.
    """
    change, liked = suggestion.change, suggestion.change.kind.liked
    answered = [replace(pool.items[pk], useful=useful) for pk, useful in given.items()]
    about = change.among(answered)
    stands = set()
    for useful in (True, False):
        items = [pool.items[pk] for pk in coming]
        more = [replace(item, useful=useful is change.concerns(item)) for item in items]
        agreeing = sum(item.useful is liked for item in (*about, *change.among(more)))
        stands.add(_stands(change, _weigh(suggestion, now, (*answered, *more)), agreeing))
    return stands == {False} or (stands == {True} and len(about) >= ABOUT_MIN)


def _stands(change: Change, weighed: WeighedChange, agreeing: int) -> bool:
    """Return whether the ratings bear the change out, of which `agreeing` are answers for it."""
    contradicted = change.kind.contradiction(change, weighed.evidence.rated)
    return not contradicted and is_borne_out(weighed.lean, agreeing)


def _checkable(reader_id: UUID, suggestion_id: int, now: datetime) -> Suggestion | Refusal:
    suggestions_sweep(now=now, reader_id=reader_id)
    found = suggestion_for(reader_id=reader_id, suggestion_id=suggestion_id)
    if found is None:
        return Refusal("not_found", _("There is no such suggestion."))
    if found.status != Status.PENDING:
        return _settled(found)
    if found.checked is not None:
        return Refusal("already_checked", _("You have checked this one before."), found.label)
    if not is_checkable(found):
        message = _("Headlines cannot check a suggestion of this kind. Answer it as it is.")
        return Refusal("not_checkable", message, found.label)
    return found


def _settled(suggestion: Suggestion) -> Refusal:
    message = _("The suggestion about {label} was settled before.").format(label=suggestion.label)
    return Refusal("already_resolved", message, suggestion.label)


def _pool(reader: Reader, now: datetime) -> _Pool:
    stories = {one.item_id: one.story for one in headlines_askable(reader=reader, now=now).headlines}
    rows = Item.objects.filter(pk__in=stories).annotate(lead=Left("text", LEAD_CHARS))
    found = {row.pk: row for row in rows.defer("text")}
    items = {
        pk: RatedItem(
            item_id=pk,
            url=row.url,
            title=row.title,
            text=row.lead,
            source=row.source_id,
            useful=False,
            tags=(),
            other_reasons=(),
            at=now,
            dated_at=row.dated_at,
            categories=tuple(row.categories),
            author=row.author,
        )
        for pk in stories
        if (row := found.get(pk))
    }
    titles = source_titles(keys={item.source for item in items.values()})
    names = own_names(reader_id=reader.pk).over(titles)
    return _Pool(items, stories, {pk: row.language for pk, row in found.items()}, names)


def _weigh(suggestion: Suggestion, now: datetime, more: Sequence[RatedItem] = ()) -> WeighedChange:
    reader_id = suggestion.reader_id
    effective = config_effective(reader_id=reader_id)
    return change_weigh(
        reader_id=reader_id, change=suggestion.change, effective=effective, more=more, now=now
    )


def _answers_store(reader: Reader, answers: Mapping[int, bool], now: datetime) -> None:
    for item_id, useful in answers.items():
        try:
            feedback_set(reader=reader, item_id=item_id, useful=useful, now=now, origin=Feedback.Origin.CHECK)
        except ItemNotFound:  # its feed was removed meanwhile
            continue


def _move(
    row: Suggestion,
    before: WeighedChange,
    after: WeighedChange,
    about: Collection[bool],
    others: Collection[bool],
    now: datetime,
) -> Checked:
    """Update the suggestion by the ratings including the answers, or withdraw it."""
    kind, stated = row.change.kind, row.p_helpful
    agreeing = sum(useful is kind.liked for useful in about)
    moved = probability_moved(stated, before.p_overall, after.p_overall)
    if not _stands(row.change, after, agreeing):
        row.status, row.resolved_at = Status.WITHDRAWN, now
        values = OutcomeValues(
            Outcome.Result.WITHDRAWN, effective_body(config_effective(reader_id=row.reader_id))
        )
        outcome_record(suggestion=row, values=values, now=now)
    else:
        row.reason = kind.reason(row.label, after.counts, is_author=after.is_author)
    row.p_helpful, row.forecast = moved, {**row.forecast, "p_helpful": round(moved, 3)}
    row.confidence = confidence_of(moved, after.forecast.low, after.forecast.high)
    liked, rated = sum(about), len(about)
    row.checked = {
        "liked": liked,
        "rated": rated,
        "others_liked": sum(others),
        "others_rated": len(others),
        "p_before": round(stated, 3),
        "p_after": round(moved, 3),
        "at": now.isoformat(),
    }
    row.save(
        update_fields=[
            "status", "resolved_at", "reason", "p_helpful", "forecast", "confidence", "checked",
        ]
    )  # fmt: skip
    return Checked(row.pk, row.status, row.confidence, liked, rated, stated, moved)
