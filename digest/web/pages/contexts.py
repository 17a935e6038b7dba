"""Contexts of the reading pages' templates."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date as Date
from datetime import datetime, timedelta
from typing import Any

from digest.daily.absence import absence_words
from digest.daily.catch_up import away_missing_since
from digest.daily.changes import OrderChange, mark_of, order_change_read
from digest.daily.diversity import ExclusionReason, exclusion_explain, reasons_describe
from digest.daily.first_fetch_notice import notice_today
from digest.daily.gone import GoneReason
from digest.daily.item_words import is_impersonal, place_explain, score_since, was_drawn
from digest.daily.presentation import (
    ScoredItem,
    ShownItem,
    items_score,
    items_shown,
    reasons_of_change,
    score_changed,
    scores_changed,
)
from digest.daily.selectors import (
    ExcludedItem,
    Exclusions,
    digest_dates_between,
    digest_exclusions,
    digest_for,
    digest_impressions,
    item_place,
)
from digest.daily.services import digest_current, digest_filled
from digest.daily.why_words import FOUND
from digest.days import day_of, month_first, month_of
from digest.entities import DIGEST_SIZE, RatedItem, counts_unread
from digest.feedback.selectors import feedback_counts
from digest.feeds.selectors import subscriptions_of
from digest.items.listing import ReadFeed, feeds_read
from digest.items.own_names import items_name_sources
from digest.items.reading import items_saved
from digest.items.search import NO_FILTERS, Order, SearchFilters, SearchPage, items_search
from digest.items.search_query import Term, highlight, query_notes, terms_snippet
from digest.items.selectors import CANDIDATES_MAX, item_is_hidden, items_visible, mutes_in_force
from digest.items.taken_in import Alike, items_about
from digest.models import Digest, Feed, Impression, Item, Reader
from digest.mutes.preview import item_mute
from digest.web.pages.lists import ListRow, feeds_named

# Reasons for which an item comes on a further page of today.
LIMITED = {ExclusionReason.SAME_STORY, ExclusionReason.DAILY_LIMIT, ExclusionReason.LATE}
FURTHER = {*ExclusionReason} - LIMITED | {GoneReason.SEEN}
# How far back digests are shown: a build for the year 1 would help nobody.
OLDEST = timedelta(days=730)


def day_page(reader: Reader, date: Date, now: datetime, *, all_items: bool = False) -> dict[str, Any]:
    """Return the digest of `date` for its page. Rebuild today's digest if it is stale (`digest_current`).

    Today's leaves out read items if the reader wants that, unless `all_items` are asked for.
    """
    today = day_of(now, reader.zone)
    digest = digest_current(reader=reader, date=date, now=now)
    impressions = digest_impressions(digest=digest, now=now, as_built=date < today) if digest else []
    if digest and date == today and _has_gap(digest, impressions):
        digest = digest_filled(reader=reader, digest=digest, now=now)
        impressions = digest_impressions(digest=digest, now=now)
    # Only the page of an empty digest shows how its sources are doing.
    subscriptions = [] if impressions else subscriptions_of(reader_id=reader.pk)
    scored = [ScoredItem(i.item, i.parts, i.score, i.slot) for i in impressions]
    ratings = {impression.item_id: impression.thumb for impression in impressions}
    # Rated items keep their place and score though the rest was ranked again.
    fixed = [entry for entry in scored if entry.slot == Impression.Slot.RATED]
    since = scores_changed(reader=reader, scored=fixed, now=now) if date == today else {}
    shown = items_shown(reader=reader, scored=scored, now=now, ratings=ratings, since=since)
    hides = reader.hide_read and date == today and not all_items
    change = order_change_read(digest.change) if digest and date == today else None
    change = change if change and change.has_effect else None
    shown = _mark_moves(reader, shown, change, scored, now) if change else shown
    passed = {entry.item.pk for entry in scored if entry.slot == Impression.Slot.AGAIN}
    impersonal = bool(impressions) and all(is_impersonal(one.parts) for one in impressions)
    is_taught = digest is not None and digest.config_version > 0
    return {
        "change": change,
        "filling": notice_today(reader, digest, now, not impressions) if digest and date == today else None,
        "digest": digest,
        "made": digest is not None,
        "waiting": [
            row
            for row in subscriptions
            if row.feed.state == Feed.State.ACTIVE and row.feed.last_fetched_at is None
        ],
        "date": date,
        "is_today": date == today,
        "away_since": away_missing_since(reader=reader, shown=shown, now=now) if date == today else None,
        "previous": date - timedelta(days=1) if today - date < OLDEST else None,
        "next": date + timedelta(days=1) if date < today else None,
        **(state := _read_state(shown, passed, hides=hides, is_today=date == today)),
        "left_out": sum(n for n in (digest.left_out.values() if digest else ()) if isinstance(n, int)),
        **(_page_end(digest, len(shown)) if digest and date == today else {}),
        "ask_read_gone": date == today and reader.read_gone is None and state["size"] - state["unread"],
        "impersonal": impersonal,
        "is_taught": is_taught,
        "is_rated": date == today and impersonal and not is_taught and _has_rated(reader, ratings.values()),
        "has_sources": bool(impressions) or bool(subscriptions),
    }


def _has_rated(reader: Reader, here: Iterable[RatedItem | None]) -> bool:
    """Return whether the reader has rated anything; one query, or none if they rated something `here`."""
    return any(here) or feedback_counts(reader_id=reader.pk).total > 0


def _read_state(
    shown: list[ShownItem], passed: Collection[int], *, hides: bool, is_today: bool
) -> dict[str, Any]:
    """Return the items to show (unread ones only, if `hides`), and the number of unread among all.

    `again` are the rows from the first on that the reader passed by before, one of `passed`.
    `aside` are those of today that the reader called not useful (`disliked_aside`). They are in no number,
    as another article has come in the place of each.
    """
    rows, aside = disliked_aside(shown) if is_today else (shown, [])
    size, unread = len(rows), [entry for entry in rows if entry.response.read_at is None]
    if hides:
        rows, aside = unread, [entry for entry in aside if entry.response.read_at is None]
    new = next((n for n, entry in enumerate(rows) if entry.item.pk in passed), len(rows))
    return {
        "shown": rows,
        "new": rows[:new],
        "again": rows[new:],
        "aside": aside,
        "size": size,
        "hides": hides,
        "unread": len(unread),
    }


def disliked_aside(shown: Sequence[ShownItem]) -> tuple[list[ShownItem], list[ShownItem]]:
    """Return the rows of a page, and those that have left it because the reader called them not useful.

    These stand folded at the end of the page, with *Undo*. If nothing else is there, they stay rows.
    """
    aside = [entry for entry in shown if _is_disliked(entry.response.rating)]
    if len(aside) == len(shown):
        return list(shown), []
    return [entry for entry in shown if entry not in aside], aside


def _is_disliked(rating: RatedItem | None) -> bool:
    return rating is not None and not rating.useful


def _has_gap(digest: Digest, impressions: Sequence[Impression]) -> bool:
    """Return whether a page that was full has room, because its reader called some of it not useful.

    There is none if no other article waits.
    """
    shown = sum(not _is_disliked(row.thumb) for row in impressions)
    waiting = any(digest.left_out.get(reason) for reason in {*ExclusionReason} - LIMITED)
    return shown < DIGEST_SIZE <= len(impressions) and waiting


def _page_end(digest: Digest, size: int) -> dict[str, Any]:
    """Return the values for the end of today's page.

    `short` tells that all new items are on it, `late_left` that old ones are not, as only a few of those that
    came late have a place. `further` tells whether unrated and unread items are left,
    `dealt` whether anything has left the page.
    """
    left = {reason: n for reason, n in digest.left_out.items() if isinstance(n, int)}
    waiting = sum(n for reason, n in left.items() if reason in FURTHER)
    return {
        "short": 0 < size < DIGEST_SIZE,
        "late_left": 0 < size < DIGEST_SIZE and left.get(ExclusionReason.LATE, 0) > 0,
        "further": waiting > 0,
        "dealt": any(left.get(reason) for reason in GoneReason),
    }


def _mark_moves(
    reader: Reader,
    shown: list[ShownItem],
    change: OrderChange,
    scored: Sequence[ScoredItem],
    now: datetime,
) -> list[ShownItem]:
    """Return the items, with words for those that `change` moved or brought.

    What a change of settings ended for one is its first reason. One without a reason has others' moves as
    its reason, unless something of the reader's counts in its score.
    """
    places = change.places
    moved = [entry for entry in scored if entry.item.pk in places]
    version = change.version if moved else 0
    changed = reasons_of_change(reader=reader, scored=moved, version=version, now=now) if version else {}
    alone = {entry.item.pk for entry in scored if is_impersonal(entry.parts)}
    return [
        _mark_move(entry, places[pk], changed.get(pk, ()), alone=pk in alone) if pk in places else entry
        for entry in shown
        for pk in (entry.item.pk,)
    ]


def _mark_move(entry: ShownItem, places: int | None, changed: tuple[str, ...], *, alone: bool) -> ShownItem:
    mark = mark_of(places)
    chips = (*changed, *entry.why.chips)
    if not chips and mark.because and alone:
        chips = (mark.because,)
    return replace(entry, mark=mark, why=replace(entry.why, chips=chips))


def moved_page(reader: Reader, now: datetime) -> dict[str, Any] | None:
    """Return the articles that the last change moved on today's page, brought to it, or took from it.

    `None` if no change of today did that.
    """
    page = day_page(reader, day_of(now, reader.zone), now, all_items=True)
    change: OrderChange | None = page["change"]
    if change is None:
        return None
    rows = [entry for entry in (*page["shown"], *page["aside"]) if entry.mark]
    ids = [pk for pk in change.before if pk not in change.after][: change.gone]
    mutes = mutes_in_force(reader_id=reader.pk, now=now)
    found = items_visible(reader_id=reader.pk).select_related("source").filter(pk__in=ids)
    visible = {item.pk: item for item in found if not item_is_hidden(mutes, item)}
    gone = [visible[pk] for pk in ids if pk in visible]
    scored = items_score(reader=reader, items=gone, now=now) if gone else []
    return {
        "change": change,
        "shown": rows,
        "gone": items_shown(reader=reader, scored=scored, now=now) if gone else [],
        "muted": len(ids) - len(gone),
    }


def digest_items(reader: Reader, date: Date, now: datetime) -> list[int]:
    """Return the ids of the items in the reader's digest of that day; a constant number of queries."""
    digest = digest_for(reader_id=reader.pk, date=date)
    shown = digest_impressions(digest=digest, now=now) if digest else []
    return [impression.item_id for impression in shown]


def calendar_page(reader: Reader, typed: str, now: datetime) -> dict[str, Any]:
    """Return the month `typed` ("2026-03") with the days that have a digest; this month for anything else."""
    today = day_of(now, reader.zone)
    oldest = today - OLDEST
    first = max(month_first(typed, today), oldest.replace(day=1))
    last = min(first + timedelta(days=42), today)
    since = max(first - timedelta(days=7), oldest)
    made = digest_dates_between(reader_id=reader.pk, first=since, last=last)
    month = month_of(first, today, made, oldest)
    return {"month": month, "made": sum(day.month == first.month for day in made)}


@dataclass(frozen=True, slots=True)
class ExcludedLine:
    """One excluded item as its page shows it, with the reason in words."""

    shown: ShownItem
    reason: str
    story_item: Item | None
    position: int


def left_out_page(reader: Reader, date: Date, reason: str, page: int, now: datetime) -> dict[str, Any]:
    """Return the items left out of a day's digest for the reason named, or for any if it is no reason.

    The number of queries is constant.
    """
    wanted = ExclusionReason(reason) if reason in set(ExclusionReason) else None
    found = digest_exclusions(reader=reader, date=date, now=now, reason=wanted, page=page)
    if found is None:
        return {"date": date, "found": None}
    _name_exclusions(reader, found)
    kinds = reasons_describe(found.counts)
    return {
        "date": date,
        "found": found,
        "limit": CANDIDATES_MAX,
        "kinds": kinds,
        "kind": next((kind for kind in kinds if wanted and kind.code == wanted.value), None),
        "reason": wanted.value if wanted else "",
        "excluded": _excluded_lines(reader, found, now),
    }


def _name_exclusions(reader: Reader, found: Exclusions) -> None:
    items = [row.story_item for row in found.items if row.story_item]
    items += [row.item for row in found.items] + [row.item for row in found.lowered]
    items_name_sources(reader_id=reader.pk, items=items)


def _excluded_lines(reader: Reader, found: Exclusions, now: datetime) -> list[ExcludedLine]:
    scored = [ScoredItem(row.item, row.score.parts.as_dict(), row.score.total, FOUND) for row in found.items]
    shown = items_shown(reader=reader, scored=scored, now=now) if scored else []
    return [
        ExcludedLine(entry, _reason_words(row), row.story_item, row.position)
        for row, entry in zip(found.items, shown, strict=True)
    ]


def _reason_words(row: ExcludedItem) -> str:
    shown_source = row.story_item.source_name if row.story_item else ""
    return exclusion_explain(row.reason, row.item.source_name, shown_source)


def item_page(reader: Reader, item: Item, now: datetime) -> dict[str, Any]:
    """Return one item with its score as it would be now, its place in a digest, and its score there.

    The score there is shown if the reader's settings treated the item differently then.
    """
    place = item_place(reader=reader, item=item, now=now)
    scored = items_score(reader=reader, items=[item], now=now)
    words, then = "", None
    if place and (there := place.shown):
        reason = place_explain(there.slot, there.propensity, place.moved)
        words = f"{reason} {score_since(there.score, scored[0].score)}".rstrip()
        then = ScoredItem(item, there.parts, there.score, there.slot)
        slot = Impression.Slot.NOVELTY if was_drawn(there.slot, there.propensity) else there.slot
        scored = [replace(entry, slot=slot) for entry in scored]
    elif place and place.excluded:
        named = [place.excluded.item, *filter(None, [place.excluded.story_item])]
        items_name_sources(reader_id=reader.pk, items=named)
        words = _reason_words(place.excluded)
    elif not place:
        words = absence_words(reader=reader, item=item, now=now)
    since = score_changed(then, scored[0], shown=then) if then else None
    shown = items_shown(reader=reader, scored=scored, now=now, since={item.pk: since} if since else None)[0]
    mute = item_mute(reader=reader, item=item, now=now)
    return {"shown": shown, "place": place, "place_words": words, "mute": mute}


def saved_page(reader: Reader, page: int, now: datetime) -> dict[str, Any]:
    """Return one page of the saved items, with their scores as of now."""
    saved = items_saved(reader_id=reader.pk, page=page)
    scored = items_score(reader=reader, items=saved.items, now=now)
    return {"saved": saved, "shown": items_shown(reader=reader, scored=scored, now=now)}


def search_page(
    reader: Reader,
    query: str,
    order: Order,
    page: int,
    now: datetime,
    filters: SearchFilters = NO_FILTERS,
    *,
    with_muted: bool = False,
) -> dict[str, Any]:
    """Return the hits of a search, as rows of a list, with matches marked."""
    # First, so that the reader's feeds are read once for all parts of the page.
    feeds = feeds_read(reader_id=reader.pk) if query else []
    found = items_search(
        reader_id=reader.pk,
        query=query,
        order=order,
        page=page,
        filters=filters,
        with_muted=with_muted,
        now=now,
    )
    about = _items_about(reader, query, found, filters, now)
    rows = _rows_found(reader, [*found.items, *about.items], found.terms, feeds, now)
    return {
        "query": query,
        "order": order,
        "found": found,
        "notes": query_notes(query),
        "rows": rows,
        "unread": any(row.shown.response.read_at is None for row in rows),
        "hits": rows[: len(found.items)],
        "about": rows[len(found.items) :],
        "about_words": about.words,
        "filed": about.filed,
    }


def _items_about(
    reader: Reader, query: str, found: SearchPage, filters: SearchFilters, now: datetime
) -> Alike:
    """Return the items about a plain query that do not say it, if all that say it fit on one page."""
    has_signs = any(term.excluded or term.others for term in found.terms)
    is_plain = found.terms and not has_signs and filters == NO_FILTERS
    if not is_plain or found.instead or found.more or found.page > 1 or '"' in query or "*" in query:
        return Alike()
    ids = [item.pk for item in found.items]
    return items_about(reader_id=reader.pk, query=query, found=ids, now=now)


def _rows_found(
    reader: Reader, items: Sequence[Item], terms: Sequence[Term], feeds: Sequence[ReadFeed], now: datetime
) -> list[ListRow]:
    """Return the rows of items that a search found, as under All, with the matches marked."""
    if not items:
        return []
    scored = items_score(reader=reader, items=items, now=now)
    named = feeds_named(feeds)
    return [
        ListRow(
            entry,
            key="",
            counts=counts_unread(dated_at=entry.item.dated_at, now=now),
            feed=named.get(entry.item.feed_id),
            title=highlight(entry.item.title, terms),
            snippet=terms_snippet(entry.item.text, terms),
        )
        for entry in items_shown(reader=reader, scored=scored, now=now, breakdown=False)
    ]
