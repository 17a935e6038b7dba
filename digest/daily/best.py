"""A list of a reader's items by score, the best first, over the newest of the last week."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from digest.daily.candidates import signals_for
from digest.daily.explain import FOUND
from digest.daily.presentation import ScoredItem
from digest.entities import ITEM_WINDOW_DAYS
from digest.items.listing import EPOCH, MICROSECOND, ListFilter, list_ids, list_items
from digest.items.selectors import CANDIDATE_FIELDS
from digest.models import Item, Reader
from ranking.entities import Candidate
from ranking.scoring import Ranking, ranked
from ranking.selectors import config_effective

# So many of the newest are ranked: a list of more days or items would make its first page wait.
BEST_MAX = 1_000
# How long the pages of one order belong together: after that the order begins anew.
ORDER_DURATION = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class BestKey:
    """The place of an item in the order of the moment `as_of`: its score to nine digits, then its id."""

    as_of: datetime
    score: float
    item_id: int

    def __str__(self) -> str:
        return f"{(self.as_of - EPOCH) // MICROSECOND}_{self.score:.8e}_{self.item_id}"

    @property
    def place(self) -> tuple[float, int]:
        """Return what orders the items, the best first."""
        return -self.score, self.item_id


def best_key(typed: str, now: datetime) -> BestKey | None:
    """Return the key that `str` made `typed` of; `None` for anything else, and for one that is too old."""
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
    """One page of items with their keys; `older` is the key that the next page begins after, if any."""

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
    """Return up to `size` items of a list, the best first, scored with the settings of now.

    Ranked are the newest 1,000 of the seven days up to the moment of the first page. A constant number of
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
) -> list[int]:
    """Return the ids that all pages of an order have together; with `above` those before that key.

    A constant number of queries, one without `above`.
    """
    if above is None:
        return _ids(reader, feeds, chosen, as_of)
    _, places = _order(reader, feeds, chosen, above.as_of, now)
    return [pk for score, pk, _ in places if (score, pk) < above.place]


def _ids(reader: Reader, feeds: Collection[int] | None, chosen: ListFilter, as_of: datetime) -> list[int]:
    return list_ids(
        reader_id=reader.pk,
        feeds=feeds,
        chosen=chosen,
        now=as_of,
        limit=BEST_MAX,
        since=as_of - timedelta(days=ITEM_WINDOW_DAYS),
        seen_by=as_of,
    )


def _order(
    reader: Reader, feeds: Collection[int] | None, chosen: ListFilter, as_of: datetime, now: datetime
) -> tuple[Ranking, list[tuple[float, int, int]]]:
    """Return the ranking of a list, and its items as (minus score, id, place in the ranking), in order.

    Scores count to nine digits: what a sum of floats loses may differ from page to page.
    """
    ids = _ids(reader, feeds, chosen, as_of)
    rows = Item.objects.filter(pk__in=ids).values_list(*CANDIDATE_FIELDS)
    candidates = [Candidate(*row) for row in rows]
    # Other readers' thumbs are those of now: each process has one day's at hand.
    signals = signals_for(reader_ids=[reader.pk], item_ids=ids, now=now)[reader.pk]
    ranking = ranked(candidates, config_effective(reader_id=reader.pk), as_of, signals)
    rounded = (float(f"{score:.8e}") for score in ranking.totals.tolist())
    return ranking, sorted(
        (-score, pk, n) for n, (score, pk) in enumerate(zip(rounded, ranking.ids.tolist(), strict=True))
    )
