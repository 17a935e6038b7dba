"""Read stored digests, and explain which items they left out and why."""

import datetime as dt
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Exists, Max, OuterRef, QuerySet

from digest.daily.absence import candidate_between
from digest.daily.candidates import DayCandidates, digest_candidates
from digest.daily.diversity import (
    RANKED,
    RATED,
    ExclusionReason,
    exclusion_reasons,
    places_lost,
    places_moved,
)
from digest.daily.gone import gone_words
from digest.days import day_begin
from digest.entities import DIGEST_FROZEN, ITEM_WINDOW_DAYS
from digest.feedback.selectors import feedback_by_items
from digest.feeds.first_fetch import LOT, NEVER_FETCHED
from digest.items.own_names import items_name_sources
from digest.items.selectors import CANDIDATES_MAX, item_is_hidden, items_window_count, mutes_in_force
from digest.models import Digest, Feed, Impression, Item, Reader, Subscription
from ranking.entities import EffectiveConfig, Mute, Score
from ranking.language import ngettext, thousands
from ranking.scoring import Ranking
from ranking.selectors import config_effective, config_hiding, learning_steps, reading_once, versions_of_order
from ranking.source_rules import is_past_shelf

PAGE_SIZE = 50
# How long a digest stays unchanged while feeds that its reader has just added are fetched.
FIRST_FETCH_FROZEN = dt.timedelta(seconds=5)
# The first page of a day mentions learning that happened up to this long before the day began.
LEARNED_SHOWN = dt.timedelta(days=1)


def digest_for(*, reader_id: UUID, date: dt.date) -> Digest | None:
    """Return the reader's digest of that day; `None` if none was built."""
    return Digest.objects.filter(reader_id=reader_id, date=date).first()


def digest_dates_between(*, reader_id: UUID, first: dt.date, last: dt.date) -> set[dt.date]:
    """Return the days from `first` to `last`, both included, that have a digest; one query."""
    rows = Digest.objects.filter(reader_id=reader_id, date__range=(first, last))
    return set(rows.values_list("date", flat=True))


def digest_impressions(*, digest: Digest, now: dt.datetime, as_built: bool = False) -> list[Impression]:
    """Return the digest's impressions by rank, without items that the reader has muted since; five queries.

    Items past the shelf life of their source are left out, too, unless the digest is wanted `as_built`, as
    the page of a past day is.

    Each impression has its item and source loaded, and the reader's `RatedItem` (or `None`) as `thumb`.
    """
    with reading_once():
        shown = _impressions_unmuted(digest, now)
        lives = {} if as_built else config_hiding(reader_id=digest.reader_id).shelf_lives
    shown = [row for row in shown if not is_past_shelf(lives, row.item.source_id, row.item.dated_at, now)]
    items = [row.item for row in shown]
    items_name_sources(reader_id=digest.reader_id, items=items)
    ratings = feedback_by_items(reader_id=digest.reader_id, items=items)
    for row in shown:
        row.thumb = ratings.get(row.item_id)
    return shown


def _impressions_unmuted(digest: Digest, now: dt.datetime) -> list[Impression]:
    mutes = mutes_in_force(reader_id=digest.reader_id, now=now)
    rows = digest.impressions.select_related("item__source").order_by("rank")
    return [row for row in rows if not item_is_hidden(mutes, row.item)]


def digests_current(
    *, days: Mapping[UUID, dt.date], configs: Mapping[UUID, EffectiveConfig], now: dt.datetime
) -> dict[UUID, Digest]:
    """Return {reader: digest} for those digests of `days` (reader -> their today) that are up to date.

    A reader who is missing in the result needs a new build, because one of these is true:
    - there is no digest, or it is empty;
    - it is an hour old, or five seconds while feeds that the reader has just added are fetched;
    - it was built with other settings than `configs` (by reader), or before weights were last learned;
    - it was built before the reader last added or removed a feed, or before the first fetch of new feeds
      ended.

    Two queries.
    """
    shown = Exists(Impression.objects.filter(digest=OuterRef("pk")))
    fresh = Digest.objects.filter(shown, reader__in=list(days), date__in={*days.values()})
    built = {
        digest.reader_id: digest
        for digest in fresh.filter(built_at__gt=now - DIGEST_FROZEN)
        if digest.date == days[digest.reader_id] and _is_made_with(digest, configs[digest.reader_id])
    }
    fields = ("pk", "filling", "joined_at", "sources_left_at", "sources_filled_at")
    return {
        pk: built[pk]
        for pk, filling, *moments in _reading_changes(built, now).values_list(*fields)
        if all(at is None or at <= built[pk].built_at for at in moments)
        and not (filling and built[pk].built_at <= now - FIRST_FETCH_FROZEN)
    }


def _is_made_with(digest: Digest, effective: EffectiveConfig) -> bool:
    learned_at = effective.learned_at
    return digest.config_version == effective.config.version and (
        learned_at is None or learned_at <= digest.built_at
    )


def _reading_changes(reader_ids: Collection[UUID], now: dt.datetime) -> QuerySet[Reader]:
    """Return the readers annotated with `joined_at` and `filling`.

    `joined_at` is when they last added a feed. `filling` is whether a feed that they added just now still
    waits for its first fetch.
    """
    waiting = Feed.objects.filter(NEVER_FETCHED)
    mine = Subscription.objects.filter(reader=OuterRef("pk"), feed__in=waiting, created_at__gt=now - LOT)
    return Reader.objects.filter(pk__in=list(reader_ids)).annotate(
        joined_at=Max("subscriptions__created_at"), filling=Exists(mine)
    )


@dataclass(frozen=True, slots=True)
class UnseenChange:
    """A change of settings that no page has shown yet, and the settings as they would be without it.

    Either the settings became `version`, or the learning cycle of UTC day `cycle` ran at `learned_at`.
    """

    before: EffectiveConfig
    version: int = 0
    cycle: str = ""
    learned_at: dt.datetime | None = None


def learned_unseen(
    *,
    readers: Collection[Reader],
    days: Mapping[UUID, dt.date],
    configs: Mapping[UUID, EffectiveConfig],
) -> dict[UUID, UnseenChange]:
    """Return {reader: the steps learned on their day in `days` or the day before} that no page has shown.

    Steps that a person has changed since are left out. Two queries, or none if nothing was learned.
    """
    begins = {reader.pk: day_begin(days[reader.pk], reader.zone) for reader in readers}
    learned_at = {pk: at for pk in begins if (at := configs[pk].learned_at)}
    lately = {pk: at for pk, at in learned_at.items() if at >= begins[pk] - LEARNED_SHOWN}
    if not lately:
        return {}
    # A reader who saw a page after the learning, on the day before, knows of it already.
    seen = Digest.objects.filter(reader__in=list(lately)).order_by().values_list("reader_id")
    last_seen = dict(seen.annotate(Max("exposed_at")))
    unseen = {
        pk: at
        for pk, at in lately.items()
        if at >= begins[pk] or (seen_at := last_seen.get(pk)) is None or seen_at < at
    }
    found = learning_steps(reader_ids=list(unseen), since=min(lately.values()).astimezone(dt.UTC).date())
    earlier = {pk: configs[pk].without_steps(steps) for pk, (_, steps) in found.items()}
    return {
        pk: UnseenChange(earlier[pk], cycle=cycle.isoformat(), learned_at=unseen[pk])
        for pk, (cycle, _) in found.items()
        if earlier[pk] != configs[pk]
    }


def changes_unseen(
    *, readers: Collection[Reader], days: Mapping[UUID, dt.date], configs: Mapping[UUID, EffectiveConfig]
) -> dict[UUID, UnseenChange]:
    """Return {reader: the newest change of settings that no digest of their day in `days` has shown yet}.

    A change that a person made comes before learned steps, which only the first digest with them tells. At
    most five queries.
    """
    shown = Exists(Impression.objects.filter(digest=OuterRef("pk")))
    edited = [reader.pk for reader in readers if configs[reader.pk].config.version]
    built = Digest.objects.filter(shown, reader__in=edited, date__in={*days.values()})
    since = {
        pk: version
        for pk, date, version in built.values_list("reader_id", "date", "config_version")
        if date == days[pk] and version < configs[pk].config.version
    }
    made = versions_of_order(since=since, configs=configs)
    learned = learned_unseen(readers=readers, days=days, configs=configs)
    return learned | {pk: UnseenChange(before, version=version) for pk, (version, before) in made.items()}


def items_newer(*, digest: Digest, now: dt.datetime) -> int:
    """Return how many unmuted items of the last seven days came after today's digest was built.

    At most four queries. Feeds that brought nothing since are skipped.
    """
    brought = Feed.objects.filter(subscriptions__reader_id=digest.reader_id, last_new_at__gt=digest.built_at)
    feeds = list(brought.values_list("pk", flat=True))
    if not feeds:
        return 0
    since = now - dt.timedelta(days=ITEM_WINDOW_DAYS)
    newer = Item.objects.filter(
        feed_id__in=feeds, dated_at__gt=since, dated_at__lte=now, first_seen_at__gt=digest.built_at
    )
    if not (mutes := mutes_in_force(reader_id=digest.reader_id, now=now)):
        return newer.values("article").distinct().count()
    return len({item.article for item in newer.iterator() if not item_is_hidden(mutes, item)})


@dataclass(frozen=True, slots=True)
class ExcludedItem:
    """One item that is not in a digest.

    `position` is its place by score. `story_item` is the item of the same story that the digest shows.
    """

    item: Item
    reason: ExclusionReason
    position: int
    score: Score
    story_item: Item | None


@dataclass(frozen=True, slots=True)
class LoweredItem:
    """One item of a digest that would stand `places` higher with weight 1 for its source, not `weight`."""

    item: Item
    rank: int
    weight: float
    places: int


@dataclass(frozen=True, slots=True)
class MovedItem:
    """One item of a digest that stands `places` lower than by score, because sources alternate."""

    item: Item
    rank: int
    places: int


@dataclass(frozen=True, slots=True)
class Exclusions:
    """One page of the items that a digest left out, best first. `counts` is over all pages and reasons.

    - `settings_changed`: the settings have changed since; the reasons are based on the current ones.
    - `unseen`: number of items beyond the newest 5,000, which were never candidates and are not listed.
    - `lowered`: shown items, by rank, that stand lower than with their source at weight 1.
    - `moved`: shown items that stand lower than by score.
    - `muted`: (mute, number of hidden items); these items are not listed.
    - `gone`: sentences on what has left the reader's page; it is not listed either.
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
    moved: Sequence[MovedItem] = ()
    muted: Sequence[tuple[Mute, int]] = ()
    gone: Sequence[str] = ()

    @property
    def muted_count(self) -> int:
        """Return how many items all mutes together hide."""
        return sum(count for _, count in self.muted)


def digest_exclusions(
    *,
    reader: Reader,
    date: dt.date,
    now: dt.datetime,
    reason: ExclusionReason | None = None,
    page: int = 1,
    only: Collection[int] | None = None,
) -> Exclusions | None:
    """Return a page (fifty items) of the items that the digest of `date` left out, or `None` if none was
    built.

    Candidates are those at the time of the build. Scores use the settings and the other readers' ratings of
    `now`. The number of queries is constant.
    """
    digest = digest_for(reader_id=reader.pk, date=date)
    if digest is None:
        return None
    effective = config_effective(reader_id=reader.pk)
    candidates = candidates_then(reader, digest, now, effective)
    choices = candidates.choices(ranking := candidates.ranking(effective), effective)
    shown = _impressions_unmuted(digest, now)
    slots = {row.item_id: row.slot for row in shown}
    stories = {candidates.story_of(row.item.article): row.item for row in shown}
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
        items=_excluded_items(listed, found, ranking, candidates, stories),
        settings_changed=effective.config.version != digest.config_version,
        unseen=_count_unseen(digest, candidates),
        lowered=_lowered_items(shown, places_lost(choices, slots), effective),
        moved=_moved_items(shown),
        muted=sorted(candidates.muted.items(), key=lambda pair: -pair[1]),
        gone=[*gone_words(candidates.gone), *_aged_words(candidates.count_aged(effective))],
    )


def _aged_words(count: int) -> list[str]:
    words = ngettext(
        "{n} is past the shelf life of its source.", "{n} are past the shelf life of their sources.", count
    )
    return [words.format(n=thousands(count))] if count else []


def candidates_then(
    reader: Reader, digest: Digest, now: dt.datetime, effective: EffectiveConfig, *, keep_seen: bool = False
) -> DayCandidates:
    """Return the candidates that the digest was made from, and the taste of then if `effective` counts it.

    `keep_seen` is as in `digest_candidates`.

    If the reader has moved west since, the day began for them before their clock says so.
    """
    as_of = max(min(now, digest.built_at), day_begin(digest.date, reader.zone))
    return digest_candidates(
        reader=reader,
        date=digest.date,
        now=as_of,
        seen_by=digest.built_at,
        effective=effective,
        keep_seen=keep_seen,
    )


def _page_of(wanted: Sequence[int], page: int) -> tuple[Sequence[int], int, int]:
    """Return one page of `wanted`, its number, and the number of pages. Beyond the last, return the last."""
    pages = max(1, -(-len(wanted) // PAGE_SIZE))
    page = max(1, min(page, pages))
    return wanted[(page - 1) * PAGE_SIZE : page * PAGE_SIZE], page, pages


def _count_unseen(digest: Digest, candidates: DayCandidates) -> int:
    """Count the items that the limit on candidates cut off; no query if it cut none."""
    if len(candidates.origins) + sum(candidates.muted.values()) < CANDIDATES_MAX:
        return 0
    window = items_window_count(reader_id=digest.reader_id, now=candidates.as_of, seen_by=digest.built_at)
    return max(0, window - len(candidates.origins) - sum(candidates.muted.values()))


def _lowered_items(
    shown: Sequence[Impression], places: Mapping[int, int], effective: EffectiveConfig
) -> list[LoweredItem]:
    return [
        LoweredItem(row.item, row.rank, effective.weight(row.item.source_id), places[row.item_id])
        for row in shown
        if row.item_id in places
    ]


def _moved_items(shown: Sequence[Impression]) -> list[MovedItem]:
    places = places_moved([(row.item_id, row.score) for row in shown if row.slot == RANKED])
    return [
        MovedItem(row.item, row.rank, places[row.item_id]) for row in shown if places.get(row.item_id, 0) > 0
    ]


def _excluded_items(
    listed: Sequence[int],
    reasons: Mapping[int, ExclusionReason],
    ranking: Ranking,
    candidates: DayCandidates,
    stories: Mapping[int, Item],
) -> list[ExcludedItem]:
    """Return the excluded items of one page in order; one query."""
    positions = {item_id: n for n, item_id in enumerate(ranking.ids.tolist())}
    items = Item.objects.filter(pk__in=listed).select_related("source").in_bulk()
    found = []
    for item_id in listed:
        if (item := items.get(item_id)) is None:
            continue
        reason, at = reasons[item_id], positions[item_id]
        story = candidates.story_of(item.article)
        story_item = stories.get(story) if reason is ExclusionReason.SAME_STORY else None
        found.append(ExcludedItem(item, reason, at + 1, ranking[at], story_item))
    return found


@dataclass(frozen=True, slots=True)
class ItemPlace:
    """One item's place in one digest: either `shown`, or `excluded` with the reason by today's settings.

    `settings_changed`: the digest was made with other settings. `moved`: how many places lower than by score
    it stands (below 0: higher), because sources alternate.
    """

    digest: Digest
    shown: Impression | None = None
    excluded: ExcludedItem | None = None
    settings_changed: bool = False
    moved: int = 0


def item_place(*, reader: Reader, item: Item, now: dt.datetime) -> ItemPlace | None:
    """Return the item's place in the latest digest that shows it, or why the first one after it does not.

    One or two queries if it is shown, else a constant number. Returns `None` if it was no digest's candidate.
    An item older than a week when the reader subscribed may have been a candidate in the days after.
    """
    impressions = Impression.objects.filter(item=item, digest__reader_id=reader.pk).select_related("digest")
    if shown := impressions.order_by("-digest__date").first():
        return ItemPlace(shown.digest, shown=shown, moved=_places_moved(shown))
    since, until = candidate_between(reader, item)
    built = Digest.objects.filter(reader_id=reader.pk, built_at__gte=since, built_at__lt=until)
    digest = built.order_by("date").first()
    if digest is None:
        return None
    found = digest_exclusions(reader=reader, date=digest.date, now=now, only=[item.pk])
    if found is None or not found.items:
        return None
    return ItemPlace(digest, excluded=found.items[0], settings_changed=found.settings_changed)


def _places_moved(shown: Impression) -> int:
    if shown.slot != RANKED:
        return 0
    ranked = shown.digest.impressions.filter(slot=RANKED).order_by("rank").values_list("item_id", "score")
    return places_moved(list(ranked)).get(shown.item_id, 0)
