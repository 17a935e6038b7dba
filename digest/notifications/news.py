"""What there is to tell readers, and when: at most so many notifications a day, none in quiet hours."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext_noop

from digest.days import day_of
from digest.items.selectors import CANDIDATE_FIELDS
from digest.models import Destination, Impression, Item, Notification, NotificationSettings
from ranking.entities import Candidate, Mute
from ranking.mutes import PHRASE, WORD, MuteFilter
from ranking.selectors import config_mutes_many

Event, Kind = NotificationSettings.Event, Destination.Kind
NOTIFIED = (Kind.WEBHOOK, Kind.NTFY, Kind.PUSH)
# What a worker that was away, or a full day, left untold for longer is history.
LOOKBACK = timedelta(days=2)
# A round of fetching stores items some time after the moment that they are dated by.
OVERLAP = timedelta(hours=1)
# An item dated earlier is none of the new ones, whenever it was seen; dates are looked up by index.
NEW_WITHIN = LOOKBACK + timedelta(days=1)
# One look reads so many new items, and a reader's row remembers so many keys of what was told lately.
ITEMS_MAX, KEYS_MAX = 20_000, 500
TITLE_CHARS = 150

Due = Mapping[UUID, NotificationSettings]


@dataclass(frozen=True, slots=True)
class News:
    """One thing to tell a reader; `path` leads to it here. Once all its `keys` were told, it is no news."""

    reader_id: UUID
    event: str
    keys: tuple[str, ...]
    words: str
    path: str


def quiet_end(row: NotificationSettings, at: datetime) -> datetime | None:
    """Return when the quiet hours of `at` end, by the clock of the reader's zone; `None` outside of them.

    They go by the wall clock: a night in which it changes has them as any other night.
    """
    zone, start, end = row.reader.zone, row.quiet_from, row.quiet_until
    hour = at.astimezone(zone).hour
    if not (start <= hour < end if start <= end else hour >= start or hour < end):
        return None
    today = day_of(at, zone)
    day = today if hour < end else today + timedelta(days=1)
    return datetime.combine(day, time(end), zone).astimezone(at.tzinfo)


def news_since(row: NotificationSettings, now: datetime) -> datetime:
    """Return from when on what happened may be told to this reader."""
    return max(row.since, now - LOOKBACK, (row.notified_at or row.since) - OVERLAP)


def notifications_due(*, now: datetime) -> dict[UUID, NotificationSettings]:
    """Return the settings of the readers who may be told something at `now`, by reader; one query."""
    on = Destination.objects.filter(reader=OuterRef("reader"), off_at=None, kind__in=NOTIFIED)
    rows = NotificationSettings.objects.filter(Exists(on), reader__is_active=True).select_related("reader")
    return {
        row.pk: row
        for row in rows
        if row.events and quiet_end(row, now) is None and _today(row, now) < row.per_day
    }


def _today(row: NotificationSettings, now: datetime) -> int:
    """Return how many notifications the reader had on their today."""
    return row.notified_count if row.notified_on == day_of(now, row.reader.zone) else 0


def digests_news(*, due: Due, now: datetime) -> list[News]:
    """Return the digests of readers' today that were built and not looked at; one query."""
    days = {pk: day_of(now, row.reader.zone) for pk, row in due.items() if Event.DIGEST in row.events}
    tops = Impression.objects.filter(
        rank=1, digest__reader_id__in=days, digest__date__in=set(days.values()), digest__exposed_at=None
    ).values_list("digest__reader_id", "digest__date", "digest__built_at", "item__title")
    return [
        News(
            pk,
            Event.DIGEST,
            (f"digest:{day}",),
            news_words(due[pk], gettext_noop("Your digest is ready. First: {title}"), title=_title(title)),
            "/",
        )
        for pk, day, built_at, title in tops
        if day == days[pk] and built_at > news_since(due[pk], now)
    ]


def words_news(*, due: Due, now: datetime) -> list[News]:
    """Return the words watched for that new items of the readers' own feeds have; three queries at most.

    What a reader muted is not told. One piece of news a word, about its newest item.
    """
    watching = {
        pk: [MuteFilter([Mute(PHRASE if " " in word else WORD, word)]) for word in row.words]
        for pk, row in due.items()
        if Event.WORD in row.events and row.words
    }
    if not watching:
        return []
    since = {pk: news_since(due[pk], now) for pk in watching}
    muted = {
        pk: MuteFilter(mutes, day_of(now, due[pk].reader.zone))
        for pk, mutes in config_mutes_many(reader_ids=list(watching)).items()
    }
    rows = Item.objects.annotate(of=F("feed__subscriptions__reader_id")).filter(
        of__in=watching,
        dated_at__gt=now - NEW_WITHIN,
        first_seen_at__gt=min(since.values()),
        first_seen_at__lte=now,
    )
    found: defaultdict[tuple[UUID, str], dict[str, Candidate]] = defaultdict(dict)
    columns = rows.order_by("-first_seen_at", "-pk").values_list(
        "of", "article", "first_seen_at", *CANDIDATE_FIELDS
    )
    for pk, article, seen_at, *fields in columns[:ITEMS_MAX].iterator():
        key, item = f"article:{article}", Candidate(*fields)
        if seen_at <= since[pk] or key in due[pk].notified_keys or (pk in muted and muted[pk].finds(item)):
            continue
        for word in watching[pk]:
            if hit := word.finds(item):
                found[pk, hit.value].setdefault(key, item)
    return [_of_word(due[pk], word, items) for (pk, word), items in found.items()]


def _of_word(row: NotificationSettings, word: str, items: Mapping[str, Candidate]) -> News:
    newest = next(iter(items.values()))
    words = f"“{word}”: {_title(newest.title)}"
    if len(items) > 1:
        words = f"{words} ({news_words(row, gettext_noop('and {n} more'), n=len(items) - 1)})"
    return News(row.pk, Event.WORD, tuple(items), words, reverse("digest:item", args=[newest.item_id]))


def news_words(row: NotificationSettings, text: str, **values: object) -> str:
    """Return a marked text with its values in the language of the reader it is for."""
    with translation.override(row.reader.language_of_mails):
        return translation.gettext(text).format(**values)


def _title(title: str) -> str:
    return title if len(title) <= TITLE_CHARS else f"{title[: TITLE_CHARS - 1]}…"


def notifications_make(*, due: Due, news: Iterable[News], now: datetime) -> int:
    """Store one notification for each destination of the readers with news; return for how many readers.

    All of a reader's news go together. The settings' row is claimed with it, so that of two workers one does.
    """
    by_reader: defaultdict[UUID, list[News]] = defaultdict(list)
    for one in news:
        row = due[one.reader_id]
        if one.event in row.events and not set(one.keys) <= set(row.notified_keys):
            by_reader[one.reader_id].append(one)
    places: defaultdict[UUID, list[Destination]] = defaultdict(list)
    for place in Destination.objects.filter(reader_id__in=by_reader, off_at=None, kind__in=NOTIFIED):
        places[place.reader_id].append(place)
    return sum(_make(due[pk], found, places[pk], now) for pk, found in by_reader.items())


@transaction.atomic
def _make(row: NotificationSettings, news: list[News], places: list[Destination], now: datetime) -> bool:
    keys = [*row.notified_keys, *(key for one in news for key in one.keys)][-KEYS_MAX:]
    fields = {
        "notified_at": now,
        "notified_on": day_of(now, row.reader.zone),
        "notified_count": _today(row, now) + 1,
    }
    same = NotificationSettings.objects.filter(pk=row.pk, notified_at=row.notified_at)
    if not same.update(**fields, notified_keys=keys):
        return False
    lines = [{"event": one.event, "words": one.words, "path": one.path} for one in news]
    Notification.objects.bulk_create(
        Notification(reader_id=row.pk, destination=place, news=lines, created_at=now, next_at=now)
        for place in places
    )
    return True
