"""Items prepared for pages, mails and feeds: texts, explanations, and the reader's ratings and readings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from digest.articles.pictures import pictures_prepare
from digest.daily.candidates import signals_for
from digest.daily.changes import Mark
from digest.daily.item_words import (
    Explanation,
    age_phrase,
    age_words,
    changed_by_learning,
    item_age_words,
    lede_cut,
    page_settings_changed,
    score_chips,
    score_explain,
    seen_words,
    settings_changes,
    settings_ended,
    summary_origin,
)
from digest.daily.why_words import FOUND
from digest.entities import RatedItem
from digest.feedback.reasons import SuggestedReason
from digest.feedback.selectors import feedback_by_items, reason_tags
from digest.feeds.arrival import came_late, is_undated
from digest.items.own_names import items_name_sources
from digest.items.reading import NOT_READ, readings_of
from digest.items.selectors import item_candidate, sources_reporting
from digest.items.stories import RelatedItem, items_related
from digest.models import Impression, Item, Reader, ReasonTag
from digest.summaries.selectors import ShownSummary, reasons_suggested_for, summaries_for
from digest.summaries.summarise import lead_of
from ranking.common.categories import category_keys, label_keys, topics_among
from ranking.common.text import fold, known_topic, term_named, topic_key
from ranking.entities import EffectiveConfig
from ranking.language import stored_text
from ranking.scoring import Signals, rank
from ranking.selectors import config_effective, versions_of_order

# An extract stands above articles of more words.
SHORT_WORDS = 800


@dataclass(frozen=True, slots=True)
class ScoredItem:
    """An item with its score, the score's parts (`Parts.as_dict()`), and its slot.

    `FOUND` is the slot of items outside a digest: search results and saved items.
    """

    item: Item
    parts: Mapping[str, Any]
    score: float
    slot: str = Impression.Slot.RANKED


@dataclass(frozen=True, slots=True)
class OfferedReason:
    """A reason that the page offers after a rating: its tag and the label to show."""

    slug: str
    label: str


@dataclass(frozen=True, slots=True)
class RelatedItems:
    """Other reports of the same story: the number of other sources, and the items with links.

    Those of the item's own source come last. `own` is its name if they are all there is.
    """

    sources: int
    items: tuple[tuple[RelatedItem, str], ...]
    own: str = ""


@dataclass(frozen=True, slots=True)
class OtherScore:
    """A second score of an item, made with other settings of its reader than the one its page shows.

    `chips` name the changes between the two, in order of time. `learned`: only learned weights differ.
    """

    why: Explanation
    chips: tuple[str, ...]
    learned: bool = False


@dataclass(frozen=True, slots=True)
class Response:
    """The reader's rating, reading, saving and naming of one item, and the reasons to offer."""

    item: Item
    rating: RatedItem | None
    tags: tuple[OfferedReason, ...]
    read_at: datetime | None
    saved_at: datetime | None
    named_at: datetime | None


@dataclass(frozen=True, slots=True)
class ShownItem:
    """One item for a page. `since` is a second score to show; `mark` tells how far the item just moved."""

    item: Item
    href: str
    age: str
    lede: str
    why: Explanation
    response: Response
    also: RelatedItems | None
    summary: ShownSummary | None
    summary_words: str
    since: OtherScore | None = None
    mark: Mark | None = None

    @property
    def short(self) -> ShownSummary | None:
        """Return the summary that stands above the article, None if the article says it as quickly.

        An extract helps only with a long article, and no summary helps that is how the article begins.
        """
        if not self.summary or not self.summary.text:
            return None
        words = self.item.text.split()
        is_beginning = " ".join(words).startswith(" ".join(self.summary.text.split()).rstrip("… "))
        is_wanted = self.summary.by_model or len(words) > SHORT_WORDS
        return self.summary if is_wanted and not is_beginning else None


def age_of(item: Item, *, reader: Reader, now: datetime) -> str:
    """Return the words for an item's age as its row shows them: without a date, when it was first seen."""
    if is_undated(item.published_at, item.first_seen_at):
        return seen_words(item.first_seen_at, now, reader.zone)
    is_late = came_late(item.published_at, dated=item.dated_at, first_seen=item.first_seen_at)
    return item_age_words(item.dated_at, now, reader.zone, is_late=is_late)


def says_came(item: Item) -> bool:
    """Return whether the age of an item in its row says when it came, and not when it was published."""
    is_late = came_late(item.published_at, dated=item.dated_at, first_seen=item.first_seen_at)
    return is_late or is_undated(item.published_at, item.first_seen_at)


def age_moment(item: Item) -> datetime:
    """Return the moment that an item's age is told from: without a date, when it was first seen."""
    return item.first_seen_at if is_undated(item.published_at, item.first_seen_at) else item.dated_at


def published_words(item: Item) -> str:
    """Return "published 3 June" for an item that came much later, else ""."""
    if not came_late(item.published_at, dated=item.dated_at, first_seen=item.first_seen_at):
        return ""
    day = localtime(item.published_at).date()
    form = _("j F") if day.year == localtime(item.dated_at).year else _("j F Y")
    return _("published {date}").format(date=date_format(day, form))


def _age_scored(entry: ScoredItem) -> str:
    """Return words for the age in a score if it is none from the publisher's date; else ""."""
    item, hours = entry.item, entry.parts["age_hours"]
    ago = age_words(item.dated_at, item.dated_at + timedelta(hours=hours))
    if published := published_words(item):
        return _("came {ago}, {published}").format(ago=ago, published=published)
    if not is_undated(item.published_at, item.first_seen_at):
        return ""
    if item.dated_at == item.first_seen_at:
        return _("came {ago}").format(ago=ago)
    return _("an estimate: {age}").format(age=age_phrase(hours))


def items_score(
    *,
    reader: Reader,
    items: Sequence[Item],
    now: datetime,
    signals: Signals | None = None,
    effective: EffectiveConfig | None = None,
) -> list[ScoredItem]:
    """Score the items with the settings of `now`, in the given order; a constant number of queries.

    Pass `signals` if they are known already, or if nothing that depends on them is shown, and `effective` to
    score by other settings.
    """
    effective = effective or config_effective(reader_id=reader.pk)
    items_name_sources(reader_id=reader.pk, items=items)
    candidates = [item_candidate(item) for item in items]
    if signals is None:
        ids = [item.pk for item in items]
        configs = {reader.pk: effective}
        found = signals_for(reader_ids=[reader.pk], item_ids=ids, now=now, configs=configs)[reader.pk]
        reports = sources_reporting(reader_id=reader.pk, items=items, now=now)
        signals = replace(found, reported_by=reports)
    ranking = rank(candidates, effective, now.astimezone(reader.zone), signals)
    scores = {score.candidate.item_id: score for score in ranking}
    return [
        ScoredItem(item, scores[item.pk].parts.as_dict(), scores[item.pk].total, slot=FOUND) for item in items
    ]


def items_shown(
    *,
    reader: Reader,
    scored: Sequence[ScoredItem],
    now: datetime,
    ratings: Mapping[int, RatedItem | None] | None = None,
    since: Mapping[int, OtherScore] | None = None,
    breakdown: bool = True,
) -> list[ShownItem]:
    """Return the items prepared for a page, in the given order.

    Pass `ratings` if they are known already. `since` are second scores to show, by item id. Without
    `breakdown`, an item gets only its short reasons.
    """
    items = [entry.item for entry in scored]
    items_name_sources(reader_id=reader.pk, items=items)
    pictures_prepare(items=items)
    responses = responses_of(reader=reader, items=items, ratings=ratings)
    mates = items_related(reader_id=reader.pk, item_ids=[item.pk for item in items], now=now)
    summaries = summaries_for(reader_id=reader.pk, items=items)
    return [
        _shown_item(
            entry,
            why=score_why(entry) if breakdown else _chips_alone(entry),
            age=age_of(entry.item, reader=reader, now=now),
            response=responses[entry.item.pk],
            mates=mates.get(entry.item.pk, ()),
            summary=summaries.get(entry.item.pk),
            since=(since or {}).get(entry.item.pk),
        )
        for entry in scored
    ]


def _shown_item(
    entry: ScoredItem,
    *,
    why: Explanation,
    age: str,
    response: Response,
    mates: Sequence[RelatedItem],
    summary: ShownSummary | None,
    since: OtherScore | None,
) -> ShownItem:
    item = entry.item
    if summary and not summary.text:
        summary = None
    return ShownItem(
        item=item,
        href=item.address,
        age=age,
        lede=lede_cut(_line(item, summary)),
        why=why,
        response=response,
        also=_story_mates(item, mates),
        summary=summary,
        summary_words=summary_origin(summary.model, summary.repaired, summary.by_model) if summary else "",
        since=since,
    )


def _line(item: Item, summary: ShownSummary | None) -> str:
    """Return the text whose beginning stands beside an item.

    It is a model's summary, else the publisher's own lead, else an extract, else the text.
    """
    if summary and summary.by_model:
        return summary.text
    return lead_of(item.title, item.text) or (summary.text if summary else item.text)


def _chips_alone(entry: ScoredItem) -> Explanation:
    return Explanation(score_chips(entry.parts, entry.item.source_name, entry.slot), (), "")


def _story_mates(item: Item, mates: Sequence[RelatedItem]) -> RelatedItems | None:
    if not mates:
        return None
    others = {mate.source_key for mate in mates} - {item.source_id}
    own = "" if others else mates[0].source
    return RelatedItems(len(others), tuple((mate, mate.url) for mate in mates), own)


def scores_changed(*, reader: Reader, scored: Sequence[ScoredItem], now: datetime) -> dict[int, OtherScore]:
    """Return {item id: today's score} for items that the reader's settings treat differently now.

    A constant number of queries; none if `scored` is empty.
    """
    if not scored:
        return {}
    # The settings' part of a score needs no signals, and mostly it has not changed.
    plain = items_score(reader=reader, items=[entry.item for entry in scored], now=now, signals=Signals())
    earlier = {
        entry.item.pk: entry
        for entry, later in zip(scored, plain, strict=True)
        if settings_changes(entry.parts, later.parts, entry.item.source_name)
    }
    changed = [entry.item for entry in earlier.values()]
    today = items_score(reader=reader, items=changed, now=now) if changed else []
    found = {later.item.pk: score_changed(earlier[later.item.pk], later, shown=later) for later in today}
    return {pk: other for pk, other in found.items() if other}


def reasons_of_change(
    *, reader: Reader, scored: Sequence[ScoredItem], version: int, now: datetime
) -> dict[int, tuple[str, ...]]:
    """Return {item id: chips for what the change of settings to `version` ended or changed for it}.

    Only items for which the reader's settings changed are in it. Four queries at most.
    """
    effective = config_effective(reader_id=reader.pk)
    since, configs = {reader.pk: version - 1}, {reader.pk: effective}
    _, before = versions_of_order(since=since, configs=configs).get(reader.pk, (0, effective))
    items, whole = [entry.item for entry in scored], page_settings_changed(before.config, effective.config)
    # The settings' part of a score needs no signals.
    then = items_score(reader=reader, items=items, now=now, signals=Signals(), effective=before)
    found = {}
    for entry, earlier in zip(scored, then, strict=True):
        ended = settings_ended(earlier.parts, entry.parts, entry.item.source_name)
        if ended or whole:
            found[entry.item.pk] = ended or (whole,)
    return found


def score_changed(earlier: ScoredItem, later: ScoredItem, *, shown: ScoredItem) -> OtherScore | None:
    """Return `shown`, one of the two scores, if the settings treat the item differently now; else `None`."""
    chips = settings_changes(earlier.parts, later.parts, shown.item.source_name)
    if not chips:
        return None
    return OtherScore(score_why(shown), chips, changed_by_learning(earlier.parts, later.parts))


def score_why(entry: ScoredItem) -> Explanation:
    """Explain an item's score, and tell by which name, category or author its topics matched."""
    topics = [topic for topic in entry.parts["topics"] if known_topic(topic, topic_key)]
    text = fold(f"{entry.item.title}\n{entry.item.text}") if topics else ""
    named = entry.parts.get("named", {}) | {
        topic: name for topic in topics if (name := term_named(topic, text))
    }
    found = {topic: _("as “{name}”").format(name=name) for topic, name in named.items()}
    terms = (*entry.parts["topics"], *entry.parts["boosts"])
    found |= dict.fromkeys(topics_among(terms, label_keys((), entry.item.author)), _("by author"))
    found |= dict.fromkeys(topics_among(terms, category_keys(entry.item.categories)), _("by category"))
    return score_explain(
        entry.parts, entry.score, entry.item.source_name, entry.slot, found, age=_age_scored(entry)
    )


def responses_of(
    *, reader: Reader, items: Sequence[Item], ratings: Mapping[int, RatedItem | None] | None = None
) -> dict[int, Response]:
    """Return {item id: the reader's response}; a constant number of queries."""
    if ratings is None:
        ratings = feedback_by_items(reader_id=reader.pk, items=items)
    states = readings_of(reader_id=reader.pk, items=items)
    rated = [item for item in items if ratings.get(item.pk) is not None]
    tags = reason_tags() if rated else []
    suggested = reasons_suggested_for(reader_id=reader.pk, items=rated) if rated else {}
    found = {}
    for item in items:
        rating, state = ratings.get(item.pk), states.get(item.pk, NOT_READ)
        offers = reasons_offered(rating, tags, suggested.get(item.pk, ()))
        found[item.pk] = Response(item, rating, offers, state.read_at, state.saved_at, state.named_at)
    return found


def reasons_offered(
    rating: RatedItem | None, tags: Sequence[ReasonTag], suggested: Sequence[SuggestedReason]
) -> tuple[OfferedReason, ...]:
    """Return the reasons to offer after a rating: valued ones after useful, disliked ones after not useful.

    Reasons suggested for this very item come first, with their own labels. The rest of the taxonomy follows.
    """
    if rating is None:
        return ()
    kind = ReasonTag.Kind.VALUED if rating.useful else ReasonTag.Kind.DISLIKED
    fitting = {tag.slug: _(tag.label) for tag in tags if tag.kind == kind}
    labels = {reason.tag: stored_text(reason.text) for reason in reversed(suggested) if reason.tag in fitting}
    first = dict.fromkeys(reason.tag for reason in suggested if reason.tag in fitting)
    return tuple(OfferedReason(slug, labels.get(slug, fitting[slug])) for slug in first | fitting)
