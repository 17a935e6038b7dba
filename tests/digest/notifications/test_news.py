"""Readers get the news they asked for, once, within the daily limit and outside quiet hours."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils import timezone
from pytest_httpserver import HTTPServer

from config.tasks import daily_builds_task
from digest.daily.services import digest_build
from digest.days import day_of
from digest.errors import DestinationInvalid
from digest.models import Destination, Notification, NotificationSettings, Reader
from digest.mutes.services import mutes_change
from digest.notifications.destinations import destination_add, notification_settings_update
from digest.notifications.news import News, notifications_due, notifications_make, quiet_end, words_news
from ranking.entities import Mute
from suggestions.models import Outcome
from suggestions.selectors import effects_news, suggestions_news
from tests.conftest import NOW
from tests.support.browser import fresh_item, suggested
from tests.support.factories import ItemFactory, SourceFactory

BERLIN = ZoneInfo("Europe/Berlin")
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@pytest.fixture
def page(ada: Reader, client: Client) -> Client:
    """Return Ada's browser."""
    client.force_login(ada)
    return client


def wanting(reader: Reader, *, at: datetime = NOW, **fields: object) -> NotificationSettings:
    """Give the reader one destination and notifications since three days before `at`."""
    Destination.objects.create(reader=reader, kind="ntfy", address="https://ntfy.sh/a", created_at=at)
    given = {"events": ["digest", "word", "suggestion", "effect"], "since": at - 3 * DAY, **fields}
    return NotificationSettings.objects.create(reader=reader, **given)


def tell(reader: Reader, at: datetime, name: str) -> int:
    """Create notifications at that time, and return the number of readers notified."""
    due = notifications_due(now=at)
    news = [News(reader.pk, "digest", (name,), name, "/")] if reader.pk in due else []
    return notifications_make(due=due, news=news, now=at)


def test_quiet_hours_go_by_the_wall_clock_in_nights_that_lose_or_repeat_an_hour(ada: Reader):
    row = NotificationSettings(reader=ada, quiet_from=22, quiet_until=7, since=NOW)
    for night in (datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 10, 24, 12, tzinfo=UTC)):
        moments = [night + timedelta(minutes=15 * n) for n in range(24 * 4)]
        loud = [at.astimezone(BERLIN) for at in moments if quiet_end(row, at) is None]
        assert all(7 <= at.hour < 22 for at in loud)
        quiet = [at for at in moments if quiet_end(row, at) is not None]
        assert {quiet_end(row, at).astimezone(BERLIN).hour for at in quiet} == {7}
        assert len({quiet_end(row, at) for at in quiet}) == 1
        # Nine hours on the clock are eight hours in spring and ten in autumn.
        assert len(quiet) == 4 * (8 if night.month == 3 else 10)
    row.quiet_from, row.quiet_until = 2, 3  # this hour comes twice in October, and not at all in March
    hours = [datetime(2026, 10, 24, 23, tzinfo=UTC) + n * HOUR for n in range(4)]
    assert [quiet_end(row, at) is not None for at in hours] == [False, True, True, False]
    row.quiet_until = 2
    assert quiet_end(row, hours[1]) is None


def test_one_a_day_and_the_rest_comes_together_with_the_next(ada: Reader):
    wanting(ada)
    assert tell(ada, NOW, "first") == 1
    assert tell(ada, NOW + HOUR, "second") == 0
    assert tell(ada, NOW + 10 * HOUR, "quiet") == 0
    midnight = datetime(2026, 3, 19, 8, tzinfo=BERLIN)
    assert tell(ada, midnight, "second") == 1 and tell(ada, midnight + HOUR, "second") == 0
    NotificationSettings.objects.update(per_day=3)
    assert [tell(ada, midnight + n * HOUR, f"{n}") for n in (1, 2, 3)] == [1, 1, 0]
    assert tell(ada, midnight + DAY, "second") == 0  # told before
    assert Notification.objects.count() == 4


def test_a_watched_word_is_found_in_new_items_of_ones_own_feeds_that_are_not_muted(ada: Reader, ben: Reader):
    wanting(ada, words=["tides", "spring bank", "ferry"])
    wanting(ben, words=["tides"], at=NOW)
    mutes_change(reader=ada, mute=Mute("word", "strike"), muted=True, now=NOW)
    fresh_item(ada, key="gazette.example")  # subscribes
    fresh_item(ben, key="other.example")
    source, other = SourceFactory(key="gazette.example"), SourceFactory(key="other.example")
    at = {"published_at": NOW - HOUR}
    ItemFactory(source=source, title="Tide tables", **at)
    newest = ItemFactory(source=source, title="The tides of March", published_at=NOW - HOUR / 2)
    ItemFactory(source=source, title="At Spring  Bank", text="nothing", **at)
    ItemFactory(source=source, title="Ferry strike", **at)
    ItemFactory(source=other, title="Only Ben reads of tides", **at)
    ItemFactory(source=source, title="Old tides", published_at=NOW - 4 * DAY)
    due = notifications_due(now=NOW)
    news = words_news(due=due, now=NOW)
    assert {one.words for one in news if one.reader_id == ada.pk} == {
        "“tides”: The tides of March (and 1 more)",
        "“spring bank”: At Spring  Bank",
    }
    assert [one.words for one in news if one.reader_id == ben.pk] == ["“tides”: Only Ben reads of tides"]
    assert f"/ui/item/{newest.pk}" in {one.path for one in news}
    notifications_make(due=due, news=news, now=NOW)
    tomorrow = NOW + DAY
    ItemFactory(source=source, title="More tides", published_at=tomorrow - HOUR)
    again = words_news(due=notifications_due(now=tomorrow), now=tomorrow)
    assert [one.words for one in again] == ["“tides”: More tides"]


def test_words_of_many_readers_take_no_more_queries(ada: Reader, ben: Reader, django_assert_max_num_queries):
    for reader in (ada, ben):
        wanting(reader, words=["tides"])
        fresh_item(reader, key=f"{reader.username}.example")
    due = notifications_due(now=NOW)
    with django_assert_max_num_queries(2):
        words_news(due=due, now=NOW)


def test_a_suggestion_and_an_effect_are_told_to_their_reader_once(ada: Reader, ben: Reader):
    wanting(ada)
    row = suggested(ada, created_at=NOW - HOUR)
    suggested(ben, created_at=NOW - HOUR)
    suggested(ada, created_at=NOW - 9 * DAY, target_key="old.example")
    Outcome.objects.create(
        suggestion=row,
        reader=ada,
        kind="effect",
        outcome="helped",
        suggestion_type=row.suggestion_type,
        target_key=row.target_key,
        config_before={},
        created_at=NOW - HOUR,
        decided_at=NOW - HOUR,
    )
    due = notifications_due(now=NOW)
    news = [*suggestions_news(due=due, now=NOW), *effects_news(due=due, now=NOW)]
    assert [one.words for one in news] == [
        "A suggestion waits for you: Gazette",
        "Two weeks after your change to Gazette: it helped.",
    ]
    assert notifications_make(due=due, news=news, now=NOW) == 1
    tomorrow = notifications_due(now=NOW + DAY)
    assert suggestions_news(due=tomorrow, now=NOW + DAY) == effects_news(due=tomorrow, now=NOW + DAY) == []


def test_the_workers_round_tells_of_a_digest_that_was_not_looked_at(
    ada: Reader, ben: Reader, httpserver: HTTPServer, settings, page: Client
):
    settings.NOTIFY_ALLOW_HOSTS = [f"{httpserver.host}:{httpserver.port}"]
    httpserver.expect_request("/", method="POST").respond_with_json({})
    now = timezone.now()
    for reader in (ada, ben):
        fresh_item(reader, title="Tides rise")
        wanting(reader, at=now, quiet_from=0, quiet_until=0)
        digest_build(reader=reader, date=day_of(now, reader.zone), now=now)
    Destination.objects.update(address=httpserver.url_for("/news"))
    page.get("/")  # Ada has seen hers
    daily_builds_task()
    daily_builds_task()
    row = Notification.objects.get()
    assert (row.reader, row.status) == (ben, "sent")
    assert row.news[0]["words"] == "Your digest is ready. First: Tides rise"
    assert len(httpserver.log) == 1


def test_the_page_stores_what_is_told_and_refuses_the_impossible(ada: Reader, page: Client):
    said = {"digest": "on", "word": "on", "per_day": "2", "quiet_from": "23", "quiet_until": "6"}
    said["words"] = " tides ,spring   bank,, tides,!"
    assert page.post("/ui/account/notifications", said).status_code == 302
    row = NotificationSettings.objects.get(reader=ada)
    assert (row.events, row.words) == (["digest", "word"], ["tides", "spring bank"])
    assert (row.per_day, row.quiet_from, row.quiet_until) == (2, 23, 6)
    for wrong in ({"words": "a,b,c,d,e,f"}, {"words": "w" * 61}, {"per_day": "0"}, {"quiet_from": "24"}):
        assert page.post("/ui/account/notifications", said | wrong).status_code == 422
    assert 'value="tides, spring bank"' in page.get("/ui/account/notifications").content.decode()
    since = row.since
    given = {"words": ["tides"], "per_day": 1, "quiet_from": 1, "quiet_until": 2, "now": NOW}
    notification_settings_update(reader=ada, events=["digest"], **given)
    row.refresh_from_db()
    assert row.since == since  # nothing was added
    notification_settings_update(reader=ada, events=["digest", "effect"], **given)
    row.refresh_from_db()
    assert row.since == NOW


def test_a_destination_is_added_its_secret_shown_once_and_removed(ada: Reader, ben: Reader, page: Client):
    new = {"kind": "webhook", "address": "https://hooks.example/ada"}
    made = page.post("/ui/account/destinations", new).content.decode()
    assert "whsec_" in made
    assert "whsec_" not in page.get("/ui/account/notifications").content.decode()
    row = Destination.objects.get()
    assert row.secret and "whsec_" not in row.secret
    for wrong in (
        {"kind": "push", "secret": "{}"},
        {"kind": "push", "secret": "[" * 9_000},
        {"kind": "readeck"},
        {"kind": "wallabag", "secret": "id\nsecret"},
        {"kind": "ntfy", "secret": "tökén"},
        {"address": "https://name:password@hooks.example/"},
        {"address": "file:///etc/passwd"},
        {"kind": "ntfy", "address": "https://ntfy.sh/"},
        {"address": "https://[half/"},
    ):
        answer = page.post("/ui/account/destinations", new | wrong)
        assert answer.status_code == 422 and '<option value="push"' not in answer.content.decode(), wrong
    for kind in ("readeck", "karakeep"):
        page.post("/ui/account/destinations", {"kind": kind, "address": "https://r.example", "secret": "t"})
    assert [one.kind for one in Destination.objects.order_by("pk")] == ["webhook", "karakeep"]
    page.post(f"/ui/account/destinations/{row.pk}/remove")
    assert not Destination.objects.filter(pk=row.pk).exists()


def test_a_service_that_saves_takes_the_place_of_another_and_the_page_says_so(page: Client):
    new = {"address": "https://r.example", "secret": "t"}
    before = page.get("/ui/account/notifications").content.decode()
    first = page.post("/ui/account/destinations", new | {"kind": "readeck"}, follow=True).content.decode()
    assert "replace" not in before and "Readeck is added." in first and "was replaced" not in first
    assert "only one is kept: adding another replaces Readeck." in first
    second = page.post("/ui/account/destinations", new | {"kind": "karakeep"}, follow=True).content.decode()
    assert "Karakeep is added. Readeck was replaced." in second


def test_an_operator_sees_that_something_was_sent_and_not_what(ada: Reader, operator: Reader, client: Client):
    wanting(ada)
    tell(ada, NOW, "Wrenfeather")
    client.force_login(operator)
    row = Notification.objects.get()
    for place in ("", f"{row.pk}/change/"):
        body = client.get(f"/admin/digest/notification/{place}").content.decode()
        assert "ada" in body and "Wrenfeather" not in body and "ntfy.sh" not in body


def test_ten_destinations_are_all(ada: Reader, ben: Reader):
    def add(reader: Reader, kind: str, n: int) -> None:
        destination_add(reader=reader, kind=kind, address=f"https://a{n}.example/x", secret="t", now=NOW)

    for n in range(10):
        add(ada, "webhook", n)
    for kind in ("webhook", "ntfy", "readeck"):
        with pytest.raises(DestinationInvalid, match="10 destinations"):
            add(ada, kind, 11)
    add(ben, "webhook", 1)
    assert Destination.objects.filter(reader=ada).count() == 10


def test_the_last_keys_of_what_was_told_are_remembered(ada: Reader, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("digest.notifications.news.KEYS_MAX", 3)
    wanting(ada)
    due = notifications_due(now=NOW)
    told = [News(ada.pk, "digest", tuple(f"key{n}" for n in range(9)), "Ready", "/")]
    notifications_make(due=due, news=told, now=NOW)
    assert NotificationSettings.objects.get(reader=ada).notified_keys == ["key6", "key7", "key8"]
