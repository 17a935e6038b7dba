"""Exports of other readers: stars become saves, read marks stay read marks, and neither is a rating."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from digest.errors import NotAPast
from digest.feeds.identity import article_hash
from digest.items.reading import items_saved
from digest.items.selectors import items_visible
from digest.models import Feedback, Item, Reader, Reading, Source, Subscription
from digest.sources.past import ENTRIES_MAX, PAST_BYTES_MAX, past_read
from digest.sources.past_import import past_import
from ranking.models import ImplicitPreference
from tests.support.browser import fresh_item
from tests.support.factories import CLOCK, FeedFactory, SubscriptionFactory

RIVERS = "https://rivers.example/posts/1"
STARRED_AT = CLOCK - timedelta(days=3)
SECONDS = int(STARRED_AT.timestamp())
TEXT = "<p>The Danube <script>alert(1)</script>is 2,850 km long.</p>"

FRESHRSS = {
    "id": "user/ada/state/org.freshrss/starred",
    "title": "List of favourite articles",
    "author": "ada",
    "items": [
        {
            "id": "rivers-1",
            "timestampUsec": f"{SECONDS}000000",
            "categories": ["water", "user/-/state/com.google/read", "user/-/state/com.google/starred"],
            "title": "Rivers &amp; seas",
            "author": "Ada",
            "published": SECONDS - 3600,
            "updated": SECONDS - 3600,
            "alternate": [{"href": f"{RIVERS}?utm_source=rss", "type": "text/html"}],
            "content": {"content": TEXT},
            "origin": {
                "streamId": 7,
                "title": "Rivers",
                "htmlUrl": "https://rivers.example/",
                "feedUrl": "https://rivers.example/feed",
            },
        }
    ],
}
INOREADER = {
    "direction": "ltr",
    "id": "user/-/state/com.google/starred",
    "title": "Starred",
    "updated": SECONDS,
    "items": [
        {
            "crawlTimeMsec": f"{SECONDS - 60}000",
            "timestampUsec": f"{SECONDS - 60}000000",
            "id": "tag:google.com,2005:reader/item/00000003ba05f2fa",
            "categories": [
                "user/1005680622/state/com.google/reading-list",
                "user/1005680622/state/com.google/read",
                "user/1005680622/state/com.google/starred",
                "user/1005680622/label/Water",
            ],
            "title": "Rivers & seas",
            "published": SECONDS - 3600,
            "updated": 0,
            "starred": SECONDS,
            "canonical": [{"href": RIVERS}],
            "alternate": [{"href": RIVERS, "type": "text/html"}],
            "summary": {"direction": "ltr", "content": TEXT},
            "origin": {
                "streamId": "feed/https://rivers.example/feed",
                "title": "Rivers",
                "htmlUrl": "https://rivers.example/",
            },
        }
    ],
}
MINIFLUX = {
    "total": 1,
    "entries": [
        {
            "id": 888,
            "feed_id": 42,
            "status": "read",
            "hash": "f00",
            "title": "Rivers & seas",
            "url": RIVERS,
            "published_at": "2026-03-01T10:00:00Z",
            "changed_at": STARRED_AT.isoformat(),
            "content": TEXT,
            "author": "Ada",
            "starred": True,
            "feed": {
                "id": 42,
                "feed_url": "https://rivers.example/feed",
                "site_url": "https://rivers.example/",
                "title": "Rivers",
            },
        }
    ],
}
NEWSBLUR = {
    "stories": [
        {
            "story_hash": "42:abc",
            "story_feed_id": 42,
            "story_title": "Rivers &amp; seas",
            "story_permalink": RIVERS,
            "story_content": TEXT,
            "story_timestamp": f"{SECONDS - 3600}",
            "starred": True,
            "starred_timestamp": SECONDS,
            "read_status": 1,
        }
    ]
}
FEEDBIN = [
    {
        "id": 12,
        "title": "Rivers & seas",
        "author": "Ada",
        "content": TEXT,
        "url": RIVERS,
        "published": "2026-03-01T10:00:00.000000Z",
        "created_at": STARRED_AT.isoformat(),
    }
]
EXPORTS = {
    "FreshRSS": FRESHRSS,
    "Inoreader": INOREADER,
    "Miniflux": MINIFLUX,
    "NewsBlur": NEWSBLUR,
    "Feedbin": FEEDBIN,
}


def written(value: object) -> bytes:
    return json.dumps(value).encode()


def feed_item(reader: Reader, url: str, *, key: str = "rivers.example") -> Item:
    item = fresh_item(reader, hours=5, key=key, title="Rivers")
    Item.objects.filter(pk=item.pk).update(url=url, article=article_hash(url))
    item.refresh_from_db()
    return item


@pytest.mark.parametrize("name", EXPORTS)
def test_each_export_says_the_same_of_a_starred_article(name: str):
    [entry] = past_read(written(EXPORTS[name]), CLOCK).entries
    assert (entry.url, entry.title, entry.starred_at) == (RIVERS, "Rivers & seas", STARRED_AT)
    assert "2,850 km" in entry.text and "script" not in entry.text and "alert" not in entry.text
    # Feedbin and NewsBlur do not name the feed, and Feedbin has no read marks.
    assert entry.feed_url in ("https://rivers.example/feed", "")
    assert entry.read is (name != "Feedbin")


def test_feedbin_writes_entries_without_a_list():
    rows = [FEEDBIN[0] | {"url": f"{RIVERS}{n}"} for n in range(3)]
    assert len(past_read(b"".join(map(written, rows)), CLOCK).entries) == 3


def test_an_unread_entry_without_a_star_is_neither():
    row = FRESHRSS["items"][0] | {"categories": ["user/-/state/com.google/unread"]}
    [entry] = past_read(written({"items": [row]}), CLOCK).entries
    assert entry.starred_at is None and not entry.read


@pytest.mark.parametrize(
    "bad",
    [
        {"url": "javascript:alert(1)"},
        {"url": ""},
        {"url": 7},
        {"title": "", "content": ""},
        {"created_at": "soon"},
        {"created_at": ["x"], "published": "yesterday"},
        {"created_at": "0001-01-01T00:00:00+14:00"},
        {"url": "https://[/rivers"},
        {"url": f"https://rivers.example/{'x' * 5000}"},
    ],
)
def test_a_bad_entry_never_stops_the_others(bad: dict[str, object]):
    past = past_read(written([FEEDBIN[0], FEEDBIN[0] | bad, 5, None, [1]]), CLOCK)
    assert len(past.entries) == 1 and past.bad == 4


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"no",
        b"[]",
        b"{}",
        b"[1, 2]",
        b"[" * 200_000,
        b"<opml/>",
        b'{"items": 5}',
        b" " * (PAST_BYTES_MAX + 1),
    ],
)
def test_what_is_no_export_is_refused(document: bytes):
    with pytest.raises(NotAPast):
        past_read(document, CLOCK)


@pytest.mark.parametrize(
    "digits", ["9" * 100_000, "-" + "9" * 100_000, "9" * 100_000 + ".5", "1e999999", "NaN"]
)
@pytest.mark.parametrize("member", ["id", "published", "url"])
def test_an_endless_number_in_one_entry_spoils_no_other(digits: str, member: str):
    odd = f'{{"url": "https://a.example/2", "title": "T", "{member}": {digits}}}'
    past = past_read(f"[{json.dumps(FEEDBIN[0])}, {odd}]".encode(), CLOCK)
    assert past.entries[0].url == FEEDBIN[0]["url"] and len(past.entries) + past.bad == 2


VALUES = {"objects": b'{"":1},' * 600_000, "lists": b"[]," * 600_000, "texts": b'"ab",' * 3_000_000}


@pytest.mark.parametrize("values", [*VALUES.values(), b"1.5," * 7_000_000], ids=[*VALUES, "numbers"])
def test_a_file_of_nothing_but_values_is_refused_before_it_takes_up_memory(values: bytes, monkeypatch):
    """Two such files of 32 MiB at once need 2 GB, which ends the process of all readers."""
    monkeypatch.delattr("digest.sources.past._values")
    with pytest.raises(NotAPast, match="more in it"):
        past_read(b"[" + values + b"1]", CLOCK)


def test_values_that_stand_one_after_the_other_are_counted_too():
    with pytest.raises(NotAPast):
        past_read(b"1 " * 3_000_000, CLOCK)


def test_no_star_is_of_tomorrow_and_no_more_are_read_than_the_most():
    [entry] = past_read(written([FEEDBIN[0] | {"created_at": "2999-01-01T00:00:00Z"}]), CLOCK).entries
    assert entry.starred_at == CLOCK
    rows = [{"url": f"https://a.example/{n}", "title": "A"} for n in range(ENTRIES_MAX + 3)]
    past = past_read(written(rows), CLOCK)
    assert len(past.entries) == ENTRIES_MAX and past.bad == 3


@pytest.mark.django_db
class TestImport:
    def test_a_star_is_saved_and_never_a_rating(self, ada: Reader):
        item = feed_item(ada, RIVERS)
        report = past_import(reader=ada, document=written(FRESHRSS), now=CLOCK)
        [mark] = Reading.objects.filter(reader=ada)
        assert (mark.item, mark.saved_at, mark.read_at, mark.opened_at) == (item, STARRED_AT, CLOCK, None)
        assert (report.starred, report.read, report.already) == (1, 1, 0)
        assert not Feedback.objects.exists()
        assert ImplicitPreference.objects.filter(reader=ada).exists()

    def test_doing_it_again_changes_nothing_and_what_is_here_stays(self, ada: Reader):
        item = feed_item(ada, RIVERS)
        early = CLOCK - timedelta(days=40)
        Reading.objects.create(reader=ada, item=item, article=item.article, saved_at=early)
        past_import(reader=ada, document=written(FRESHRSS), now=CLOCK)
        again = past_import(reader=ada, document=written(INOREADER), now=CLOCK + timedelta(hours=1))
        [mark] = Reading.objects.filter(reader=ada)
        assert (mark.saved_at, mark.read_at) == (early, CLOCK)
        assert (again.starred, again.read, again.already) == (0, 0, 1)

    def test_a_star_that_no_feed_carries_is_kept_for_its_reader_alone(self, ada: Reader, ben: Reader):
        past_import(reader=ada, document=written(NEWSBLUR), now=CLOCK)
        [item] = items_saved(reader_id=ada.pk).items
        assert (item.title, item.feed, item.source.title) == ("Rivers & seas", None, "rivers.example")
        assert not items_visible(reader_id=ben.pk).exists() and not Subscription.objects.exists()
        # A file cannot name a publisher that others read.
        assert not Source.objects.filter(pk="rivers.example").exists()
        past_import(reader=ben, document=written(FEEDBIN), now=CLOCK)
        [own] = items_saved(reader_id=ben.pk).items
        assert own.pk != item.pk

    def test_hostile_entries_are_stored_as_any_database_takes_them(self, ada: Reader):
        hostile = [
            {"url": "https://rivers.example/\x00z", "title": "a\x00b", "content": "c\x00d"},
            {"url": "https://rivers.example/\ud800", "title": "a \ud800 b"},
            {"title": "t" * 5000, "url": "https://rivers.example/long"},
            {"title": "A", "url": "https://rivers.example/a", "feed_url": "https://[::"},
            {"title": "B", "url": "https://rivers.example/b", "feed_url": f"https://{'x' * 300}/"},
            {"title": "C", "url": "https://rivers.example/c", "feed_url": "https://a\x00.example/"},
        ]
        report = past_import(reader=ada, document=written([*hostile, FEEDBIN[0]]), now=CLOCK)
        assert (report.starred, report.bad) == (7, 0)
        for item in Item.objects.all():
            assert "\x00" not in item.url + item.title + item.text and len(item.title) <= 500
            assert item.source.title in ("rivers.example", "a.example")

    def test_no_star_tells_what_others_read(self, client: Client, ada: Reader, ben: Reader):
        """A reader who names a host must not learn whether somebody reads it here, nor its title."""
        source = SubscriptionFactory(reader=ben, feed__title="Secret club").feed.source
        Source.objects.filter(pk=source.pk).update(title="Secret club")
        unanswered = FeedFactory(source=source, url=f"https://{source.pk}/nothing", title="")
        SubscriptionFactory(reader=ada, feed=unanswered)
        star = {"url": f"https://{source.pk}/a", "title": "A", "created_at": CLOCK.isoformat()}
        client.force_login(ada)
        pages = [
            client.post(
                "/ui/sources/import", {"file": SimpleUploadedFile("a.json", written([star]))}, follow=True
            )
        ]
        item = Item.objects.get(title="A")
        assert item.source.title == source.pk
        paths = ("/ui/saved", f"/ui/item/{item.pk}", "/ui/search?q=A", "/api/items?saved=true")
        pages += [client.get(path) for path in paths]
        assert not [
            page for page in pages if page.status_code != 200 or "Secret club" in page.content.decode()
        ]
        past_import(reader=ben, document=written([star]), now=CLOCK)
        assert Item.objects.latest("pk").source == source, "who reads it has the star under its name"

    def test_stars_that_no_feed_carries_have_an_end(self, ada: Reader, ben: Reader, monkeypatch):
        monkeypatch.setattr("digest.sources.past_import.STARS_MAX", 3)
        for n in range(3):
            rows = [{"url": f"https://rivers.example/{n}/{m}", "title": "A"} for m in range(2)]
            report = past_import(reader=ada, document=written(rows), now=CLOCK)
            Reading.objects.update(saved_at=None)  # as if all were taken back
        assert (report.starred, report.beyond) == (0, 2)
        assert Item.objects.count() == 3
        report = past_import(reader=ben, document=written(rows), now=CLOCK)
        assert (report.starred, report.beyond) == (2, 0), "each reader has as many"

    def test_a_read_article_waits_until_its_feed_is_fetched(self, ada: Reader):
        row = MINIFLUX["entries"][0] | {"starred": False}
        document = written({"entries": [row]})
        report = past_import(reader=ada, document=document, now=CLOCK)
        assert (report.waiting, report.read) == (1, 0) and not Item.objects.exists()
        feed_item(ada, RIVERS)
        again = past_import(reader=ada, document=document, now=CLOCK)
        assert (again.waiting, again.read) == (0, 1)

    def test_who_does_not_let_reading_teach_gets_the_saves_alone(self, ada: Reader):
        Reader.objects.filter(pk=ada.pk).update(learn_from_reading=False)
        ada.refresh_from_db()
        report = past_import(reader=ada, document=written(FRESHRSS), now=CLOCK)
        assert report.starred == 1 and not report.learned and not ImplicitPreference.objects.exists()

    def test_each_hundred_of_a_thousand_stars_needs_twelve_statements(
        self, ada: Reader, django_assert_max_num_queries
    ):
        rows = [FEEDBIN[0] | {"url": f"https://rivers.example/{n}"} for n in range(1000)]
        with django_assert_max_num_queries(10 * 12):
            report = past_import(reader=ada, document=written(rows), now=CLOCK)
        assert report.starred == 1000 and report.most == [("rivers.example", 1000)]

    def test_the_page_says_what_was_learned(self, client: Client, ada: Reader):
        client.force_login(ada)
        now = datetime.now(UTC)
        rows = [
            FEEDBIN[0] | {"url": f"https://rivers.example/{n}", "created_at": str(now)} for n in range(20)
        ]
        assert 'name="file"' in client.get("/ui/sources").content.decode()
        file = SimpleUploadedFile("starred.json", written(rows))
        body = client.post("/ui/sources/import", {"file": file}, follow=True).content.decode()
        assert "20 starred articles saved" in body and "What was learned" in body
        assert "rivers.example" in body and "Rivers" in client.get("/ui/saved").content.decode()
        wrong = client.post("/ui/sources/import", {"file": SimpleUploadedFile("a.json", b"{}")})
        assert wrong.status_code == 422 and "This is no export of stars" in wrong.content.decode()

    def test_old_stars_say_so(self, client: Client, ada: Reader):
        client.force_login(ada)
        rows = written([FEEDBIN[0] | {"created_at": "2019-01-01T00:00:00Z"}])
        page = client.post(
            "/ui/sources/import", {"file": SimpleUploadedFile("starred.json", rows)}, follow=True
        )
        assert "no star is from the last 60 days" in page.content.decode()
