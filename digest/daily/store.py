"""Store the digests of many readers at once, under row locks. Unchanged digests are not written."""

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Subquery

from digest.daily.changes import OrderChange, order_change_read, order_seen
from digest.daily.compose import Composition, NoveltyDraw, PlacedItem, Rules, compose
from digest.daily.diversity import Choice
from digest.daily.gone import GoneReason
from digest.days import day_begin
from digest.items.selectors import items_hidden, mutes_in_force
from digest.models import Digest, Exposure, Feedback, Impression, Item, Reader
from ranking.entities import Score
from ranking.selectors import config_hiding, reading_once, versions_of_order
from ranking.source_rules import is_past_shelf

# Rows per INSERT. With ten columns each, this is far below the limit of any database.
ROWS = 500
# The columns of a digest's own row that a build may change.
WRITTEN = ("config_version", "built_at", "left_out", "exposed_at", "seen", "change")
# The counts in `left_out` of muted items and of those past their shelf life, beside the reasons of
# `ExclusionReason` and `GoneReason`.
MUTED, AGED = "muted", "shelf_life"
# (reader, day) of a digest.
Key = tuple[UUID, dt.date]


@dataclass(frozen=True, slots=True)
class RankedDay:
    """One reader's ranked day, ready to be composed.

    `scores_of` returns the scores of items in `choices`. `story_of` returns the story of an article. `muted`
    counts the items that mutes keep out, `aged` those past their shelf life, `gone` those that have left
    the reader's page.
    """

    reader: Reader
    date: dt.date
    version: int
    choices: Sequence[Choice]
    draw: NoveltyDraw
    scores_of: Callable[[Sequence[int]], Sequence[Score]]
    story_of: Callable[[int], int]
    learned: "UnseenCycle | None" = None
    muted: int = 0
    aged: int = 0
    gone: Mapping[GoneReason, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnseenCycle:
    """The learning cycle of UTC day `cycle`, if the reader has not seen it on a page before this build.

    `earlier` returns the same day ranked with the weights before the cycle.
    """

    cycle: dt.date
    at: dt.datetime
    earlier: Callable[[], RankedDay]


@transaction.atomic
def digests_store(*, ranked_days: Sequence[RankedDay], rules: Rules, now: dt.datetime) -> list[Digest]:
    """Compose and store the digests of about a hundred readers, in the given order.

    1. Under the digests' row locks, rated items keep their rank, score and parts. Items drawn for novelty
       that day stay, too.
    2. The other items are composed around them. Rows are written only if something changed. If the items
       changed, the digest counts as not shown yet. The log of exposures is never changed.
    3. If settings changed, the order last seen is stored beside the new one (`digest.daily.changes`).

    A digest of a newer config is never replaced by an older one's. At most eleven queries, plus one per 500
    impressions.
    """
    digests = _digests_lock(ranked_days, now)
    impressions = _impressions_by_digest(digests.values())
    versions = _versions_new(ranked_days, digests)
    changed: list[Digest] = []
    gone: list[int] = []
    fresh: list[Impression] = []
    orders: list[tuple[Digest, dt.datetime]] = []
    for ranked in ranked_days:
        digest = digests[ranked.reader.pk, ranked.date]
        if digest.config_version > ranked.version:
            continue
        before = impressions[digest.pk]
        composed = _compose(ranked, rules, before)
        left_out = composed.counts() | ({MUTED: ranked.muted} if ranked.muted else {})
        left_out |= {AGED: ranked.aged} if ranked.aged else {}
        left_out |= {reason.value: count for reason, count in sorted(ranked.gone.items())}
        after = _impressions_make(digest, ranked, composed, before)
        if _values(before) != _values(after):
            gone.append(digest.pk)
            fresh += after
        elif _is_up_to_date(ranked, digest, left_out):
            continue
        if _order_keep(ranked, digest, versions.get(ranked.reader.pk), before, after) and before:
            orders.append((digest, digest.built_at))
        digest.config_version, digest.built_at, digest.left_out = ranked.version, now, left_out
        changed.append(digest)
    _arrivals_note(orders)
    _store(gone, fresh, changed)
    return [digests[ranked.reader.pk, ranked.date] for ranked in ranked_days]


def _store(gone: Sequence[int], fresh: Sequence[Impression], changed: Sequence[Digest]) -> None:
    """Replace the impressions of the digests `gone` with `fresh`, and write the `changed` digests."""
    if gone:
        Impression.objects.filter(digest__in=gone).delete()
        Impression.objects.bulk_create(fresh, batch_size=ROWS)
    if changed:
        # All rows exist already. An upsert needs one statement, without a condition per row and column.
        Digest.objects.bulk_create(
            changed, update_conflicts=True, unique_fields=["id"], update_fields=WRITTEN
        )


def _versions_new(ranked_days: Sequence[RankedDay], digests: Mapping[Key, Digest]) -> dict[UUID, int]:
    """Return {reader: settings version to report} for digests of an older version; one query, or none."""
    of_days = [(ranked, digests[ranked.reader.pk, ranked.date]) for ranked in ranked_days]
    older = {r.reader.pk: digest.config_version for r, digest in of_days if digest.config_version < r.version}
    return versions_of_order(since=older)


def _is_up_to_date(ranked: RankedDay, digest: Digest, left_out: Mapping[str, int]) -> bool:
    """Return whether a digest with unchanged items needs no new row either."""
    same = digest.config_version == ranked.version and digest.left_out == left_out
    return same and not _is_learned_since(ranked, digest)


def _is_learned_since(ranked: RankedDay, digest: Digest) -> bool:
    return ranked.learned is not None and digest.built_at < ranked.learned.at


def _order_keep(
    ranked: RankedDay,
    digest: Digest,
    version: int | None,
    before: Sequence[Impression],
    after: Sequence[Impression],
) -> bool:
    """Note on `digest` (unsaved) the order last seen, and the effect of a settings change on it.

    Return whether there was such a change.
    """
    shown, becomes = [row.item_id for row in before], [row.item_id for row in after]
    seen = order_seen(shown, digest.seen, is_seen=digest.exposed_at is not None)
    # The day's first build: nothing was seen, so compare with the order that would have been.
    if ranked.learned and not shown:
        made = _compose(ranked.learned.earlier(), Rules(), ())
        seen = tuple(place.item_id for place in made.places)
    cycle = ranked.learned.cycle.isoformat() if ranked.learned else ""
    change = None
    if version and shown:
        change = OrderChange(seen, tuple(becomes), version=version)
    elif cycle and (not shown or _is_learned_since(ranked, digest)):
        change = OrderChange(seen, tuple(becomes), cycle=cycle)
    if change:
        digest.change = change.as_dict()
    if shown != becomes:
        digest.seen, digest.exposed_at = list(seen) if shown else None, None
    return change is not None


def _arrivals_note(orders: Sequence[tuple[Digest, dt.datetime]]) -> None:
    """Note on digests (unsaved) which items came after the previous build, given beside each digest.

    These items are not an effect of the change. One query, or none.
    """
    changes = [
        (digest, since, change) for digest, since in orders if (change := order_change_read(digest.change))
    ]
    new = {item for *_, change in changes for item in change.added}
    came = dict(Item.objects.filter(pk__in=new).values_list("pk", "first_seen_at")) if new else {}
    for digest, since, change in changes:
        arrived = tuple(item for item in change.added if item in came and came[item] > since)
        digest.change = replace(change, arrived=arrived).as_dict()


def _digests_lock(ranked_days: Sequence[RankedDay], now: dt.datetime) -> dict[Key, Digest]:
    """Create missing digest rows, lock all of them, and return them by (reader, day)."""
    Digest.objects.bulk_create(
        [Digest(reader=o.reader, date=o.date, config_version=o.version, built_at=now) for o in ranked_days],
        ignore_conflicts=True,
    )
    rows = Digest.objects.select_for_update().filter(
        reader__in=[ranked.reader for ranked in ranked_days], date__in={ranked.date for ranked in ranked_days}
    )
    return {(digest.reader_id, digest.date): digest for digest in rows.order_by("pk")}


def _impressions_by_digest(digests: Collection[Digest]) -> Mapping[int, list[Impression]]:
    """Return each digest's impressions by rank, with article, source and when the reader rated it."""
    rating = Feedback.objects.filter(article=OuterRef("item__article"), reader=OuterRef("digest__reader"))
    of_item = {"source": F("item__source_id"), "article": F("item__article")}
    found = Impression.objects.filter(digest__in=digests).annotate(
        rated_at=Subquery(rating.values("at")[:1]), **of_item
    )
    rows: defaultdict[int, list[Impression]] = defaultdict(list)
    for row in found.order_by("rank"):
        rows[row.digest_id].append(row)
    return rows


def _compose(ranked: RankedDay, rules: Rules, before: Sequence[Impression]) -> Composition:
    at = {
        row.rank: PlacedItem(row.item_id, row.source, ranked.story_of(row.article), row.propensity)
        for row in before
    }
    return compose(
        ranked.choices,
        rules,
        ranked.draw,
        rated={row.rank: at[row.rank] for row in before if _is_rated_today(row, ranked)},
        drawn={row.rank: at[row.rank] for row in before if row.slot == Impression.Slot.NOVELTY},
        placed={row.item_id for row in before},
    )


def _is_rated_today(row: Impression, ranked: RankedDay) -> bool:
    """Return whether the item was rated on this very day. Items rated earlier have left the page."""
    rated_at: dt.datetime | None = getattr(row, "rated_at", None)
    return rated_at is not None and rated_at >= day_begin(ranked.date, ranked.reader.zone)


def _impressions_make(
    digest: Digest, ranked: RankedDay, composed: Composition, before: Sequence[Impression]
) -> list[Impression]:
    """Return the digest's new impressions by rank, unsaved. Rated items keep score, parts and probability."""
    rated = {row.item_id: row for row in before if _is_rated_today(row, ranked)}
    new = [place.item_id for place in composed.places if place.item_id not in rated]
    scores = dict(zip(new, ranked.scores_of(new), strict=True))
    rows = []
    for rank, place in enumerate(composed.places, start=1):
        row = Impression(digest=digest, item_id=place.item_id, rank=rank, slot=place.slot)
        if known := rated.get(place.item_id):
            row.score, row.parts, row.propensity = known.score, known.parts, known.propensity
        else:
            score = scores[place.item_id]
            row.score, row.parts, row.propensity = score.total, score.parts.as_dict(), place.propensity
        rows.append(row)
    return rows


def _values(impressions: Sequence[Impression]) -> list[tuple[object, ...]]:
    return [(i.rank, i.item_id, i.score, i.parts, i.propensity, i.slot) for i in impressions]


def exposure_make(
    shown: Impression, *, digest: Digest, date: dt.date, door: str, rank: int, now: dt.datetime
) -> Exposure:
    """Return an unsaved log row: one impression of `digest` was shown at `rank`."""
    return Exposure(
        reader_id=digest.reader_id,
        item_id=shown.item_id,
        date=date,
        door=door,
        rank=rank,
        slot=shown.slot,
        propensity=shown.propensity,
        score=shown.score,
        config_version=digest.config_version,
        shown_at=now,
    )


def exposures_log(*, digest: Digest, door: str, now: dt.datetime) -> int:
    """Log the items of `digest` as shown through `door` (`Exposure.Door`); return how many rows were written.

    Only items that this door has not shown at this rank today are written, so a second view costs one query
    and no write. Muted items and those past their shelf life are not shown, so they are not logged. The log
    is append-only: rebuilding the digest removes nothing.
    """
    logged = Exposure.objects.filter(
        reader_id=digest.reader_id, date=digest.date, door=door, item=OuterRef("item"), rank=OuterRef("rank")
    )
    fresh = list(digest.impressions.filter(~Exists(logged)).defer("parts").order_by("rank"))
    rows = exposures_write(digest=digest, shown=fresh, door=door, now=now)
    if digest.exposed_at is None:
        unseen = Digest.objects.filter(pk=digest.pk, exposed_at=None, built_at=digest.built_at)
        if unseen.update(exposed_at=now):
            digest.exposed_at = now
    return rows


def exposures_write(*, digest: Digest, shown: Collection[Impression], door: str, now: dt.datetime) -> int:
    """Log these impressions of the digest's day, stored or not, as shown; return how many rows were written.

    Muted items and those past their shelf life are left out, and so are rows that exist.
    """
    hidden = _hidden_ids(digest, shown, now) if shown else set()
    rows = [
        exposure_make(one, digest=digest, date=digest.date, door=door, rank=one.rank, now=now)
        for one in shown
        if one.item_id not in hidden
    ]
    if rows:
        Exposure.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def _hidden_ids(digest: Digest, shown: Collection[Impression], now: dt.datetime) -> set[int]:
    with reading_once():
        mutes = mutes_in_force(reader_id=digest.reader_id, now=now)
        lives = config_hiding(reader_id=digest.reader_id).shelf_lives
    hidden = items_hidden(mutes=mutes, item_ids=[row.item_id for row in shown])
    if lives:
        rows = Item.objects.filter(pk__in=[row.item_id for row in shown], source__in=list(lives))
        dated = rows.values_list("pk", "source_id", "dated_at")
        hidden |= {pk for pk, source, at in dated if is_past_shelf(lives, source, at, now)}
    return hidden
