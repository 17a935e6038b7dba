"""A reader's items sorted by score, best first, from the newest of the last week."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from digest.daily.candidates import signals_for
from digest.daily.presentation import ScoredItem
from digest.daily.why_words import FOUND
from digest.entities import ITEM_WINDOW_DAYS
from digest.items.listing import EPOCH, MICROSECOND, ListFilter, Span, list_ids, list_items
from digest.items.selectors import CANDIDATE_FIELDS
from digest.models import Item, Reader
from ranking.entities import Candidate
from ranking.scoring import Ranking, rank_all
from ranking.selectors import config_effective

# How many of the newest items are ranked. With more, the first page of the list would be slow.
BEST_MAX = 1_000
# How long the pages of one order belong together. After that a new order begins.
ORDER_DURATION = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class BestKey:
    """An item's place in the order made at `as_of`: its score to nine digits, then its id."""

    as_of: datetime
    score: float
    item_id: int

    def __str__(self) -> str:
        return f"{(self.as_of - EPOCH) // MICROSECOND}_{self.score:.8e}_{self.item_id}"

    @property
    def place(self) -> tuple[float, int]:
        """Return the sort key of the item; the best item has the smallest."""
        return -self.score, self.item_id


def best_key(typed: str, now: datetime) -> BestKey | None:
    """Return the key that `str` wrote as `typed`; `None` if it is malformed or older than 12 hours."""
    at, _, rest = typed.partition("_")
    score, _, item_id = rest.partition("_")
    if not (at.isdecimal() and len(at) < 18 and item_id.isdecimal() and len(item_id) < 19):
        return None
    try:
        key = BestKey(EPOCH + int(at) * MICROSECOND, float(score), int(item_id))
    except ValueError:
        return None
    return key if now - ORDER_DURATION < key.as_of <= now else None


@dataclass(frozen=True, slots=True)
class BestPage:
    """One page of items with their keys.

    The next page begins after the key `older`; `None` on the last page.
    """

    items: tuple[ScoredItem, ...]
    keys: tuple[BestKey, ...]
    older: BestKey | None


def best_page(
    *,
    reader: Reader,
    feeds: Collection[int] | None,
    chosen: ListFilter,
    now: datetime,
    size: int,
    after: BestKey | None = None,
) -> BestPage:
    """Return up to `size` items of a list, best first, scored with the current settings.

    It ranks the newest 1,000 items of the seven days before the first page was shown. A constant number of
    queries.
    """
    as_of = after.as_of if after else now
    ranking, places = _order(reader, feeds, chosen, as_of, now)
    if after:
        places = [place for place in places if place[:2] > after.place]
    items = {item.pk: item for item in list_items(ids=[pk for _, pk, _ in places[:size]])}
    shown = [(ranking[n], BestKey(as_of, -score, pk)) for score, pk, n in places[:size] if pk in items]
    scored = [
        ScoredItem(items[key.item_id], score.parts.as_dict(), score.total, FOUND) for score, key in shown
    ]
    keys = tuple(key for _, key in shown)
    return BestPage(tuple(scored), keys, keys[-1] if keys and len(places) > size else None)


def best_ids(
    *,
    reader: Reader,
    feeds: Collection[int] | None,
    chosen: ListFilter,
    as_of: datetime,
    now: datetime,
    above: BestKey | None = None,
    below: BestKey | None = None,
) -> list[int]:
    """Return the ids on all pages of an order together; with `above` or `below`, those before or after a key.

    A constant number of queries, or one without a key.
    """
    key = above or below
    if key is None:
        return _ids(reader, feeds, chosen, as_of)
    _, places = _order(reader, feeds, chosen, key.as_of, now)
    if above:
        return [pk for score, pk, _ in places if (score, pk) < key.place]
    return [pk for score, pk, _ in places if (score, pk) > key.place]


def _ids(reader: Reader, feeds: Collection[int] | None, chosen: ListFilter, as_of: datetime) -> list[int]:
    return list_ids(
        reader_id=reader.pk,
        feeds=feeds,
        chosen=chosen,
        now=as_of,
        limit=BEST_MAX,
        span=Span(since=as_of - timedelta(days=ITEM_WINDOW_DAYS), seen_by=as_of),
    )


def _order(
    reader: Reader, feeds: Collection[int] | None, chosen: ListFilter, as_of: datetime, now: datetime
) -> tuple[Ranking, list[tuple[float, int, int]]]:
    """Return the ranking of a list, and its items in order as (minus score, id, place in the ranking).

    Scores are rounded to nine digits, because the rounding errors of a float sum may differ from page to
    page.
    """
    ids = _ids(reader, feeds, chosen, as_of)
    rows = Item.objects.filter(pk__in=ids).values_list(*CANDIDATE_FIELDS)
    candidates = [Candidate(*row) for row in rows]
    # Other readers' thumbs are those of `now`, because each process has only one day's loaded.
    effective = config_effective(reader_id=reader.pk)
    found = signals_for(reader_ids=[reader.pk], item_ids=ids, now=now, configs={reader.pk: effective})
    ranking = rank_all(candidates, effective, as_of.astimezone(reader.zone), found[reader.pk])
    rounded = (float(f"{score:.8e}") for score in ranking.totals.tolist())
    return ranking, sorted(
        (-score, pk, n) for n, (score, pk) in enumerate(zip(rounded, ranking.ids.tolist(), strict=True))
    )
