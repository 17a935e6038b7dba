"""Items as pages show them: their words, why they stand where they stand, what the reader did with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from digest.entities import RatedItem
from digest.models import Impression, Item, Reader, ReasonTag
from digest.presenters import (
    FOUND,
    Why,
    age_words,
    href_of,
    lede_of,
    only_learned,
    since_words,
    summary_words,
    why_of,
)
from digest.reasons_offered import Suggested
from digest.selectors import feedback_by_items, reason_tags
from digest.selectors.clusters import Mate, cluster_mates
from digest.selectors.readings import ReadState, readings_for
from digest.selectors.signals import signals_for
from digest.selectors.summaries import ShownSummary, reasons_suggested_for, summaries_for
from ranking.entities import Candidate
from ranking.matching import fold, term_named, topic_key
from ranking.scoring import Signals, rank
from ranking.selectors import config_effective
from ranking.synonyms import known_topic

UNTOUCHED = ReadState()


@dataclass(frozen=True, slots=True)
class Scored:
    """An item with its score, the parts of it (`Parts.as_dict()`), and the slot that brought it here.

    `FOUND` is the slot of what stands in no digest here: a search's hits, what was saved.
    """

    item: Item
    parts: Mapping[str, Any]
    score: float
    slot: str = Impression.Slot.RANKED


@dataclass(frozen=True, slots=True)
class Offer:
    """A reason on offer after a thumb: the tag it stands for, in the words it is offered in."""

    slug: str
    label: str


@dataclass(frozen=True, slots=True)
class Also:
    """The same story elsewhere: how many other sources tell it, and each telling with its link."""

    sources: int
    tellings: tuple[tuple[Mate, str], ...]


@dataclass(frozen=True, slots=True)
class Since:
    """Another sum of an item beside the one its page shows, made under other settings of its reader.

    `chips` say what changed between the two, in the order of time. `learned`: only what thumbs taught did.
    """

    why: Why
    chips: tuple[str, ...]
    learned: bool = False


@dataclass(frozen=True, slots=True)
class Response:
    """What the reader said and did about one item, and the reasons to offer for it."""

    item: Item
    thumb: RatedItem | None
    tags: tuple[Offer, ...]
    read_at: datetime | None
    saved_at: datetime | None


@dataclass(frozen=True, slots=True)
class Shown:
    """One item as a page shows it."""

    item: Item
    href: str
    age: str
    lede: str
    why: Why
    response: Response
    also: Also | None
    summary: ShownSummary | None
    summary_words: str
    since: Since | None = None

    @property
    def told_whole(self) -> bool:
        """Whether the summary is all of the text: a short one need not be shown twice."""
        return self.summary is not None and self.summary.text.split() == self.item.text.split()


def scored_now(
    *, reader: Reader, items: Sequence[Item], now: datetime, signals: Signals | None = None
) -> list[Scored]:
    """The items in their given order, each scored as it would be now; a constant number of queries.

    `signals` where they are known already, or nobody looks at what hangs on them.
    """
    effective = config_effective(reader_id=reader.pk)
    candidates = [Candidate(i.pk, i.source_id, i.title, i.text, i.dated_at) for i in items]
    if signals is None:
        signals = signals_for(reader_id=reader.pk, item_ids=[item.pk for item in items], now=now)
    scores = {score.candidate.item_id: score for score in rank(candidates, effective, now, signals)}
    return [
        Scored(item, scores[item.pk].parts.as_dict(), scores[item.pk].total, slot=FOUND) for item in items
    ]


def items_shown(
    *,
    reader: Reader,
    scored: Sequence[Scored],
    now: datetime,
    thumbs: Mapping[int, RatedItem | None] | None = None,
    since: Mapping[int, Since] | None = None,
) -> list[Shown]:
    """The items for a page, in their given order; `thumbs` where they are known already.

    `since` holds, by item, the other sum to show with it.
    """
    items = [entry.item for entry in scored]
    said = responses_of(reader=reader, items=items, thumbs=thumbs)
    mates = cluster_mates(reader_id=reader.pk, item_ids=[item.pk for item in items])
    summaries = summaries_for(reader_id=reader.pk, items=items)
    shown = [
        _shown(entry, said[entry.item.pk], mates.get(entry.item.pk, ()), summaries.get(entry.item.pk), now)
        for entry in scored
    ]
    return [replace(entry, since=(since or {}).get(entry.item.pk)) for entry in shown]


def sums_since(*, reader: Reader, scored: Sequence[Scored], now: datetime) -> dict[int, Since]:
    """By item, today's sum of those whose own was made under settings that said something else of them.

    A constant number of queries, none for nothing.
    """
    if not scored:
        return {}
    # What the settings say of an item hangs on no signal, and mostly it is what they said then.
    plain = scored_now(reader=reader, items=[entry.item for entry in scored], now=now, signals=Signals())
    earlier = {
        entry.item.pk: entry
        for entry, later in zip(scored, plain, strict=True)
        if since_words(entry.parts, later.parts, str(entry.item.source))
    }
    moved = [entry.item for entry in earlier.values()]
    today = scored_now(reader=reader, items=moved, now=now) if moved else []
    found = {later.item.pk: since_of(earlier[later.item.pk], later, shown=later) for later in today}
    return {pk: since for pk, since in found.items() if since}


def since_of(earlier: Scored, later: Scored, *, shown: Scored) -> Since | None:
    """The sum of `shown`, one of the two, where the reader's settings changed what they say of the item."""
    source = str(shown.item.source)
    chips = since_words(earlier.parts, later.parts, source)
    return Since(reasons_for(shown), chips, only_learned(earlier.parts, later.parts)) if chips else None


def responses_of(
    *, reader: Reader, items: Sequence[Item], thumbs: Mapping[int, RatedItem | None] | None = None
) -> dict[int, Response]:
    """What the reader said and did about each of the items, by id; a constant number of queries."""
    ids = [item.pk for item in items]
    given = feedback_by_items(reader_id=reader.pk, item_ids=ids) if thumbs is None else thumbs
    states, tags = readings_for(reader_id=reader.pk, item_ids=ids), reason_tags()
    rated = [item for item in items if given.get(item.pk) is not None]
    suggested = reasons_suggested_for(reader_id=reader.pk, items=rated) if rated else {}
    said = {}
    for item in items:
        thumb, state = given.get(item.pk), states.get(item.pk, UNTOUCHED)
        offers = reasons_offered(thumb, tags, suggested.get(item.pk, ()))
        said[item.pk] = Response(item, thumb, offers, read_at=state.read_at, saved_at=state.saved_at)
    return said


def reasons_offered(
    thumb: RatedItem | None, tags: Sequence[ReasonTag], suggested: Sequence[Suggested]
) -> tuple[Offer, ...]:
    """The reasons to offer after a thumb: what is valued after one up, what is disliked after one down.

    Those suggested for the very item come first, in their own words; then the rest of the taxonomy.
    """
    if thumb is None:
        return ()
    kind = ReasonTag.Kind.VALUED if thumb.useful else ReasonTag.Kind.DISLIKED
    fitting = {tag.slug: tag.label for tag in tags if tag.kind == kind}
    words = {reason.tag: reason.text for reason in reversed(suggested) if reason.tag in fitting}
    first = dict.fromkeys(reason.tag for reason in suggested if reason.tag in fitting)
    return tuple(Offer(slug, words.get(slug, fitting[slug])) for slug in first | fitting)


def _shown(
    entry: Scored, response: Response, mates: Sequence[Mate], summary: ShownSummary | None, now: datetime
) -> Shown:
    item = entry.item
    told = summary if summary and summary.text else None
    return Shown(
        item=item,
        href=href_of(item.url),
        age=age_words(item.dated_at, now),
        lede=lede_of(told.text if told else item.text),
        why=reasons_for(entry),
        response=response,
        also=_also(mates),
        summary=told,
        summary_words=summary_words(told.model, told.repaired, told.by_model) if told else "",
    )


def reasons_for(entry: Scored) -> Why:
    """Why an item has its score, with the names its topics were found by."""
    topics = [topic for topic in entry.parts["topics"] if known_topic(topic, topic_key)]
    text = fold(f"{entry.item.title}\n{entry.item.text}") if topics else ""
    named = {topic: name for topic in topics if (name := term_named(topic, text))}
    return why_of(entry.parts, entry.score, str(entry.item.source), entry.slot, named)


def _also(mates: Sequence[Mate]) -> Also | None:
    if not mates:
        return None
    tellings = tuple((mate, href_of(mate.url)) for mate in mates)
    return Also(len({mate.source_key or mate.source for mate in mates}), tellings)
