"""What a reader's digest does not show, and why."""

import datetime as dt
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from digest.days import day_begin
from digest.models import Digest, Impression, Item, Reader
from digest.passing import KEPT, Reason, left_out, lowered
from digest.selectors.digests import digest_for
from digest.selectors.items import CANDIDATES_MAX, items_window_count
from digest.selectors.material import Material, digest_material
from ranking.entities import EffectiveConfig, Score
from ranking.scoring import Ranking
from ranking.selectors import config_effective

PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class LeftOutItem:
    """One item that is not in a digest. `told_by` tells its story there; `place` is its own by score."""

    item: Item
    reason: Reason
    place: int
    score: Score
    told_by: Item | None


@dataclass(frozen=True, slots=True)
class Lowered:
    """One item of a digest that would stand `places` higher with its source, of `weight`, at weight 1."""

    item: Item
    rank: int
    weight: float
    places: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A page of what a digest leaves out, best first. `counts` is over all pages and reasons.

    `settings_changed`: the settings are others by now, and the reasons are told by those. `unseen`: items of
    the window beyond the newest 5,000, which were never candidates and are not listed. `lowered`: what the
    digest shows, by rank, but lower than it would with its source at weight 1.
    """

    digest: Digest
    counts: Mapping[Reason, int]
    reason: Reason | None
    total: int
    page: int
    pages: int
    items: Sequence[LeftOutItem]
    settings_changed: bool
    unseen: int
    lowered: Sequence[Lowered] = ()


def digest_left_out(
    *,
    reader: Reader,
    date: dt.date,
    now: dt.datetime,
    reason: Reason | None = None,
    page: int = 1,
    only: Collection[int] | None = None,
) -> LeftOut | None:
    """What the reader's digest of `date` left out, fifty to a page; `None` where none was built.

    Shown is what the digest says; candidates are what was there when it was built, scored by the settings
    and by what others say of `now`. As many queries whatever there is to list.
    """
    digest = digest_for(reader_id=reader.pk, date=date)
    if digest is None:
        return None
    effective = config_effective(reader_id=reader.pk)
    material = _material(reader, digest, now)
    ranking = material.ranking(effective)
    shown = list(digest.impressions.select_related("item__source").order_by("rank"))
    tellers = {row.item.cluster_id: row.item for row in shown if row.item.cluster_id is not None}
    slots, told = {row.item_id: row.slot for row in shown}, {story: i.pk for story, i in tellers.items()}
    choices = material.choices(ranking, effective)
    found = left_out(choices, slots, told, kept=[row.item.source_id for row in shown if row.slot == KEPT])
    wanted = [i for i, why in found.items() if reason in (None, why) and (only is None or i in only)]
    listed, page, pages = _paged(wanted, page)
    return LeftOut(
        digest=digest,
        counts=Counter(found.values()),
        reason=reason,
        total=len(found),
        page=page,
        pages=pages,
        items=_items(listed, found, _ranks(listed, ranking), tellers),
        settings_changed=effective.config.version != digest.config_version,
        unseen=_unseen(reader, digest, material),
        lowered=_lowered(shown, lowered(choices, slots), effective),
    )


def _material(reader: Reader, digest: Digest, now: dt.datetime) -> Material:
    """What the digest was made of; a reader who moved west since had its day before their clock says so."""
    as_of = max(min(now, digest.built_at), day_begin(digest.date, reader.zone))
    return digest_material(reader=reader, date=digest.date, now=as_of, seen_by=digest.built_at, said_by=now)


def _paged(wanted: Sequence[int], page: int) -> tuple[Sequence[int], int, int]:
    """A page of them, which page it is, and of how many; one beyond the last is the last."""
    pages = max(1, -(-len(wanted) // PAGE_SIZE))
    page = max(1, min(page, pages))
    return wanted[(page - 1) * PAGE_SIZE : page * PAGE_SIZE], page, pages


def _ranks(listed: Sequence[int], ranking: Ranking) -> dict[int, tuple[int, Score]]:
    """The place by score, from 1, and the score of each of the items."""
    places = {item_id: n for n, item_id in enumerate(ranking.ids.tolist())}
    return {item_id: (places[item_id] + 1, ranking[places[item_id]]) for item_id in listed}


def _lowered(
    shown: Sequence[Impression], places: Mapping[int, int], effective: EffectiveConfig
) -> list[Lowered]:
    return [
        Lowered(row.item, row.rank, effective.weight(row.item.source_id), places[row.item_id])
        for row in shown
        if row.item_id in places
    ]


def _unseen(reader: Reader, digest: Digest, material: Material) -> int:
    """How many items the limit on candidates cut off; no query where it cut nothing."""
    if len(material.about) < CANDIDATES_MAX:
        return 0
    every = items_window_count(reader_id=reader.pk, now=material.as_of, seen_by=digest.built_at)
    return every - len(material.about)


def _items(
    listed: Sequence[int],
    found: Mapping[int, Reason],
    ranks: Mapping[int, tuple[int, Score]],
    tellers: Mapping[int, Item],
) -> list[LeftOutItem]:
    """The items of one page in order, in one query."""
    items = Item.objects.filter(pk__in=listed).select_related("source").in_bulk()
    return [
        LeftOutItem(
            item=items[item_id],
            reason=found[item_id],
            place=ranks[item_id][0],
            score=ranks[item_id][1],
            told_by=_teller(items[item_id], found[item_id], tellers),
        )
        for item_id in listed
        if item_id in items
    ]


def _teller(item: Item, reason: Reason, tellers: Mapping[int, Item]) -> Item | None:
    if reason is not Reason.SAME_STORY or item.cluster_id is None:
        return None
    return tellers.get(item.cluster_id)
