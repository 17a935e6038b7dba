"""Changes by a reader's app: read, starred, thumbs, whole streams, subscriptions and folders."""

from datetime import timedelta

import pytest
from pytest_httpserver import HTTPServer

from digest.items.reading import item_read
from digest.models import Feedback, Item, Reader, Reading, Subscription
from digest.web.greader.codec import microseconds
from tests.digest.web.greader.support import ALL, READ, STARRED, App
from tests.support.browser import ago, fresh_item
from tests.support.factories import FeedbackFactory

pytestmark = pytest.mark.usefixtures("own_cache")
USEFUL, NOT_USEFUL = "user/-/label/Useful", "user/-/label/Not useful"
UNREAD = "user/-/state/com.google/kept-unread"
FEED = (
    "<rss><channel><title>Rivers</title><item><title>Rain</title><link>https://r.example/1</link></item>"
    "</channel></rss>"
)


@pytest.fixture
def app(ada: Reader) -> App:
    """Ada's app, which may do everything."""
    return App(ada)


@pytest.fixture
def item(ada: Reader) -> Item:
    """Return an item of Ada's."""
    return fresh_item(ada)


def state(item: Item) -> tuple[bool, bool]:
    """Return whether an item is read and saved."""
    row = Reading.objects.filter(article=item.article).first()
    return (row.read_at is not None, row.saved_at is not None) if row else (False, False)


def test_reading_and_starring_there_count_here(app: App, item: Item):
    assert app.tag(item, a=READ, r=UNREAD, ac="edit").content == b"OK"
    assert state(item) == (True, False)
    app.tag(item, a=STARRED)
    assert state(item) == (True, True)
    app.tag(item, r=READ, a=[UNREAD, "user/-/state/com.google/tracking-kept-unread"])
    assert state(item) == (False, True)
    app.tag(item, r=STARRED)
    assert state(item) == (False, False)


def test_a_second_time_changes_nothing(app: App, item: Item, ada: Reader):
    item_read(reader=ada, item_id=item.pk, now=ago(1))
    before = Reading.objects.values().get()
    app.tag(item, a=READ)
    assert Reading.objects.values().get() == before


def test_a_thousand_items_are_read_in_as_many_queries_as_two(
    app: App, ada: Reader, django_assert_max_num_queries
):
    items = [fresh_item(ada) for _ in range(40)]
    with django_assert_max_num_queries(14):
        app.tag(*items, a=READ)
    assert Reading.objects.filter(reader=ada, read_at__isnull=False).count() == 40


def test_the_labels_are_thumbs(app: App, item: Item):
    app.tag(item, a=USEFUL)
    assert Feedback.objects.get().useful is True
    app.tag(item, r=NOT_USEFUL)
    assert Feedback.objects.get().useful is True and state(item) == (False, False)
    app.tag(item, a=NOT_USEFUL, r=USEFUL)
    assert Feedback.objects.get().useful is False and state(item) == (True, False)
    app.tag(item, r=NOT_USEFUL)
    assert not Feedback.objects.exists() and state(item) == (False, False)


@pytest.mark.parametrize("label", ["user/-/label/Mine", "feed/1", "x"])
def test_no_other_label_can_be_given(app: App, item: Item, label: str):
    answer = app.tag(item, a=label)
    assert answer.status_code == 400 and not Reading.objects.exists()


@pytest.mark.parametrize("tag", ["user/-/state/com.google/broadcast", "user/-/label/Today"])
def test_states_that_nobody_can_give_are_left_alone(app: App, item: Item, tag: str):
    assert app.tag(item, a=tag).content == app.tag(item, r=tag).content == b"OK"
    assert not Reading.objects.exists() and not Feedback.objects.exists()


def test_ben_changes_nothing_of_adas(item: Item, ada: Reader, ben: Reader):
    FeedbackFactory(reader=ada, item=item)
    bens = App(ben)
    for form in ({"a": READ}, {"a": STARRED}, {"a": NOT_USEFUL}, {"r": USEFUL}):
        assert bens.tag(item, **form).content == b"OK"
    assert not Reading.objects.exists() and Feedback.objects.get().reader == ada
    for action in ("edit", "unsubscribe"):
        feed = f"feed/{item.feed_id}"
        assert bens.post("subscription/edit", s=feed, ac=action, a="user/-/label/X").status_code == 404
    assert Subscription.objects.get(reader=ada, feed=item.feed_id).folder == ""


@pytest.mark.parametrize("ids", [[], ["x"], ["tag:google.com,2005:reader/item/"]])
def test_items_must_be_named(app: App, ids: list[str]):
    assert app.post("edit-tag", i=ids, a=READ).status_code == 400


def test_unknown_items_are_left_out(app: App, item: Item):
    assert app.post("edit-tag", i=[item.pk, 10**12, "f" * 16], a=READ).content == b"OK"
    assert Reading.objects.count() == 1


def test_too_many_thumbs_at_once_are_refused(app: App, item: Item, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("digest.web.greader.changes.THUMBS_MAX", 1)
    answer = app.post("edit-tag", i=[item.pk, 10**12], a=USEFUL)
    assert answer.status_code == 400 and not Feedback.objects.exists()


@pytest.mark.parametrize("unit", [1000, 1, 10**-3])
def test_what_came_after_the_moment_stays_unread(app: App, ada: Reader, unit: float):
    old, new = fresh_item(ada, hours=3), fresh_item(ada, hours=1)
    moment = int(microseconds(old.first_seen_at + timedelta(milliseconds=1)) * unit)
    assert app.post("mark-all-as-read", s=ALL, ts=moment).content == b"OK"
    assert (state(old)[0], state(new)[0]) == (True, False)


def test_a_folder_a_feed_and_today_are_read_as_a_whole(app: App, ada: Reader):
    mine, other, third = (fresh_item(ada, key=f"{name}.example") for name in "abc")
    Subscription.objects.filter(feed=mine.feed_id).update(folder="News")
    app.post("mark-all-as-read", s="user/-/label/News")
    assert [state(one)[0] for one in (mine, other, third)] == [True, False, False]
    app.post("mark-all-as-read", s=f"feed/{other.feed_id}")
    assert [state(one)[0] for one in (mine, other, third)] == [True, True, False]
    app.post("mark-all-as-read", s="feed/999999")
    assert not state(third)[0]
    app.post("mark-all-as-read", s="user/-/label/Today")
    assert state(third)[0]
    assert app.post("mark-all-as-read").status_code == 400


def test_of_several_streams_each_is_read(app: App, ada: Reader):
    items = [fresh_item(ada, key=f"s{n}.example") for n in range(4)]
    Subscription.objects.filter(feed=items[2].feed_id).update(folder="News")
    streams = [f"feed/{items[0].feed_id}", f"feed/{items[1].feed_id}", "label/News"]
    assert app.post("mark-all-as-read", s=streams).content == b"OK"
    assert app.ids("kept-unread") == [items[3].pk]
    for some in ([], [*streams, "nothing"], [f"feed/{n}" for n in range(51)]):
        assert app.post("mark-all-as-read", s=some).status_code == 400
    assert app.ids("kept-unread") == [items[3].pk]


def test_a_folder_may_be_named_by_its_name_alone(app: App, ada: Reader, item: Item):
    Subscription.objects.update(folder="Sea")
    assert app.post("rename-tag", t="Sea", dest="label/Ocean").content == b"OK"
    assert [one.folder for one in Subscription.objects.all()] == ["Ocean"]
    assert app.post("disable-tag", t="Ocean").content == b"OK"
    assert [one.folder for one in Subscription.objects.all()] == [""]


def test_feeds_are_moved_and_left(app: App, ada: Reader, item: Item):
    feed = f"feed/{item.feed_id}"
    folder = Subscription.objects.filter(reader=ada).values_list("folder", flat=True)
    assert app.post("subscription/edit", s=feed, ac="edit", a="user/-/label/News").content == b"OK"
    assert folder.get() == "News"
    assert app.post("subscription/edit", s=feed, ac="edit", r="user/-/label/Other").content == b"OK"
    assert folder.get() == "News"
    assert app.post("subscription/edit", s=feed, ac="edit", a=USEFUL).status_code == 400
    assert app.post("rename-tag", s="user/-/label/News", dest="user/-/label/Papers").content == b"OK"
    assert folder.get() == "Papers"
    assert app.post("rename-tag", s="user/-/label/News", dest="user/-/label/X").status_code == 404
    assert app.post("rename-tag", s=USEFUL, dest="user/-/label/X").status_code == 400
    assert app.post("disable-tag", s="user/-/label/Papers").content == b"OK"
    assert folder.get() == ""
    app.post("subscription/edit", s=feed, ac="edit", a="user/-/label/News")
    app.post("subscription/edit", s=feed, ac="edit", r="user/-/label/News")
    assert folder.get() == ""
    assert app.post("subscription/edit", s=feed, ac="edit").status_code == 400
    assert app.post("subscription/edit", s=feed, ac="sing").status_code == 400
    assert app.post("subscription/edit", s=feed, ac="unsubscribe").content == b"OK"
    assert not Subscription.objects.exists()


def test_a_folder_is_deleted_as_apps_do_it_after_its_feeds(app: App, ada: Reader, item: Item):
    """Read You and NetNewsWire unsubscribe the feeds, one by one, then delete the folder."""
    feed, folder = f"feed/{item.feed_id}", "user/-/label/News"
    app.post("subscription/edit", s=feed, ac="edit", a=folder)
    assert app.post("subscription/edit", s=feed, ac="unsubscribe").content == b"OK"
    assert app.post("disable-tag", s=folder).content == b"OK"
    assert app.post("disable-tag", s=folder).content == b"OK", "another device was first"
    assert folder not in [one["id"] for one in app.get("tag/list").json()["tags"]]


def test_an_emptied_folder_is_no_error_wherever_an_app_still_names_it(app: App, ada: Reader, item: Item):
    feed, folder = f"feed/{item.feed_id}", "user/-/label/News"
    app.post("subscription/edit", s=feed, ac="edit", a=folder)
    app.post("subscription/edit", s=feed, ac="edit", r=folder)
    assert app.ids(folder) == [] and app.items(folder) == []
    assert app.client.get(f"/reader/atom/{folder}").status_code == 200
    assert app.post("mark-all-as-read", s=folder).content == b"OK" and state(item)[0] is False
    assert app.post("subscription/edit", s=feed, ac="edit", r=folder).content == b"OK"
    assert app.post("disable-tag", s=[folder, "user/-/label/Never there"]).content == b"OK"
    assert app.post("disable-tag").status_code == 400
    assert app.post("disable-tag", s=USEFUL).status_code == 400, "a label is no folder"


@pytest.fixture
def site(httpserver: HTTPServer, settings) -> str:
    """Return the address of a site with a feed."""
    settings.FETCH_ALLOW_HOSTS = [f"{httpserver.host}:{httpserver.port}"]
    link = '<link rel="alternate" type="application/rss+xml" href="/feed">'
    httpserver.expect_request("/").respond_with_data(f"<html><head>{link}</head></html>")
    httpserver.expect_request("/feed").respond_with_data(FEED, headers={"Content-Type": "text/xml"})
    return httpserver.url_for("/")


def test_a_site_is_added_by_its_address(app: App, site: str):
    said = app.post("subscription/quickadd", quickadd=site).json()
    assert (said["numResults"], said["streamName"], said["query"]) == (1, "Rivers", f"{site}feed")
    assert [one["title"] for one in app.items(said["streamId"])] == ["Rain"]
    assert app.post("subscription/quickadd", quickadd=f"feed/{site}feed").json() == said


def test_a_feed_is_subscribed_to_in_a_folder(app: App, site: str):
    form = {"s": f"feed/{site}feed", "ac": "subscribe", "a": "user/-/label/Water", "t": "Mine"}
    assert app.post("subscription/edit", **form).content == b"OK"
    subscription = Subscription.objects.get()
    assert (subscription.folder, subscription.own_name) == ("Water", "Mine")


def test_a_feed_is_called_what_its_reader_calls_it_until_they_call_it_by_its_own_name(
    app: App, ada: Reader, item: Item
):
    other = fresh_item(ada, key="ferry.example", title="A ferry").feed
    feeds, name = [f"feed/{item.feed_id}", f"feed/{other.pk}"], Subscription.objects.get(feed=item.feed).name
    assert app.post("subscription/edit", s=feeds, ac="edit", t=["  My\nlamps ", ""]).content == b"OK"
    titles = {one["id"]: one["title"] for one in app.get("subscription/list").json()["subscriptions"]}
    assert titles == {feeds[0]: "My lamps", feeds[1]: other.name}
    folder = {"a": "user/-/label/News", "t": name}  # an app that moves a feed sends its name along
    assert app.post("subscription/edit", s=feeds[0], ac="edit", **folder).content == b"OK"
    assert Subscription.objects.get(feed=item.feed).own_name == ""


def test_feeds_leave_the_folder_they_are_in_and_no_other(app: App, ada: Reader, item: Item):
    other = fresh_item(ada, key="ferry.example", title="A ferry").feed
    Subscription.objects.filter(feed=item.feed).update(folder="News")
    Subscription.objects.filter(feed=other).update(folder="Ships")
    feeds = [f"feed/{item.feed_id}", f"feed/{other.pk}"]
    assert app.post("subscription/edit", s=feeds, ac="edit", r="user/-/label/News").content == b"OK"
    assert {*Subscription.objects.values_list("feed", "folder")} == {(item.feed_id, ""), (other.pk, "Ships")}


def test_an_empty_name_alone_gives_a_feed_its_own_back(app: App, item: Item):
    Subscription.objects.update(own_name="Mine")
    assert app.post("subscription/edit", s=f"feed/{item.feed_id}", ac="edit", t="").content == b"OK"
    assert Subscription.objects.get().own_name == ""


def test_of_several_new_feeds_those_that_can_be_had_get_their_names_and_folder(app: App, site: str):
    form = {"s": [f"feed/{site}nothing", f"feed/{site}feed"], "t": ["A", "B"], "a": "user/-/label/Water"}
    assert app.post("subscription/edit", ac="subscribe", **form).status_code == 400
    subscription = Subscription.objects.get()
    assert (subscription.folder, subscription.own_name) == ("Water", "B")


def test_nothing_is_subscribed_to_where_its_folder_is_none(app: App, site: str):
    form = {"s": f"feed/{site}feed", "ac": "subscribe", "a": USEFUL}
    assert app.post("subscription/edit", **form).status_code == 400
    assert not Subscription.objects.exists()


def test_an_app_adds_no_feed_beyond_the_greatest_number(app: App, site: str, item: Item, settings):
    settings.SUBSCRIPTIONS_MAX = 1
    assert app.post("subscription/edit", s=f"feed/{site}feed", ac="subscribe").status_code == 409
    assert "1 feed" in app.post("subscription/quickadd", quickadd=site).json()["error"]
    assert Subscription.objects.get().feed_id == item.feed_id


def test_so_many_feeds_are_changed_at_a_time(app: App, item: Item):
    one = f"feed/{item.feed_id}"
    for count, status in ((1_000, 200), (1_001, 400)):
        sent = app.post("subscription/edit", s=[one] * count, ac="edit", a="user/-/label/Water")
        assert sent.status_code == status


@pytest.mark.usefixtures("one_minute")
def test_what_cannot_be_added_says_why(app: App, site: str):
    said = app.post("subscription/quickadd", quickadd="http://127.0.0.1:1/").json()
    assert said["numResults"] == 0 and said["error"]
    assert app.post("subscription/edit", s="feed/x y", ac="subscribe").status_code == 400
    codes = [app.post("subscription/quickadd", quickadd=f"{site}none").status_code for _ in range(10)]
    assert codes[-1] == 429 and not Subscription.objects.exists()
