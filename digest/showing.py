"""Items as pages show them: their words, why they stand where they stand, what the reader did with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from digest.entities import RatedItem
from digest.models import Impression, Item, Reader, ReasonTag
from digest.presenters import Why, age_words, href_of, lede_of, why_of
from digest.selectors import feedback_by_items, reason_tags
from digest.selectors.readings import ReadState, readings_for
from digest.selectors.signals import signals_for
from ranking.entities import Candidate
from ranking.scoring import rank
from ranking.selectors import config_effective

UNTOUCHED = ReadState()


@dataclass(frozen=True, slots=True)
class Scored:
    """An item with its score, the parts of it (`Parts.as_dict()`), and the slot that brought it here."""

    item: Item
    parts: Mapping[str, Any]
    score: float
    slot: str = Impression.Slot.RANKED


@dataclass(frozen=True, slots=True)
class Response:
    """What the reader said and did about one item, and the reasons to offer for it."""

    item: Item
    thumb: RatedItem | None
    tags: tuple[ReasonTag, ...]
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


def scored_now(*, reader: Reader, items: Sequence[Item], now: datetime) -> list[Scored]:
    """The items in their given order, each scored as it would be now; a constant number of queries."""
    effective = config_effective(reader_id=reader.pk)
    candidates = [Candidate(i.pk, i.source_id, i.title, i.text, i.dated_at) for i in items]
    signals = signals_for(reader_id=reader.pk, item_ids=[item.pk for item in items], now=now)
    scores = {score.candidate.item_id: score for score in rank(candidates, effective, now, signals)}
    return [Scored(item, scores[item.pk].parts.as_dict(), scores[item.pk].total) for item in items]


def items_shown(
    *,
    reader: Reader,
    scored: Sequence[Scored],
    now: datetime,
    thumbs: Mapping[int, RatedItem | None] | None = None,
) -> list[Shown]:
    """The items for a page, in their given order; `thumbs` where they are known already."""
    said = responses_of(reader=reader, items=[entry.item for entry in scored], thumbs=thumbs)
    return [_shown(entry, said[entry.item.pk], now) for entry in scored]


def responses_of(
    *, reader: Reader, items: Sequence[Item], thumbs: Mapping[int, RatedItem | None] | None = None
) -> dict[int, Response]:
    """What the reader said and did about each of the items, by id; a constant number of queries."""
    ids = [item.pk for item in items]
    given = feedback_by_items(reader_id=reader.pk, item_ids=ids) if thumbs is None else thumbs
    states, tags = readings_for(reader_id=reader.pk, item_ids=ids), reason_tags()
    return {
        item.pk: _response(item, given.get(item.pk), states.get(item.pk, UNTOUCHED), tags) for item in items
    }


def _response(item: Item, thumb: RatedItem | None, state: ReadState, tags: Sequence[ReasonTag]) -> Response:
    return Response(
        item=item,
        thumb=thumb,
        tags=_offered(thumb, tags),
        read_at=state.read_at,
        saved_at=state.saved_at,
    )


def _shown(entry: Scored, response: Response, now: datetime) -> Shown:
    item = entry.item
    return Shown(
        item=item,
        href=href_of(item.url),
        age=age_words(item.dated_at, now),
        lede=lede_of(item.text),
        why=why_of(entry.parts, entry.score, str(item.source), entry.slot),
        response=response,
    )


def _offered(thumb: RatedItem | None, tags: Sequence[ReasonTag]) -> tuple[ReasonTag, ...]:
    """The reasons to offer after a thumb: what is valued after one up, what is disliked after one down."""
    if thumb is None:
        return ()
    kind = ReasonTag.Kind.VALUED if thumb.useful else ReasonTag.Kind.DISLIKED
    return tuple(tag for tag in tags if tag.kind == kind)
