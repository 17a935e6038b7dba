"""JSON API of the digest room: readings, saved items, search, feedback, costs, digests."""

from dataclasses import fields
from datetime import date, datetime
from datetime import date as Date
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import BeforeValidator, Field

from digest.daily.first_fetch_notice import notice_today
from digest.daily.item_words import score_chips
from digest.daily.selectors import digest_impressions
from digest.daily.services import digest_current
from digest.daily.store import exposures_log
from digest.days import day_of
from digest.errors import DigestMissing, FutureDate, OperatorsOnly
from digest.feedback.naming import address_name, article_name, articles_named, item_forget
from digest.feedback.reasons import OTHER_REASON_MAX_CHARS, OWN_WORDS_MAX
from digest.feedback.selectors import feedback_by_items, reason_tags
from digest.feedback.services import feedback_give, feedback_take_back
from digest.feeds.addresses import URL_MAX_CHARS
from digest.feeds.identity import SOURCE_KEY_MAX_CHARS
from digest.items.reading import item_open, item_read, item_save, item_unread
from digest.items.search import PAGES_MAX, Order, SearchFilters
from digest.items.search_query import QUERY_CHARS
from digest.items.selectors import item_get
from digest.items.stories import RelatedItem, items_related
from digest.models import ApiToken, Digest, Exposure, Impression, Reader, Reading, ReasonTag
from digest.requests import reader_of
from digest.searches.forms import LABEL_MAX_CHARS, days_between
from digest.sources.opml import FOLDER_MAX_CHARS
from digest.summaries.selectors import reasons_suggested_for
from digest.throttling import SEARCH, limit_count
from digest.web.pages.contexts import search_page
from digest.web.pages.costs import costs_page
from digest.web.pages.lists import ListRow

reading_router = Router(tags=["reading"])
ReadHow = Literal["marked", "opened", "finished"]


class ReadOut(Schema):
    """The moment an item was read, or `null`."""

    item_id: int
    read_at: datetime | None


class SavedOut(Schema):
    """The moment an item was saved, or `null`."""

    item_id: int
    saved_at: datetime | None


class NamedOut(Schema):
    """The moment the reader asked for more like an item, or `null`."""

    item_id: int
    named_at: datetime | None


class AddressIn(Schema):
    """The address of an article."""

    url: Annotated[str, Field(min_length=1, max_length=URL_MAX_CHARS)]


class NamedPageIn(Schema):
    """A page of twenty."""

    page: Annotated[int, Field(ge=1, le=PAGES_MAX)] = 1


class NamedArticleOut(Schema):
    """An article of which the reader asked for more, and when."""

    item_id: int
    url: str
    source: str
    title: str
    named_at: datetime | None


class NamedArticlesOut(Schema):
    """One page of the named articles, the latest first; `total` counts all pages."""

    total: int
    page: int
    more: bool
    articles: list[NamedArticleOut]


class SearchIn(Schema):
    """A query, the order of results, a page of twenty, and filters; both days, the reader's, are included."""

    q: Annotated[str, Field(max_length=QUERY_CHARS)] = ""
    order: Order = "best"
    page: Annotated[int, Field(ge=1, le=PAGES_MAX)] = 1
    source: Annotated[str, Field(max_length=SOURCE_KEY_MAX_CHARS)] = ""
    folder: Annotated[str, Field(max_length=FOLDER_MAX_CHARS)] = ""
    since: date | None = None
    until: date | None = None
    unread: bool = False
    saved: bool = False
    category: Annotated[str, Field(max_length=LABEL_MAX_CHARS)] = ""
    author: Annotated[str, Field(max_length=LABEL_MAX_CHARS)] = ""


class PartOut(Schema):
    """A piece of plain text; `marked` if it matches the query. Escape it before use in HTML."""

    text: str
    marked: bool


class HitOut(Schema):
    """One item that was found. `reasons` says in a few words why it would have its score now."""

    item_id: int
    url: str
    source: str
    title: list[PartOut]
    snippet: list[PartOut]
    dated_at: datetime
    reasons: list[str]
    read_at: datetime | None
    saved_at: datetime | None


class SearchOut(Schema):
    """One page of results. `loose`: no item has the whole words, these have longer ones.

    `instead` is `q` without a typo, if that was searched for because `q` found nothing; else "". `stopped`:
    it took too long, so only whole words were searched. `about` are up to ten more items of 30 days that are
    about `q` by meaning, if one page holds all hits.
    """

    total: int
    page: int
    more: bool
    loose: bool
    instead: str
    stopped: bool
    hits: list[HitOut]
    about: list[HitOut]


@reading_router.post("/items/{int:item_id}/read", response=ReadOut)
def read_post(request: HttpRequest, item_id: int, how: ReadHow = "marked") -> ReadOut:
    """Mark an item as read; a second time changes nothing.

    `how`: it was only `marked`, or `opened`, or `finished` (read to its end), which ranking may learn from.
    """
    reader, now = reader_of(request), timezone.now()
    if how == "marked":
        return ReadOut(item_id=item_id, read_at=item_read(reader=reader, item_id=item_id, now=now))
    door = Reading.Door.API if isinstance(getattr(request, "auth", None), ApiToken) else Reading.Door.PAGE
    at = item_open(reader=reader, item_id=item_id, door=door, now=now, finished=how == "finished")
    return ReadOut(item_id=item_id, read_at=at)


@reading_router.delete("/items/{int:item_id}/read", response=ReadOut)
def read_delete(request: HttpRequest, item_id: int) -> ReadOut:
    """Mark an item as not read."""
    item_unread(reader=reader_of(request), item_id=item_id)
    return ReadOut(item_id=item_id, read_at=None)


@reading_router.post("/items/{int:item_id}/saved", response=SavedOut)
def saved_post(request: HttpRequest, item_id: int) -> SavedOut:
    """Save an item for later; a second time changes nothing."""
    at = item_save(reader=reader_of(request), item_id=item_id, saved=True, now=timezone.now())
    return SavedOut(item_id=item_id, saved_at=at)


@reading_router.delete("/items/{int:item_id}/saved", response=SavedOut)
def saved_delete(request: HttpRequest, item_id: int) -> SavedOut:
    """Remove an item from the saved ones."""
    item_save(reader=reader_of(request), item_id=item_id, saved=False, now=timezone.now())
    return SavedOut(item_id=item_id, saved_at=None)


@reading_router.post("/items/{int:item_id}/named", response=NamedOut)
def named_post(request: HttpRequest, item_id: int) -> NamedOut:
    """Ask for more like an item; a second time changes nothing. A rating of not useful is taken back."""
    at = article_name(reader=reader_of(request), item_id=item_id, now=timezone.now())
    return NamedOut(item_id=item_id, named_at=at)


@reading_router.delete("/items/{int:item_id}/named", response=NamedOut)
def named_delete(request: HttpRequest, item_id: int) -> NamedOut:
    """Take back that more like an item was asked for."""
    item_forget(reader=reader_of(request), item_id=item_id)
    return NamedOut(item_id=item_id, named_at=None)


@reading_router.get("/named", response=NamedArticlesOut)
def named_get(request: HttpRequest, asked: Query[NamedPageIn]) -> NamedArticlesOut:
    """Return the articles of which the reader asked for more, twenty a page."""
    found = articles_named(reader_id=reader_of(request).pk, page=asked.page)
    articles = [
        NamedArticleOut(
            item_id=row.item_id,
            url=row.item.address,
            source=row.item.source_name,
            title=row.item.title,
            named_at=row.named_at,
        )
        for row in found.readings
    ]
    return NamedArticlesOut(total=found.total, page=found.page, more=found.more, articles=articles)


@reading_router.post("/named", response=NamedOut)
def named_address_post(request: HttpRequest, body: AddressIn) -> NamedOut:
    """Ask for more like the article at an address, if one of the reader's sources brought it.

    Raises `ArticleUnknown`.
    """
    reader, now = reader_of(request), timezone.now()
    limit_count(limit=SEARCH, who=reader.pk, now=now)
    item = address_name(reader=reader, address=body.url, now=now)
    return NamedOut(item_id=item.pk, named_at=now)


@reading_router.get("/search", response=SearchOut)
def search_get(request: HttpRequest, asked: Query[SearchIn]) -> SearchOut:
    """Search the reader's items, with the query language of the search page."""
    reader, now = reader_of(request), timezone.now()
    limit_count(limit=SEARCH, who=reader.pk, now=now)
    filters = SearchFilters(
        **days_between(asked.since, asked.until, reader.zone),
        source=asked.source,
        folder=asked.folder,
        unread=asked.unread,
        saved=asked.saved,
        category=asked.category,
        author=asked.author,
    )
    page = search_page(reader, asked.q, asked.order, asked.page, now, filters)
    found = page["found"]
    hits, about = ([_hit_out(hit) for hit in page[name]] for name in ("hits", "about"))
    return SearchOut(
        total=found.total,
        page=found.page,
        more=found.more,
        loose=found.loose,
        instead=found.instead,
        stopped=found.stopped,
        hits=hits,
        about=about,
    )


def _hit_out(hit: ListRow) -> HitOut:
    shown, item = hit.shown, hit.shown.item
    return HitOut(
        item_id=item.pk,
        url=item.address,
        source=item.source_name,
        title=[PartOut(text=part.text, marked=part.marked) for part in hit.title],
        snippet=[PartOut(text=part.text, marked=part.marked) for part in hit.snippet],
        dated_at=item.dated_at,
        reasons=list(shown.why.chips),
        read_at=shown.response.read_at,
        saved_at=shown.response.saved_at,
    )


feedback_router = Router(tags=["feedback"])
feedback_router.add_router("", reading_router)

Reason = Annotated[str, Field(max_length=200)]
OwnWords = Annotated[str, Field(max_length=OTHER_REASON_MAX_CHARS)]


class FeedbackIn(Schema):
    """A rating (`true` or 1: useful) and, if given, all the reasons for it: of the taxonomy, and `words`.

    `words` are lines in the reader's own words; an empty list deletes them.
    """

    useful: bool
    reason_tags: Annotated[list[Reason], Field(max_length=20)] | None = None
    words: Annotated[list[OwnWords], Field(max_length=OWN_WORDS_MAX)] | None = None


class FeedbackOut(Schema):
    """The rating as it is stored now."""

    item_id: int
    useful: bool
    reason_tags: list[str]
    words: list[str]
    at: datetime


class ClearedOut(Schema):
    """Whether there was a rating to delete."""

    item_id: int
    cleared: bool


class ReasonOut(Schema):
    """One reason of the taxonomy."""

    tag: str
    label: str
    set: bool


class SuggestedOut(Schema):
    """A reason suggested for the very item: its tag, with a text of its own."""

    tag: str
    text: str


class ReasonsOut(Schema):
    """The reasons an item's rating can have; `useful` is the rating, `null` before there is one.

    `words` are those that the reader wrote beside it.
    """

    item_id: int
    useful: bool | None
    suggested: list[SuggestedOut]
    valued: list[ReasonOut]
    disliked: list[ReasonOut]
    words: list[str]


@feedback_router.post("/items/{int:item_id}/feedback", response=FeedbackOut)
def feedback_post(request: HttpRequest, item_id: int, body: FeedbackIn) -> FeedbackOut:
    """Rate an item, in place of an earlier rating; one that is not useful counts as read."""
    feedback = feedback_give(
        reader=reader_of(request),
        item_id=item_id,
        useful=body.useful,
        tags=body.reason_tags,
        words=body.words,
        now=timezone.now(),
    )
    return FeedbackOut(
        item_id=item_id,
        useful=feedback.useful,
        reason_tags=sorted(tag.slug for tag in feedback.tags.all()),
        words=feedback.other_reasons,
        at=feedback.at,
    )


@feedback_router.delete("/items/{int:item_id}/feedback", response=ClearedOut)
def feedback_delete(request: HttpRequest, item_id: int) -> ClearedOut:
    """Delete the rating and its reasons. An item that only the rating marked as read is unread again."""
    cleared = feedback_take_back(reader=reader_of(request), item_id=item_id)
    return ClearedOut(item_id=item_id, cleared=cleared)


@feedback_router.get("/items/{int:item_id}/reasons", response=ReasonsOut)
def reasons_get(request: HttpRequest, item_id: int) -> ReasonsOut:
    """Return the reasons on offer for an item, and those that are set."""
    reader = reader_of(request)
    item = item_get(reader_id=reader.pk, item_id=item_id)
    suggested = reasons_suggested_for(reader_id=reader.pk, items=[item]).get(item_id, ())
    rating = feedback_by_items(reader_id=reader.pk, items=[item]).get(item_id)
    chosen = rating.tags if rating else ()
    offered = reason_tags()
    return ReasonsOut(
        item_id=item_id,
        useful=rating.useful if rating else None,
        suggested=[SuggestedOut(tag=reason.tag, text=reason.text) for reason in suggested],
        valued=_reasons(offered, ReasonTag.Kind.VALUED, chosen),
        disliked=_reasons(offered, ReasonTag.Kind.DISLIKED, chosen),
        words=list(rating.other_reasons) if rating else [],
    )


def _reasons(offered: list[ReasonTag], kind: ReasonTag.Kind, chosen: tuple[str, ...]) -> list[ReasonOut]:
    return [
        ReasonOut(tag=tag.slug, label=tag.label, set=tag.slug in chosen)
        for tag in offered
        if tag.kind == kind
    ]


costs_router = Router(tags=["costs"])


# An amount in USD as text, exact to a millionth.
Usd = Annotated[str, BeforeValidator(str)]


class LineOut(Schema):
    """The calls of one group; amounts in USD as text, exact to a millionth."""

    name: str
    calls: int
    usd: Usd
    saved: Usd
    open: Usd
    input_tokens: int
    cached_tokens: int
    output_tokens: int


class DayOut(Schema):
    """One UTC day."""

    day: date
    ingest: Usd
    advisor: Usd
    total: Usd


class RefusedOut(Schema):
    """Calls that a cap refused."""

    code: str
    surface: str
    purpose: str
    calls: int
    asked: Usd
    last_at: datetime


class CapOut(Schema):
    """A surface's cap for today, and the rest of it."""

    surface: str
    cap: Usd
    spent: Usd
    left: Usd


class ReusedOut(Schema):
    """The money saved by sharing summaries among items with the same text."""

    items: int
    usd: Usd


class EstimateOut(Schema):
    """The expected cost of a run, and how it was estimated."""

    name: str
    usd: Usd
    basis: str


class CostsOut(Schema):
    """Sums of the month to date, the last 30 days, and estimates."""

    month: date
    total: LineOut
    surfaces: list[LineOut]
    models: list[LineOut]
    readers: list[LineOut]
    runs: list[LineOut]
    days: list[DayOut]
    refused: list[RefusedOut]
    caps: list[CapOut]
    reused: ReusedOut
    estimates: list[EstimateOut]


@costs_router.get("/costs", response=CostsOut)
def costs_get(request: HttpRequest) -> CostsOut:
    """Return the costs of models, for operators. Raises `OperatorsOnly`."""
    if not reader_of(request).is_staff:
        raise OperatorsOnly("Only operators may see what models cost. Sign in as one.")
    page = costs_page(timezone.now())
    sums = {field.name: getattr(page.costs, field.name) for field in fields(page.costs)}
    return CostsOut.model_validate({**sums, "estimates": page.estimates})


digests_router = Router(tags=["digests"])


class MateOut(Schema):
    """The same story in another of the reader's sources."""

    item_id: int
    title: str
    source: str
    url: str


class EntryOut(Schema):
    """One item of a digest. `parts` multiply to the score; `reasons` say the same in a few words.

    `slot` is `ranked`, `novelty` (drawn, with the probability `propensity`) or `kept` (rated, place fixed).
    """

    rank: int
    item_id: int
    url: str
    title: str
    source: str
    dated_at: datetime
    score: float
    parts: dict[str, Any]
    slot: str
    propensity: float
    reasons: list[str]
    useful: bool | None
    also: list[MateOut]


class FillingOut(Schema):
    """The first fetch of feeds just added: `fetched` of `feeds`, `failed` of these, and their `items`."""

    feeds: int
    fetched: int
    failed: int
    items: int


class DigestOut(Schema):
    """A day's digest. `left_out` counts the candidates it does not show, by reason.

    `newer` counts items that came after today's digest was built. `filling` is there while feeds of the
    reader wait for their first fetch; today's digest is then built again whenever it is asked for.
    """

    date: Date
    config_version: int
    built_at: datetime
    left_out: dict[str, int]
    newer: int
    filling: FillingOut | None
    entries: list[EntryOut]


@digests_router.get("/digests/{date}", response=DigestOut)
def digest_get(request: HttpRequest, date: Date) -> DigestOut:
    """Return the reader's digest of a day in their zone. Today's is built if it is due."""
    reader, now = reader_of(request), timezone.now()
    digest = _digest(reader, date, now)
    is_past = date < day_of(now, reader.zone)
    shown = digest_impressions(digest=digest, now=now, as_built=is_past)
    exposures_log(digest=digest, door=Exposure.Door.API, now=now)
    mates = items_related(reader_id=reader.pk, item_ids=[row.item_id for row in shown], now=now)
    part = notice_today(reader, digest, now) if date == day_of(now, reader.zone) else None
    progress = part.progress if part else None
    return DigestOut(
        date=digest.date,
        config_version=digest.config_version,
        built_at=digest.built_at,
        left_out=digest.left_out,
        newer=part.newer if part else 0,
        filling=FillingOut(**{name: getattr(progress, name) for name in FillingOut.model_fields})
        if progress
        else None,
        entries=[_entry(row, mates.get(row.item_id, [])) for row in shown],
    )


def _digest(reader: Reader, date: Date, now: datetime) -> Digest:
    """Return the digest. Raises `FutureDate`, and `DigestMissing` for a day that ended without one."""
    if (digest := digest_current(reader=reader, date=date, now=now)) is not None:
        return digest
    if date > day_of(now, reader.zone):
        raise FutureDate(f"{date} has not begun yet in {reader.time_zone}. Ask for a day up to today.")
    raise DigestMissing(f"No digest was made on {date}. A digest is made on the day itself.")


def _entry(row: Impression, mates: list[RelatedItem]) -> EntryOut:
    return EntryOut(
        rank=row.rank,
        item_id=row.item_id,
        url=row.item.address,
        title=row.item.title,
        source=row.item.source_id,
        dated_at=row.item.dated_at,
        score=row.score,
        parts=row.parts,
        slot=row.slot,
        propensity=row.propensity,
        reasons=list(score_chips(row.parts, row.item.source_name, row.slot)),
        useful=row.thumb.useful if row.thumb else None,
        also=[
            MateOut(item_id=m.item_id, title=m.title, source=m.source, url=m.url)
            for m in mates
            if m.source_key != row.item.source_id
        ],
    )
