"""Find news for readers and store notifications, within each reader's daily limit and outside quiet hours."""

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
from ranking.common.clocks import is_ahead
from ranking.common.isolation import READER, isolate
from ranking.entities import Candidate, Mute
from ranking.mutes import PHRASE, WORD, MuteFilter
from ranking.selectors import config_mutes_many

Event, Kind = NotificationSettings.Event, Destination.Kind
NOTIFIED = (Kind.WEBHOOK, Kind.NTFY, Kind.PUSH)
# News older than this is dropped, for example if no worker ran or the daily limit was reached.
LOOKBACK = timedelta(days=2)
# A fetch stores items up to this long after their `first_seen_at`, so look back over the last look again.
OVERLAP = timedelta(hours=1)
# An item dated earlier is never new. The bound on the date lets the query use an index.
NEW_WITHIN = LOOKBACK + timedelta(days=1)
# Items read in one look, and keys of told news that a reader's row remembers.
ITEMS_MAX, KEYS_MAX = 20_000, 500
TITLE_CHARS = 150
NOTIFY_FAILED = "notify_failed"

Due = Mapping[UUID, NotificationSettings]


@dataclass(frozen=True, slots=True)
class News:
    """One piece of news for a reader. `path` is its page on this site.

    It is dropped if the reader was told all its `keys` before.
    """

    reader_id: UUID
    event: str
    keys: tuple[str, ...]
    words: str
    path: str


def quiet_end(row: NotificationSettings, at: datetime) -> datetime | None:
    """Return when the quiet hours that include `at` end, or `None` if `at` is outside quiet hours.

    Quiet hours follow the wall clock of the reader's zone, also in nights when the clock changes.
    """
    zone, start, end = row.reader.zone, row.quiet_from, row.quiet_until
    hour = at.astimezone(zone).hour
    if not (start <= hour < end if start <= end else hour >= start or hour < end):
        return None
    today = day_of(at, zone)
    day = today if hour < end else today + timedelta(days=1)
    return datetime.combine(day, time(end), zone).astimezone(at.tzinfo)


def news_since(row: NotificationSettings, now: datetime) -> datetime:
    """Return the earliest time of events that this reader may still be told."""
    times = (row.since, now - LOOKBACK, (row.notified_at or row.since) - OVERLAP)
    return max(at for at in times if not is_ahead(at, now))


def notifications_due(*, now: datetime) -> dict[UUID, NotificationSettings]:
    """Return the notification settings of readers who may be notified at `now`, by reader id. One query."""
    on = Destination.objects.filter(reader=OuterRef("reader"), off_at=None, kind__in=NOTIFIED)
    rows = NotificationSettings.objects.filter(Exists(on), reader__is_active=True).select_related("reader")
    due = {}
    for row in rows:
        with isolate(READER, row.pk, NOTIFY_FAILED):
            if row.events and quiet_end(row, now) is None and _count_today(row, now) < row.per_day:
                due[row.pk] = row
    return due


def _count_today(row: NotificationSettings, now: datetime) -> int:
    """Return the number of notifications that the reader had today, by the reader's calendar day."""
    return row.notified_count if row.notified_on == day_of(now, row.reader.zone) else 0


def digests_news(*, due: Due, now: datetime) -> list[News]:
    """Return news about today's digests that were built and not opened yet. One query."""
    days = {pk: day_of(now, row.reader.zone) for pk, row in due.items() if Event.DIGEST in row.events}
    tops = Impression.objects.filter(
        rank=1, digest__reader_id__in=days, digest__date__in=set(days.values()), digest__exposed_at=None
    ).values_list("digest__reader_id", "digest__date", "digest__built_at", "item__title")
    return [
        News(
            pk,
            Event.DIGEST,
            (f"digest:{day}",),
            news_words(
                due[pk], gettext_noop("Your digest is ready. First: {title}"), title=_shorten_title(title)
            ),
            "/",
        )
        for pk, day, built_at, title in tops
        if day == days[pk] and built_at > news_since(due[pk], now)
    ]


def words_news(*, due: Due, now: datetime) -> list[News]:
    """Return news about watched words that occur in new items of the reader's own feeds.

    Each word gives one piece of news about its newest item. Muted items are left out. At most three queries.
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
    return [_word_news(due[pk], word, items) for (pk, word), items in found.items()]


def _word_news(row: NotificationSettings, word: str, items: Mapping[str, Candidate]) -> News:
    newest = next(iter(items.values()))
    title = _shorten_title(newest.title)
    words = news_words(row, gettext_noop("“{word}”: {title}"), word=word, title=title)
    if len(items) > 1:
        words = f"{words} ({news_words(row, gettext_noop('and {n} more'), n=len(items) - 1)})"
    return News(row.pk, Event.WORD, tuple(items), words, reverse("digest:item", args=[newest.item_id]))


def news_words(row: NotificationSettings, text: str, **values: object) -> str:
    """Return a marked text in the reader's language, with its values filled in."""
    with translation.override(row.reader.language_of_mails):
        return translation.gettext(text).format(**values)


def _shorten_title(title: str) -> str:
    return title if len(title) <= TITLE_CHARS else f"{title[: TITLE_CHARS - 1]}…"


def notifications_make(*, due: Due, news: Iterable[News], now: datetime) -> int:
    """Store one notification for each destination of each reader with news. Return the number of readers.

    A notification contains all news of its reader. Storing claims the reader's settings row by a conditional
    update, so two workers cannot both notify.
    """
    by_reader: defaultdict[UUID, list[News]] = defaultdict(list)
    for one in news:
        row = due[one.reader_id]
        if one.event in row.events and not set(one.keys) <= set(row.notified_keys):
            by_reader[one.reader_id].append(one)
    places: defaultdict[UUID, list[Destination]] = defaultdict(list)
    for place in Destination.objects.filter(reader_id__in=by_reader, off_at=None, kind__in=NOTIFIED):
        places[place.reader_id].append(place)
    made = 0
    for pk, found in by_reader.items():
        with isolate(READER, pk, NOTIFY_FAILED):
            made += _store_for_reader(due[pk], found, places[pk], now)
    return made


@transaction.atomic
def _store_for_reader(
    row: NotificationSettings, news: list[News], places: list[Destination], now: datetime
) -> bool:
    keys = [*row.notified_keys, *(key for one in news for key in one.keys)][-KEYS_MAX:]
    fields = {
        "notified_at": now,
        "notified_on": day_of(now, row.reader.zone),
        "notified_count": _count_today(row, now) + 1,
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
