"""Stored digests, and what they left out and why."""

import datetime as dt
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Exists, Max, OuterRef

from digest.build.candidates import DayCandidates, digest_candidates
from digest.build.exclusion import RATED, ExclusionReason, exclusion_reasons, places_lost
from digest.days import day_begin
from digest.entities import DIGEST_FROZEN, ITEM_WINDOW_DAYS
from digest.feedback.selectors import feedback_by_items
from digest.items.selectors import CANDIDATES_MAX, items_window_count
from digest.models import Digest, Impression, Item, Reader
from ranking.entities import EffectiveConfig, Score
from ranking.scoring import Ranking
from ranking.selectors import config_effective

PAGE_SIZE = 50


def digest_for(*, reader_id: UUID, date: dt.date) -> Digest | None:
    """Return the reader's digest of that day, if one was built."""
    return Digest.objects.filter(reader_id=reader_id, date=date).first()


def digest_dates_between(*, reader_id: UUID, first: dt.date, last: dt.date) -> set[dt.date]:
    """Return the days from `first` to `last`, both included, that have a digest; one query."""
    rows = Digest.objects.filter(reader_id=reader_id, date__range=(first, last))
    return set(rows.values_list("date", flat=True))


def digest_impressions(*, digest: Digest) -> list[Impression]:
    """Return what the digest shows, by rank, in three queries.

    Each impression has its item and source at hand, and as `thumb` the reader's `RatedItem` (or `None`).
    """
    shown = list(digest.impressions.select_related("item__source").order_by("rank"))
    ratings = feedback_by_items(reader_id=digest.reader_id, item_ids=[row.item_id for row in shown])
    for row in shown:
        row.thumb = ratings.get(row.item_id)
    return shown


def digests_current(
    *, days: Mapping[UUID, dt.date], versions: Mapping[UUID, int], now: dt.datetime
) -> dict[UUID, Digest]:
    """Return by reader the digests of `days` (reader -> their today) that are up to date; two queries.

    The others are due to be built: where there is none, it is empty, an hour old, of other settings than
    `versions` (reader -> the version in force), or from before the reader last began to read a feed or
    stopped.
    """
    shown = Exists(Impression.objects.filter(digest=OuterRef("pk")))
    fresh = Digest.objects.filter(shown, reader__in=list(days), date__in={*days.values()})
    built = {
        digest.reader_id: digest
        for digest in fresh.filter(built_at__gt=now - DIGEST_FROZEN)
        if digest.date == days[digest.reader_id] and digest.config_version == versions[digest.reader_id]
    }
    rows = Reader.objects.filter(pk__in=list(built)).annotate(joined_at=Max("subscriptions__created_at"))
    return {
        pk: built[pk]
        for pk, *moments in rows.values_list("pk", "joined_at", "sources_left_at")
        if all(at is None or at <= built[pk].built_at for at in moments)
    }


@dataclass(frozen=True, slots=True)
class ExcludedItem:
    """One item that is not in a digest.

    `position` is its own by score, `story_item` the item of the same story that is shown there.
    """

    item: Item
    reason: ExclusionReason
    position: int
    score: Score
    story_item: Item | None


@dataclass(frozen=True, slots=True)
class LoweredItem:
    """One item of a digest that would be `places` higher with its source, of `weight`, at weight 1."""

    item: Item
    rank: int
    weight: float
    places: int


@dataclass(frozen=True, slots=True)
class Exclusions:
    """A page of what a digest left out, best first. `counts` is over all pages and reasons.

    `settings_changed`: the settings are others by now, and the reasons are based on those. `unseen`: items of
    the window beyond the newest 5,000, which were never candidates and are not listed. `lowered`: what the
    digest shows, by rank, but lower than it would with its source at weight 1.
    """

    digest: Digest
    counts: Mapping[ExclusionReason, int]
    reason: ExclusionReason | None
    total: int
    page: int
    pages: int
    items: Sequence[ExcludedItem]
    settings_changed: bool
    unseen: int
    lowered: Sequence[LoweredItem] = ()


def digest_exclusions(
    *,
    reader: Reader,
    date: dt.date,
    now: dt.datetime,
    reason: ExclusionReason | None = None,
    page: int = 1,
    only: Collection[int] | None = None,
) -> Exclusions | None:
    """Return what the reader's digest of `date` left out, fifty to a page; `None` where none was built.

    Candidates are those of the moment it was built, scored with the settings and the ratings of other
    readers of `now`. The number of queries is constant.
    """
    digest = digest_for(reader_id=reader.pk, date=date)
    if digest is None:
        return None
    effective = config_effective(reader_id=reader.pk)
    candidates = _candidates_then(reader, digest, now)
    ranking = candidates.ranking(effective)
    choices = candidates.choices(ranking, effective)
    shown = list(digest.impressions.select_related("item__source").order_by("rank"))
    slots = {row.item_id: row.slot for row in shown}
    stories = {row.item.story_id: row.item for row in shown if row.item.story_id is not None}
    fixed = [row.item.source_id for row in shown if row.slot == RATED]
    found = exclusion_reasons(choices, slots, {story: i.pk for story, i in stories.items()}, fixed=fixed)
    wanted = [i for i, why in found.items() if reason in (None, why) and (only is None or i in only)]
    listed, page, pages = _page_of(wanted, page)
    return Exclusions(
        digest=digest,
        counts=Counter(found.values()),
        reason=reason,
        total=len(found),
        page=page,
        pages=pages,
        items=_excluded_items(listed, found, ranking, stories),
        settings_changed=effective.config.version != digest.config_version,
        unseen=_count_unseen(digest, candidates),
        lowered=_lowered_items(shown, places_lost(choices, slots), effective),
    )


def _candidates_then(reader: Reader, digest: Digest, now: dt.datetime) -> DayCandidates:
    """Return what the digest was made from; a reader who moved west since had its day before their clock."""
    as_of = max(min(now, digest.built_at), day_begin(digest.date, reader.zone))
    return digest_candidates(
        reader=reader, date=digest.date, now=as_of, seen_by=digest.built_at, community_at=now
    )


def _page_of(wanted: Sequence[int], page: int) -> tuple[Sequence[int], int, int]:
    """Return one page of `wanted`, its number, and that of pages; a page beyond the last is the last."""
    pages = max(1, -(-len(wanted) // PAGE_SIZE))
    page = max(1, min(page, pages))
    return wanted[(page - 1) * PAGE_SIZE : page * PAGE_SIZE], page, pages


def _count_unseen(digest: Digest, candidates: DayCandidates) -> int:
    """Count the items that the limit on candidates cut off; no query where it cut nothing."""
    if len(candidates.origins) < CANDIDATES_MAX:
        return 0
    window = items_window_count(reader_id=digest.reader_id, now=candidates.as_of, seen_by=digest.built_at)
    return window - len(candidates.origins)


def _lowered_items(
    shown: Sequence[Impression], places: Mapping[int, int], effective: EffectiveConfig
) -> list[LoweredItem]:
    return [
        LoweredItem(row.item, row.rank, effective.weight(row.item.source_id), places[row.item_id])
        for row in shown
        if row.item_id in places
    ]


def _excluded_items(
    listed: Sequence[int],
    reasons: Mapping[int, ExclusionReason],
    ranking: Ranking,
    stories: Mapping[int, Item],
) -> list[ExcludedItem]:
    """Return the items of one page in order, in one query."""
    positions = {item_id: n for n, item_id in enumerate(ranking.ids.tolist())}
    items = Item.objects.filter(pk__in=listed).select_related("source").in_bulk()
    found = []
    for item_id in listed:
        if (item := items.get(item_id)) is None:
            continue
        reason, at = reasons[item_id], positions[item_id]
        story = item.story_id if reason is ExclusionReason.SAME_STORY else None
        story_item = stories.get(story) if story is not None else None
        found.append(ExcludedItem(item, reason, at + 1, ranking[at], story_item))
    return found


@dataclass(frozen=True, slots=True)
class ItemPlace:
    """One item's place in one digest: `shown` there, or `excluded`, with the reason by today's settings.

    `settings_changed`: those are others than the digest was made with.
    """

    digest: Digest
    shown: Impression | None = None
    excluded: ExcludedItem | None = None
    settings_changed: bool = False


def item_place(*, reader: Reader, item: Item, now: dt.datetime) -> ItemPlace | None:
    """Return the item's place in the latest digest that shows it; else why the first built after it does not.

    One query where it is shown, else a constant number. `None` where it was a candidate for no digest.
    """
    impressions = Impression.objects.filter(item=item, digest__reader_id=reader.pk).select_related("digest")
    if shown := impressions.order_by("-digest__date").first():
        return ItemPlace(shown.digest, shown=shown)
    since = max(item.dated_at, item.first_seen_at)
    until = item.dated_at + dt.timedelta(days=ITEM_WINDOW_DAYS)
    built = Digest.objects.filter(reader_id=reader.pk, built_at__gte=since, built_at__lt=until)
    digest = built.order_by("date").first()
    if digest is None:
        return None
    found = digest_exclusions(reader=reader, date=digest.date, now=now, only=[item.pk])
    if found is None or not found.items:
        return None
    return ItemPlace(digest, excluded=found.items[0], settings_changed=found.settings_changed)
