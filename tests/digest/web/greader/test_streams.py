"""Data for a reader's app: login, subscriptions, folders, counts, and streams page by page."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from digest.accounts.tokens import REQUESTS_PER_MINUTE, token_revoke
from digest.feeds.bodies import contents_of
from digest.items.reading import item_read, item_save
from digest.models import Exposure, Feed, Item, ItemBody, Reader, Reading, Subscription
from digest.web.greader import streams
from ranking.services import ConfigEdit, config_edit
from tests.digest.web.greader.support import ALL, READ, STARRED, App
from tests.support.browser import ago, fresh_item, subscribe
from tests.support.factories import FeedbackFactory

pytestmark = pytest.mark.usefixtures("own_cache")
LOGIN = "/accounts/ClientLogin"
HIDDEN = "user/-/label/Not useful"
LABELS = ("Today", "Useful", "Not useful")


@pytest.fixture
def app(ada: Reader) -> App:
    """Ada's app, which may read only."""
    return App(ada, "read")


@pytest.mark.parametrize("base", ["", "/api/greader.php"])
@pytest.mark.parametrize("name", ["ada", "Ada@Example.org"])
def test_a_token_is_the_password_at_both_addresses(app: App, client: Client, base: str, name: str):
    answer = client.post(base + LOGIN, {"Email": name, "Passwd": app.secret})
    lines = dict(line.split("=") for line in answer.content.decode().splitlines())
    assert set(lines) == {"SID", "LSID", "Auth"}
    headers = {"Authorization": f"GoogleLogin auth={lines['Auth']}"}
    info = client.get(f"{base}/reader/api/0/user-info", headers=headers).json()
    assert info["userName"] == "ada"


@pytest.mark.parametrize(("name", "password"), [("ada", "x"), ("ben", ""), ("", ""), ("ada", "")])
def test_no_other_password_opens_anything(app: App, ben: Reader, client: Client, name: str, password: str):
    given = password if name != "ben" else app.secret
    assert client.post(LOGIN, {"Email": name, "Passwd": given}).status_code == 401
    assert client.get(LOGIN).status_code == 405


def test_a_refused_login_says_what_is_needed_and_where_and_not_who_has_an_account(
    app: App, ada: Reader, ben: Reader, client: Client
):
    ada.set_password("a-lamp-and-a-kettle")
    ada.save()
    tries = [
        ("ada", "a-lamp-and-a-kettle"),
        ("ada", "wrong"),
        ("nobody", "wrong"),
        ("ben", app.secret),
        ("", ""),
    ]
    said = {client.post(LOGIN, {"Email": name, "Passwd": given}).content.decode() for name, given in tries}
    (words,) = said
    assert "app token: not with the password" in words and words.endswith(
        f"{settings.SITE_URL}/ui/account/tokens"
    )
    client.force_login(ada)
    assert client.get("/ui/account/tokens").status_code == 200


@pytest.mark.parametrize("header", ["", "GoogleLogin auth=x", "Bearer {}", "GoogleLogin {}", "{}"])
def test_without_a_valid_token_nothing_is_said(app: App, client: Client, header: str):
    client.force_login(app.token.reader)
    answer = client.get("/reader/api/0/token", headers={"Authorization": header.format(app.secret)})
    assert answer.status_code == 401 and answer["X-Reader-Google-Bad-Token"] == "true"
    assert answer["Content-Type"].startswith("text/plain")


def test_a_form_may_carry_the_token_and_an_address_may_not(app: App, ada: Reader, client: Client):
    item, path = fresh_item(ada), "/reader/api/0/stream/items/contents"
    form = {"T": app.secret, "i": item.pk, "output": "json"}
    assert len(client.post(path, form).json()["items"]) == 1
    assert client.post(path, form | {"T": "x"}).status_code == 401
    assert client.post(f"{path}?T={app.secret}", {"i": item.pk}).status_code == 401
    assert client.get(path, form).status_code == 401
    assert client.post(f"{LOGIN}?Passwd={app.secret}", {"Email": "ada"}).status_code == 401


def test_a_revoked_and_an_expired_token_are_shut_out(app: App, ada: Reader):
    token_revoke(reader=ada, token_id=app.token.pk)
    assert app.get("token").status_code == 401
    assert App(ada, expires_at=timezone.now()).get("token").status_code == 401


def test_a_token_may_ask_so_often_a_minute(app: App, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("digest.accounts.tokens.REQUESTS_PER_MINUTE", 2)
    assert REQUESTS_PER_MINUTE > 2
    codes = [app.get("tag/list").status_code for _ in range(3)]
    assert codes == [200, 200, 429] and app.get("token")["Retry-After"]


@pytest.mark.parametrize(
    ("scope", "codes"), [("read", [200, 403, 403]), ("rate", [200, 200, 403]), ("full", [200, 200, 200])]
)
def test_a_token_does_what_its_scope_says(ada: Reader, scope: str, codes: list[int]):
    app, item = App(ada, scope), fresh_item(ada)
    answers = [
        app.post("stream/items/contents", i=item.pk),
        app.tag(item, a=READ),
        app.post("subscription/edit", s=f"feed/{item.feed_id}", ac="unsubscribe"),
    ]
    assert [answer.status_code for answer in answers] == codes


def test_an_unknown_operation_and_a_wrong_method_are_plain_errors(app: App):
    assert app.get("nothing").status_code == 404
    assert app.get("edit-tag").status_code == 405 and app.post("tag/list").status_code == 405
    for query in ({}, {"s": "x"}, {"s": ALL, "c": "x"}, {"s": ALL, "ot": "9" * 29}):
        answer = app.get("stream/items/ids", **query)
        assert answer.status_code == 400 and answer["Content-Type"].startswith("text/plain")


def test_subscriptions_folders_and_counts_are_those_of_the_pages(app: App, ada: Reader):
    item = fresh_item(ada)
    fresh_item(ada, hours=24 * 40)  # too old to count as unread
    Subscription.objects.filter(reader=ada).update(folder="News / Local")
    empty = subscribe(ada, "empty.example", "Void")
    Subscription.objects.filter(pk=empty.pk).update(own_name="Empty")
    feeds = {one["title"]: one for one in app.get("subscription/list").json()["subscriptions"]}
    assert feeds["Gazette"]["id"] == f"feed/{item.feed_id}"
    assert feeds["Gazette"]["categories"] == [{"id": "user/-/label/News / Local", "label": "News / Local"}]
    assert feeds["Empty"]["categories"] == []
    tags = [
        (one["id"].rpartition("label/")[2], one.get("type")) for one in app.get("tag/list").json()["tags"]
    ]
    assert tags[1:] == [
        ("News / Local", "folder"),
        ("Today", "tag"),
        ("Useful", "tag"),
        ("Not useful", "tag"),
    ]
    counts = {one["id"]: one["count"] for one in app.get("unread-count").json()["unreadcounts"]}
    assert counts[f"feed/{item.feed_id}"] == counts["user/-/label/News / Local"] == counts[ALL] == 1


def test_a_folder_called_useful_is_not_the_label(app: App, ada: Reader):
    filed, liked = fresh_item(ada), fresh_item(ada, key="other.example")
    Subscription.objects.filter(feed=filed.feed_id).update(folder="Useful")
    FeedbackFactory(reader=ada, item=liked)
    folder = "user/-/label/Useful (folder)"
    assert {"id": folder, "type": "folder"} in app.get("tag/list").json()["tags"]
    feeds = {one["title"]: one["categories"] for one in app.get("subscription/list").json()["subscriptions"]}
    assert feeds["Gazette"] == [{"id": folder, "label": "Useful"}]
    assert app.ids(folder) == [filed.pk] and app.ids("user/-/label/Useful") == [liked.pk]
    shown = {item["title"]: item["categories"] for item in app.items()}
    assert shown[filed.title] == [ALL, folder] and shown[liked.title] == [ALL, "user/-/label/Useful"]
    assert {one["id"]: one["count"] for one in app.get("unread-count").json()["unreadcounts"]}[folder] == 1


def test_an_item_is_shown_as_published(app: App, ada: Reader):
    item = fresh_item(
        ada, title="A < B", text="Plain <words>.", author="Eve", body_hash=1, categories=["Sea"]
    )
    sound = {"url": "https://a.example/1.mp3", "mime_type": "audio/mpeg", "length_bytes": 5, "duration_s": 9}
    body = ItemBody.objects.create(item=item, enclosures=[sound])
    (shown,) = app.items()
    assert shown["id"] == f"tag:google.com,2005:reader/item/{item.pk:016x}"
    assert (shown["title"], shown["author"]) == ("A < B", "Eve")
    assert shown["summary"]["content"] == "<p>Plain &lt;words&gt;.</p>"
    assert shown["canonical"] == [{"href": item.url}]
    assert shown["enclosure"] == [{"href": sound["url"], "type": "audio/mpeg", "length": 5}]
    assert shown["categories"] == [ALL, "Sea"] and shown["published"] == int(item.dated_at.timestamp())
    assert shown["origin"]["streamId"] == f"feed/{item.feed_id}"
    assert contents_of(items=[item])[item.pk].enclosures[0].duration_s == 9 and body.pk == item.pk


@pytest.mark.parametrize(
    "shape",
    [
        {"url": ""},
        {"url": "urn:uuid:1225c695-cfb8-4ebb-aaaa-80da344efa6a"},
        {"url": "javascript:alert(1)"},
        {"url": "", "title": "", "text": "", "author": "", "categories": []},
        {"url": "mailto:ada@example.org"},
    ],
)
def test_whatever_an_item_lacks_apps_find_the_fields_they_take_unasked(
    app: App, ada: Reader, shape: dict[str, object], settings
):
    """Fluent Reader takes `canonical[0].href`: an empty list stopped its whole sync."""
    settings.SITE_URL = "https://tidings.example"
    item = fresh_item(ada)
    Item.objects.filter(pk=item.pk).update(**shape)
    page = f"https://tidings.example/ui/item/{item.pk}"
    named = app.post("stream/items/contents", i=item.pk).json()["items"]
    for shown in (*app.items(), *named):
        assert [one["href"] for one in shown["canonical"]] == [page]
        assert [one["href"] for one in shown["alternate"]] == [page]
        assert isinstance(shown["title"], str) and isinstance(shown["summary"]["content"], str)
        assert shown["origin"]["streamId"] == f"feed/{item.feed_id}" and shown["categories"]
        assert int(shown["crawlTimeMsec"]) and int(shown["timestampUsec"]) and shown["published"]
    atom = app.client.get(f"/reader/atom/{ALL}").content.decode()
    assert f'href="{page}"' in atom


def test_states_and_labels_are_categories_that_no_publisher_can_forge(app: App, ada: Reader):
    item = fresh_item(ada, categories=[READ, HIDDEN, "Sea"])
    Subscription.objects.update(folder="News")
    item_save(reader=ada, item_id=item.pk, saved=True, now=timezone.now())
    FeedbackFactory(reader=ada, item=item)
    labels = [STARRED, "user/-/label/News", "user/-/label/Useful", "Sea"]
    assert app.items()[0]["categories"] == [ALL, *labels]


@pytest.mark.parametrize(
    "form", ["{}", "com.google/{}", "state/com.google/{}", "user/1234/state/com.google/{}"]
)
def test_a_state_may_be_named_in_short(ada: Reader, form: str):
    """Some clients leave out the user, or ask for `stream/contents/reading-list`."""
    app = App(ada)
    plain, read, starred = (fresh_item(ada, hours=n) for n in (1, 2, 3))
    item_read(reader=ada, item_id=read.pk, now=timezone.now())
    item_save(reader=ada, item_id=starred.pk, saved=True, now=timezone.now())
    wanted = {"reading-list": [plain.pk, read.pk, starred.pk], "read": [read.pk], "starred": [starred.pk]}
    wanted["kept-unread"] = [plain.pk, starred.pk]
    for name, ids in wanted.items():
        stream = form.format(name)
        assert app.ids(stream) == ids and len(app.items(stream)) == len(ids)
    assert app.ids(xt=form.format("read")) == app.ids(it=form.format("kept-unread")) == wanted["kept-unread"]
    assert app.tag(plain, a=form.format("starred")).content == b"OK"
    assert app.ids("starred") == [plain.pk, starred.pk]
    assert app.post("mark-all-as-read", s=form.format("reading-list")).content == b"OK"
    assert app.ids("kept-unread") == []


def test_a_label_may_be_named_in_short_and_an_unknown_word_is_no_stream(app: App, ada: Reader):
    item = fresh_item(ada)
    Subscription.objects.update(folder="News")
    assert app.ids("label/News") == [item.pk]
    for word in ("news", "readinglist", "user", "user/-/", "com.google/"):
        assert app.get(f"stream/contents/{word}").status_code == 400


@pytest.mark.parametrize(
    "written",
    [
        "{}",
        "{}/",
        "https:/gazette.example/feed.xml",
        "http://gazette.example/feed.xml",
        "https://www.gazette.example/feed.xml",
        "https%3A%2F%2Fgazette.example%2Ffeed.xml",
    ],
)
def test_a_feed_is_found_by_every_spelling_of_its_id_and_its_address(ada: Reader, written: str):
    """Proxies fold slashes, some clients escape twice, and feeds move to TLS."""
    app, item, other = App(ada), fresh_item(ada), fresh_item(ada, key="other.example")
    stream = f"feed/{written.format(item.feed_id)}"
    assert item.feed.url == "https://gazette.example/feed.xml" and app.ids(stream) == [item.pk]
    assert app.post("mark-all-as-read", s=stream).content == b"OK"
    assert app.ids("kept-unread") == [other.pk]


def test_of_two_feeds_a_stream_means_the_one_that_it_spells(app: App, ada: Reader):
    plain, secure = fresh_item(ada), fresh_item(ada, key="other.example")
    Feed.objects.filter(pk=plain.feed_id).update(url="http://one.example/feed")
    Feed.objects.filter(pk=secure.feed_id).update(url="https://one.example/feed")
    assert app.ids("feed/http://one.example/feed") == [plain.pk]
    assert app.ids("feed/https://one.example/feed") == [secure.pk]


def test_an_address_may_end_in_a_slash_and_a_stream_may_be_asked_for_by_a_form(ada: Reader):
    app, item = App(ada), fresh_item(ada)
    for path in ("token/", "user-info/", "subscription/list/", "tag/list/", "unread-count/"):
        assert app.get(path).content == app.get(path.rstrip("/")).content != b""
    for path in ("stream/items/ids", "stream/items/ids/"):
        for answer in (app.get(path, s=ALL), app.post(path, s=ALL)):
            assert [one["id"] for one in answer.json()["itemRefs"]] == [str(item.pk)]
    for path in ("stream/contents", "stream/contents/", f"stream/contents/{ALL}", f"stream/contents/{ALL}/"):
        for answer in (app.get(path), app.post(path, n=5)):
            assert [one["title"] for one in answer.json()["items"]] == [item.title]
    assert app.post("edit-tag/", i=item.pk, a="read").content == b"OK" and app.ids("kept-unread") == []


def test_streams_have_what_they_are_named_for(app: App, ada: Reader):
    plain, read, starred = (fresh_item(ada, hours=n) for n in (1, 2, 3))
    other = fresh_item(ada, hours=4, key="other.example")
    liked = fresh_item(ada, hours=5)
    Subscription.objects.filter(feed=other.feed_id).update(folder="News")
    item_read(reader=ada, item_id=read.pk, now=timezone.now())
    item_save(reader=ada, item_id=starred.pk, saved=True, now=timezone.now())
    FeedbackFactory(reader=ada, item=liked)
    everything = [plain.pk, read.pk, starred.pk, other.pk, liked.pk]
    unread = [plain.pk, starred.pk, other.pk, liked.pk]
    assert app.ids() == everything and app.ids(r="o") == everything[::-1]
    assert app.ids(xt=READ) == app.ids("user/-/state/com.google/kept-unread") == unread
    assert app.ids(READ) == app.ids(it=READ) == [read.pk]
    assert app.ids(STARRED) == app.ids(it=STARRED) == [starred.pk]
    assert app.ids(xt=STARRED) == [plain.pk, read.pk, other.pk, liked.pk]
    assert app.ids("user/-/label/News") == app.ids(f"feed/{other.feed_id}") == [other.pk]
    assert app.ids(f"feed/{other.feed.url}") == [other.pk]
    assert app.ids("user/-/label/Useful") == [liked.pk]
    for stream in ("user/-/label/Not useful", "user/-/label/None", "feed/999999", "feed/https://no.example/"):
        assert app.ids(stream) == []
    assert app.ids("user/-/state/com.google/broadcast") == app.ids(READ, xt=READ) == []


def test_an_article_of_two_feeds_is_there_once_and_keeps_its_id(app: App, ada: Reader):
    item = fresh_item(ada)
    twin = fresh_item(ada, hours=2, key="other.example", url=item.url, article=item.article)
    assert app.ids() == [item.pk] and app.ids(f"feed/{twin.feed_id}") == [twin.pk]
    item_read(reader=ada, item_id=twin.pk, now=timezone.now())
    assert app.ids(xt=READ) == []


@pytest.mark.parametrize("order", ["", "o"])
def test_a_continuation_misses_and_repeats_nothing_whatever_comes_in_between(
    app: App, ada: Reader, order: str
):
    known = {fresh_item(ada, hours=n).pk for n in range(1, 8)}
    seen: list[int] = []
    query: dict[str, object] = {"s": ALL, "n": 3, "r": order}
    while query.get("c") != "":
        page = app.get("stream/items/ids", **query).json()
        seen += [int(one["id"]) for one in page["itemRefs"]]
        fresh_item(ada, hours=0 if order == "" else 24 * 9)  # before the place the app is at
        query["c"] = page.get("continuation", "")
    assert len(seen) == len(set(seen)) and set(seen) == known


def test_a_sync_gets_what_was_first_seen_since_however_it_is_dated(app: App, ada: Reader):
    old = fresh_item(ada, hours=2)
    late = fresh_item(ada, hours=90, first_seen_at=ago(1))
    since = int((old.first_seen_at + timedelta(minutes=30)).timestamp())
    assert app.ids(ot=since) == app.ids(ot=since, r="o") == [late.pk]
    assert app.ids(nt=since) == [old.pk]
    for item in (old, late):
        item_read(reader=ada, item_id=item.pk, now=timezone.now())
    assert app.ids(READ, ot=since) == [late.pk] and app.ids(READ, nt=since) == [old.pk]


def test_today_is_a_stream_in_the_order_of_the_digest(app: App, ada: Reader):
    items = [fresh_item(ada, hours=n, key=f"s{n}.example") for n in range(1, 5)]
    edit = ConfigEdit(source_weights={"s4.example": 2.0})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=timezone.now())
    ids = app.ids("user/-/label/Today")
    shown = ada.digests.get().impressions.order_by("rank").values_list("item_id", flat=True)
    assert ids == list(shown) and ids[0] == items[3].pk and app.ids()[0] == items[0].pk
    assert Exposure.objects.filter(reader=ada, door="api").count() == len(ids)
    pages = app.get("stream/contents/user/-/label/Today", n=3).json()
    rest = app.items("user/-/label/Today", c=pages["continuation"], n=100)
    assert [int(one["id"].rpartition("/")[2], 16) for one in (*pages["items"], *rest)] == ids
    assert all("user/-/label/Today" in one["categories"] for one in rest)


def test_what_is_muted_is_in_no_stream_but_that_of_starred(app: App, ada: Reader, client: Client):
    hidden, shown = fresh_item(ada, title="About golf"), fresh_item(ada, hours=5)
    FeedbackFactory(reader=ada, item=hidden)
    item_read(reader=ada, item_id=hidden.pk, now=timezone.now())
    client.force_login(ada)
    client.post("/api/mutes", {"kind": "word", "value": "golf"}, content_type="application/json")
    for stream in (ALL, "user/-/label/Useful", READ, "user/-/label/Today", f"feed/{hidden.feed_id}"):
        assert hidden.pk not in app.ids(stream), stream
    assert app.post("stream/items/contents", i=[hidden.pk, shown.pk]).json()["items"][1:] == []
    item_save(reader=ada, item_id=hidden.pk, saved=True, now=timezone.now())
    assert app.ids(STARRED) == [hidden.pk] and len(app.items(STARRED)) == 1


def test_ben_is_given_nothing_of_adas(ada: Reader, ben: Reader):
    item = fresh_item(ada, title="Only Ada reads this")
    FeedbackFactory(reader=ada, item=item)
    Subscription.objects.update(folder="Secret")
    item_save(reader=ada, item_id=item.pk, saved=True, now=timezone.now())
    bens = App(ben)
    for stream in (ALL, STARRED, READ, f"feed/{item.feed_id}", "user/-/label/Secret", "user/-/label/Useful"):
        assert bens.ids(stream) == [] and bens.items(stream) == []
    assert bens.post("stream/items/contents", i=item.pk).json()["items"] == []
    assert bens.get("subscription/list").json() == {"subscriptions": []}
    assert "Secret" not in bens.get("tag/list").content.decode()
    assert bens.get("unread-count").json()["max"] == 0


def test_words_are_those_of_the_feed_that_is_read(app: App, ada: Reader, ben: Reader):
    mine = fresh_item(ada, title="As Ada’s feed says")
    theirs = fresh_item(ben, key="b.example", title="As Ben’s feed says", url=mine.url, article=mine.article)
    assert [one["title"] for one in app.items()] == ["As Ada’s feed says"]
    assert app.post("stream/items/contents", i=theirs.pk).json()["items"] == []


def test_what_a_thousand_items_need_is_asked_for_at_once(app: App, ada: Reader):
    def queries(path: str, **query: object) -> int:
        with CaptureQueriesContext(connection) as caught:
            assert app.get(path, **query).status_code == 200
        return len(caught)

    asked = [
        ("stream/items/ids", {"s": ALL, "n": 1000}),
        ("stream/items/ids", {"s": ALL, "n": 1000, "xt": READ}),
        (f"stream/contents/{ALL}", {"n": 1000}),
        (f"stream/contents/{STARRED}", {"n": 1000}),
        ("stream/contents/user/-/label/Today", {}),
        ("subscription/list", {}),
        ("tag/list", {}),
        ("unread-count", {}),
    ]
    for n in range(2):
        subscribe(ada, f"first{n}.example")
        item = fresh_item(ada, key=f"first{n}.example", body_hash=1)
        item_save(reader=ada, item_id=item.pk, saved=True, now=timezone.now())
    app.items("user/-/label/Today")
    before = [queries(path, **query) for path, query in asked]
    for n in range(30):
        item = fresh_item(ada, key=f"s{n % 6}.example", body_hash=1)
        item_save(reader=ada, item_id=item.pk, saved=True, now=timezone.now())
    app.items("user/-/label/Today")
    assert [queries(path, **query) for path, query in asked] == before
    assert max(before) <= 25


def test_an_atom_stream_is_called_what_it_is(app: App, ada: Reader):
    item = fresh_item(ada)
    item_save(reader=ada, item_id=item.pk, saved=True, now=timezone.now())
    Subscription.objects.filter(reader=ada).update(folder="News")
    for stream, title in (
        (ALL, "All items"),
        (STARRED, "Starred"),
        (HIDDEN, "Not useful"),
        ("user/-/label/Today", "Today"),
        ("user/-/label/News", "News"),
        (f"feed/{item.feed_id}", "Gazette"),
    ):
        document = app.client.get(f"/reader/atom/{stream}").content.decode()
        assert document.partition("<title>")[2].partition("</title>")[0] == title


def test_a_client_is_given_a_thousand_items_at_a_time(app: App, ada: Reader, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("digest.web.greader.views.CONTENTS_MAX", 2)
    items = [fresh_item(ada, hours=n) for n in range(1, 4)]
    wanted = [item.pk for item in items]
    first = app.post("stream/items/contents", i=wanted).json()
    rest = app.post("stream/items/contents", i=wanted, c=first["continuation"]).json()
    assert [len(page["items"]) for page in (first, rest)] == [2, 1] and "continuation" not in rest


def test_an_item_stays_what_it_is_when_its_feed_is_left(app: App, ada: Reader):
    item = fresh_item(ada)
    item_save(reader=ada, item_id=item.pk, saved=True, now=timezone.now())
    Subscription.objects.all().delete()
    (shown,) = app.items(STARRED)
    assert shown["origin"] == {"streamId": f"feed/{item.feed_id}", "title": item.source_id, "htmlUrl": ""}
    assert Reading.objects.get().item_id == item.pk and Item.objects.count() == 1
    assert app.ids() == []


def test_an_answer_is_bounded_and_its_continuation_begins_where_it_ended(
    app: App, ada: Reader, monkeypatch: pytest.MonkeyPatch
):
    items = [fresh_item(ada, hours=1 + n, title=f"Long {n}", text="word " * 100) for n in range(7)]
    monkeypatch.setattr(streams, "ANSWER_MAX_CHARS", 1600)
    for ask in (
        lambda more: app.get("stream/contents/" + ALL, n=7, **more),
        lambda more: app.get("stream/contents/user/-/label/Today", n=7, **more),
        lambda more: app.post("stream/items/contents", i=[item.pk for item in items], **more),
    ):
        got, more, pages = [], {}, 0
        while pages < 9:
            answer = ask(more).json()
            pages += 1
            got += [one["title"] for one in answer["items"]]
            if "continuation" not in answer:
                break
            more = {"c": answer["continuation"]}
        assert sorted(got) == [f"Long {n}" for n in range(7)] and pages == 3


@pytest.mark.parametrize("field", ["s", "c", "i", "xt", "n"])
def test_a_nul_is_refused_in_every_field(app: App, field: str):
    for answer in (
        app.get("stream/contents/" + ALL, **{field: "a\0b"}),
        app.post("edit-tag", **{field: "a\0b"}),
    ):
        assert answer.status_code in {400, 403}, answer.content
