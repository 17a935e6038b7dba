"""Store the digests of many readers at once, under row locks. Unchanged digests are not written."""

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Subquery

from digest.daily.changes import OrderChange, order_seen
from digest.daily.compose import Composition, NoveltyDraw, PlacedItem, Rules, compose
from digest.daily.diversity import Choice
from digest.daily.gone import GoneReason
from digest.daily.selectors import UnseenChange
from digest.days import day_begin
from digest.items.selectors import candidates_of, items_hidden, mutes_in_force
from digest.models import Digest, Exposure, Feedback, Impression, Item, Reader
from ranking.entities import Candidate, Score
from ranking.mutes import MuteFilter
from ranking.selectors import config_hiding, reading_once
from ranking.source_rules import is_past_shelf
from ranking.taste.entities import taste_counted, taste_counts

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
    the reader's page. `hidden_among` returns which items mutes and shelf lives hide; `None`: there are none.
    """

    reader: Reader
    date: dt.date
    version: int
    choices: Sequence[Choice]
    draw: NoveltyDraw
    scores_of: Callable[[Sequence[int]], Sequence[Score]]
    story_of: Callable[[int], int]
    earlier: "EarlierDay | None" = None
    muted: int = 0
    aged: int = 0
    gone: Mapping[GoneReason, int] = field(default_factory=dict)
    hidden_among: Callable[[Iterable[Candidate]], set[int]] | None = None


@dataclass(frozen=True, slots=True)
class EarlierDay:
    """A change of settings that no page has shown yet, and the same day without that change alone.

    `mutes` are those that the change added. Their items are no candidates any more, so `ranked`, which
    returns the same day with the settings before the change, has none of them.
    """

    change: UnseenChange
    mutes: MuteFilter
    ranked: Callable[[], RankedDay]


@transaction.atomic
def digests_store(*, ranked_days: Sequence[RankedDay], rules: Rules, now: dt.datetime) -> list[Digest]:
    """Compose and store the digests of about a hundred readers, in the given order.

    1. Under the digests' row locks, rated items keep their rank, score and parts, apart from numbers of
       ratings. Items drawn for novelty that day stay, too. A rated item that the settings hide, or that was
       called not useful, keeps its row, so that the mute or the rating can be undone. It has left the page,
       so another item gets a place more.
    2. The other items are composed around them. Rows are written only if something changed. If the items
       changed, the digest counts as not shown yet. The log of exposures is never changed.
    3. If settings changed, the order without that change is stored beside the new one
       (`digest.daily.changes`). Ratings, new items and other settings are the same in both, so that no
       change gets the credit for them.

    A digest of a newer config is never replaced by an older one's. At most ten queries, plus one per 500
    impressions.
    """
    digests = _digests_lock(ranked_days, now)
    impressions = _impressions_by_digest(digests.values())
    items = _items_hideable(ranked_days, digests, impressions)
    changed: list[Digest] = []
    gone: list[int] = []
    fresh: list[Impression] = []
    for ranked in ranked_days:
        digest = digests[ranked.reader.pk, ranked.date]
        if digest.config_version > ranked.version:
            continue
        before = impressions[digest.pk]
        off_page = _rated_off_page(ranked, before, items)
        composed = _compose(ranked, rules, before, off_page)
        left_out = composed.counts() | ({MUTED: ranked.muted} if ranked.muted else {})
        left_out |= {AGED: ranked.aged} if ranked.aged else {}
        left_out |= {reason.value: count for reason, count in sorted(ranked.gone.items())}
        after = _impressions_make(digest, ranked, composed, before)
        if _values(before) != _values(after):
            gone.append(digest.pk)
            fresh += after
        elif _is_up_to_date(ranked, digest, left_out):
            continue
        if earlier := _untold(ranked, digest, before):
            shown = [row.item_id for row in after if row.item_id not in off_page]
            digest.change = _effect(earlier, rules, before, shown, items).as_dict()
        _order_seen_keep(digest, before, after)
        digest.config_version, digest.built_at, digest.left_out = ranked.version, now, left_out
        changed.append(digest)
    _store(gone, fresh, changed)
    return [digests[ranked.reader.pk, ranked.date] for ranked in ranked_days]


@transaction.atomic
def digest_fill(*, ranked: RankedDay, rules: Rules, now: dt.datetime) -> Digest:
    """Add items at the end of a stored digest for those that have left its page, and return the digest.

    Nothing else changes. `ranked` has the candidates and settings that the digest was built with; if it was
    built with other settings meanwhile, nothing is added.
    """
    digest = _digests_lock([ranked], now)[ranked.reader.pk, ranked.date]
    impressions = _impressions_by_digest([digest])
    before = impressions[digest.pk]
    if digest.config_version == ranked.version:
        items = _items_hideable([ranked], {(ranked.reader.pk, ranked.date): digest}, impressions)
        shown = {row.item_id for row in before}
        composed = _compose(ranked, rules, before, _rated_off_page(ranked, before, items), shown)
        places = tuple(place for place in composed.places if place.item_id not in shown)
        rows = _impressions_make(digest, ranked, replace(composed, places=places), ())
        for row in rows:
            row.rank += len(before)
        Impression.objects.bulk_create(rows)
    return digest


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


def _items_hideable(
    ranked_days: Sequence[RankedDay],
    digests: Mapping[Key, Digest],
    impressions: Mapping[int, list[Impression]],
) -> dict[int, Candidate]:
    """Return those items of stored digests that settings may hide: all if an unseen change mutes, else the
    ones that were rated that day. One query, or none."""
    ids: set[int] = set()
    for ranked in ranked_days:
        shown = impressions[digests[ranked.reader.pk, ranked.date].pk]
        if ranked.earlier and ranked.earlier.mutes:
            ids |= {row.item_id for row in shown}
        elif ranked.earlier or ranked.hidden_among:
            ids |= {row.item_id for row in shown if _is_rated_today(row, ranked)}
    return {item.item_id: item for item in candidates_of(item_ids=ids)} if ids else {}


def _rated_off_page(
    ranked: RankedDay, before: Sequence[Impression], items: Mapping[int, Candidate]
) -> set[int]:
    """Return the items of the last build (`before`) that were rated that day and have left the page.

    The settings hide them, or the reader called them not useful.
    """
    rated = [row for row in before if _is_rated_today(row, ranked)]
    found = {row.item_id for row in rated if not _is_useful(row)}
    if ranked.hidden_among:
        found |= ranked.hidden_among(items[row.item_id] for row in rated)
    return found


def _is_up_to_date(ranked: RankedDay, digest: Digest, left_out: Mapping[str, int]) -> bool:
    """Return whether a digest with unchanged items needs no new row either."""
    same = digest.config_version == ranked.version and digest.left_out == left_out
    return same and not _is_learned_since(ranked, digest)


def _is_learned_since(ranked: RankedDay, digest: Digest) -> bool:
    learned_at = ranked.earlier.change.learned_at if ranked.earlier else None
    return learned_at is not None and digest.built_at < learned_at


def _untold(ranked: RankedDay, digest: Digest, before: Sequence[Impression]) -> EarlierDay | None:
    """Return the day without its unseen change, if this build is the first with that change.

    The day's first build tells of learned steps only, as the reader has seen no page of the day before.
    """
    if (earlier := ranked.earlier) is None:
        return None
    if version := earlier.change.version:
        return earlier if before and digest.config_version < version else None
    return earlier if not before or _is_learned_since(ranked, digest) else None


def _effect(
    earlier: EarlierDay,
    rules: Rules,
    before: Sequence[Impression],
    after: Sequence[int],
    items: Mapping[int, Candidate],
) -> OrderChange:
    """Return the effect of the change: the page composed without it, beside the items of the new one.

    Items of the last page (`before`) that it has muted keep their rank there.
    """
    mutes, change, ranked = earlier.mutes, earlier.change, earlier.ranked()
    muted = {row.item_id for row in before if mutes and mutes.finds(items[row.item_id])}
    off_page = _rated_off_page(ranked, before, items)
    made = _compose(ranked, rules, before, off_page, muted)
    return OrderChange(
        tuple(place.item_id for place in made.places if place.item_id not in off_page),
        tuple(after),
        version=change.version,
        cycle=change.cycle,
    )


def _order_seen_keep(digest: Digest, before: Sequence[Impression], after: Sequence[Impression]) -> None:
    """Note on `digest` (unsaved) the order last seen, if the new one differs."""
    shown = [row.item_id for row in before]
    if shown != [row.item_id for row in after]:
        seen = order_seen(shown, digest.seen, is_seen=digest.exposed_at is not None)
        digest.seen, digest.exposed_at = list(seen) if shown else None, None


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
    """Return each digest's impressions by rank, with article, source and the reader's rating."""
    rating = Feedback.objects.filter(article=OuterRef("item__article"), reader=OuterRef("digest__reader"))
    of_item = {"source": F("item__source_id"), "article": F("item__article")}
    found = Impression.objects.filter(digest__in=digests).annotate(
        rated_at=Subquery(rating.values("at")[:1]), useful=Subquery(rating.values("useful")[:1]), **of_item
    )
    rows: defaultdict[int, list[Impression]] = defaultdict(list)
    for row in found.order_by("rank"):
        rows[row.digest_id].append(row)
    return rows


def _compose(
    ranked: RankedDay,
    rules: Rules,
    before: Sequence[Impression],
    off_page: Collection[int],
    fixed: Collection[int] = (),
) -> Composition:
    """Compose the day around the rated items of the last build (`before`) and its items `fixed`.

    The rated items in `off_page` have left the page, so as many others get a place.
    """
    at = {
        row.rank: PlacedItem(row.item_id, row.source, ranked.story_of(row.article), row.propensity)
        for row in before
    }
    return compose(
        ranked.choices,
        replace(rules, size=rules.size + len(off_page)),
        ranked.draw,
        rated={
            row.rank: at[row.rank] for row in before if row.item_id in fixed or _is_rated_today(row, ranked)
        },
        drawn={row.rank: at[row.rank] for row in before if row.slot == Impression.Slot.NOVELTY},
        placed={row.item_id for row in before},
    )


def _is_rated_today(row: Impression, ranked: RankedDay) -> bool:
    """Return whether the item was rated on this very day. Items rated earlier have left the page."""
    rated_at: dt.datetime | None = getattr(row, "rated_at", None)
    return rated_at is not None and rated_at >= day_begin(ranked.date, ranked.reader.zone)


def _is_useful(row: Impression) -> bool:
    """Return whether the reader has called a rated item useful."""
    return bool(getattr(row, "useful", True))


def _impressions_make(
    digest: Digest, ranked: RankedDay, composed: Composition, before: Sequence[Impression]
) -> list[Impression]:
    """Return the digest's new impressions by rank, unsaved. Rated items keep score, parts and probability.

    Only the numbers of ratings in their reasons are those of the newest rows: one page shows all of them.
    """
    rated = {row.item_id: row for row in before if _is_rated_today(row, ranked)}
    new = [place.item_id for place in composed.places if place.item_id not in rated]
    scores = dict(zip(new, ranked.scores_of(new), strict=True))
    known = sorted(rated.values(), key=lambda row: row.rated_at)  # type: ignore[attr-defined]
    counts = taste_counts([(row.source, row.parts) for row in known])
    parts = {pk: score.parts.as_dict() for pk, score in scores.items()}
    counts |= taste_counts([(scores[pk].candidate.source, found) for pk, found in parts.items()])
    rows = []
    for rank, place in enumerate(composed.places, start=1):
        row = Impression(digest=digest, item_id=place.item_id, rank=rank, slot=place.slot)
        if known_row := rated.get(place.item_id):
            row.score, row.propensity = known_row.score, known_row.propensity
            row.parts = taste_counted(known_row.parts, known_row.source, counts)
        else:
            row.score, row.propensity = scores[place.item_id].total, place.propensity
            row.parts = parts[place.item_id]
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
