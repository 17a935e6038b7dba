"""A reader who adds, restores or lists a moved address reads the new feed, without strangers' titles."""

import re

import pytest
from django.utils import timezone

from digest.accounts.tokens import token_issue
from digest.feeds.ingest import feed_get_or_create
from digest.feeds.services import feed_move
from digest.feeds.titles import title_agreed
from digest.items.selectors import reader_source_titles
from digest.models import Feed, Item, Reader, Source, Subscription
from digest.sources.subscription_changes import (
    SubscriptionEdit,
    subscription_change,
    subscriptions_remove,
    subscriptions_restore,
)
from digest.sources.subscriptions import (
    opml_import,
    subscription_add,
)
from tests.support.factories import FeedbackFactory, FeedFactory, ItemFactory, SubscriptionFactory
from tests.support.ingest import document_ingest

OLD, NEW = "https://old.example/feed", "http://localhost/feed"
SECURE = NEW.replace("http:", "https:")
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def allowed(settings) -> None:
    """Allow moves to this machine, because its name needs no look-up."""
    settings.FETCH_ALLOW_HOSTS = ["localhost"]


def titled(title: str, *posts: str) -> bytes:
    items = "".join(f"<item><title>{p}</title><link>https://localhost/{p}</link></item>" for p in posts)
    return f"<rss><channel><title>{title}</title>{items}</channel></rss>".encode()


@pytest.fixture
def moved(ada: Reader, now) -> Feed:
    """Move a feed that Ada reads. Return the new feed."""
    feed = subscription_add(reader=ada, url=OLD, now=now).feed
    return feed_move(feed=feed, url=NEW, now=now)


def test_a_readers_own_name_and_folder_move_along(ada: Reader, now):
    row = subscription_add(reader=ada, url=OLD, now=now)
    edit = SubscriptionEdit(folder="News", own_name="Mine")
    subscription_change(reader=ada, feed_id=row.feed_id, edit=edit, now=now)
    moved = Subscription.objects.get(reader=ada, feed=feed_move(feed=row.feed, url=NEW, now=now))
    assert (moved.folder, moved.name) == ("News", "Mine")


def test_an_address_that_moved_to_one_that_moved_on_leads_there(ada, ben, now, moved):
    feed_move(feed=moved, url=SECURE, now=now)
    assert subscription_add(reader=ben, url=OLD, now=now).feed.url == SECURE
    document = f'<opml><body><outline xmlUrl="{OLD}"/></body></opml>'.encode()
    assert opml_import(reader=ben, document=document, now=now).already == 1
    assert subscriptions_remove(reader=ada, feed_ids=[moved.pk], now=now)
    assert not Subscription.objects.filter(reader=ada).exists()  # nor the one to the old address


def test_an_address_whose_new_place_was_deleted_is_fetched_again(ben, now, moved):
    moved.delete()
    feed = subscription_add(reader=ben, url=OLD, now=now).feed
    feed.refresh_from_db()
    assert (feed.url, feed.state, feed.next_check_at) == (OLD, "active", None)


def test_moves_that_lead_back_end(ben, now, moved):
    Feed.objects.filter(pk=moved.pk).update(state="moved", moved_url=OLD)
    assert subscription_add(reader=ben, url=OLD, now=now).feed.state == "active"


def test_a_feed_that_moved_while_it_was_gone_comes_back_where_it_is(ben, now):
    feed = subscription_add(reader=ben, url=OLD, now=now).feed
    removed = subscriptions_remove(reader=ben, feed_ids=[feed.pk], now=now)
    feed_move(feed=feed, url=NEW, now=now)
    assert subscriptions_restore(reader=ben, removed=removed, now=now) == 1
    assert Subscription.objects.get(reader=ben).feed.url == NEW


def test_words_of_an_open_redirect_are_not_the_publishers_own(now):
    feed = FeedFactory(
        source__key="evil.example", url="https://paper.example/out", answered_by="evil.example"
    )
    body = b"<rss><channel><item><title>x</title><link>https://paper.example/a</link></item></channel></rss>"
    document_ingest(feed=feed, body=body, now=now)
    assert Item.objects.get().own is False


# --- The name of a source -----------------------------------------------------------------------------


def test_a_feed_that_moves_names_neither_the_feed_nor_the_source_it_moves_to(now):
    evil = feed_get_or_create(url=OLD, now=now)
    document_ingest(feed=evil, body=titled("Sign in at evil.example"), now=now)
    there = feed_move(feed=evil, url=NEW, now=now)
    assert (there.title, Source.objects.get(pk="localhost").title) == ("", "")


def test_a_list_names_nothing_that_others_see(ada, now):
    document = f'<opml><body><outline text="Fools read this" xmlUrl="{NEW}"/></body></opml>'.encode()
    opml_import(reader=ada, document=document, now=now)
    assert (Feed.objects.get().title, Source.objects.get().title) == ("", "")


def test_a_source_is_called_what_all_its_feeds_begin_with(now):
    def add(path: str, title: str) -> str:
        feed = feed_get_or_create(url=f"https://localhost/{path}", now=now)
        document_ingest(feed=feed, body=titled(title, path), now=now)
        return Source.objects.get(pk="localhost").title

    assert add("all", "Harbour News") == "Harbour News"
    assert add("sport", "Harbour News - Sport") == "Harbour News"
    assert add("search", "Results for “call 555” – Harbour News") == ""
    Feed.objects.filter(url__endswith="search").delete()
    assert add("all", "Harbour Herald") == "Harbour"
    Source.objects.update(title="The Herald")  # a person did
    assert add("all", "Harbour Tidings") == "The Herald"


def test_a_feed_that_never_brought_anything_takes_no_name_away(now):
    feed = feed_get_or_create(url="https://localhost/all", now=now)
    document_ingest(feed=feed, body=titled("Harbour News", "a"), now=now)
    feed_get_or_create(url="https://localhost/nothing", now=now)
    document_ingest(feed=feed, body=titled("Harbour News Daily", "a"), now=now)
    assert Source.objects.get().title == "Harbour News Daily"


@pytest.mark.parametrize(
    ("titles", "agreed"),
    [
        (["BBC News - Sport", "BBC News - Home"], "BBC News"),
        (["The Paper", "The Post"], ""),
        (["Paper", ""], ""),
        (["Paper: all", "Paper"], ""),
        ([], ""),
        (["Über Wasser | Alle", "Über Wasser"], "Über Wasser"),
    ],
)
def test_titles_agree_in_whole_words(titles: list[str], agreed: str):
    assert title_agreed(titles) == agreed


def test_who_only_knows_a_sources_key_is_not_told_what_it_is_called(ada, ben):
    source = SubscriptionFactory(reader=ben, feed__title="Secret club").feed.source
    Source.objects.filter(pk=source.pk).update(title="Secret club")
    assert reader_source_titles(reader_id=ada.pk, keys=[source.pk]) == {}
    assert reader_source_titles(reader_id=ben.pk, keys=[source.pk]) == {source.pk: "Secret club"}
    FeedbackFactory(reader=ada, item=ItemFactory(source=source))
    assert reader_source_titles(reader_id=ada.pk, keys=[source.pk]) == {source.pk: "Secret club"}


def test_an_address_that_never_answers_tells_no_name_of_its_source(client, ada, ben):
    """A reader who adds an address as it is must not learn the title of another feed of that host."""
    source = SubscriptionFactory(reader=ben, feed__title="Secret club").feed.source
    Source.objects.filter(pk=source.pk).update(title="Secret club")
    silent = FeedFactory(source=source, url=f"https://{source.pk}/nothing", title="", state=Feed.State.ACTIVE)
    SubscriptionFactory(reader=ada, feed=silent)
    client.force_login(ada)
    for path in (
        "/ui/all",
        "/ui/sources",
        "/ui/search?q=a",
        "/ui/mutes",
        f"/ui/sources/{silent.pk}",
    ):
        page = client.get(path)
        assert page.status_code == 200 and "Secret club" not in page.content.decode(), path
    client.force_login(ben)
    assert "Secret club" in client.get("/ui/all").content.decode()


@pytest.mark.parametrize("reads", [True, False])
def test_no_setting_search_or_wish_that_names_a_source_tells_what_others_call_it(
    client, ada: Reader, ben: Reader, reads: bool
):
    """Also if Ada added an address of that host that never answers, by which she may set something."""
    source = SubscriptionFactory(reader=ben, feed__title="Secret club").feed.source
    Source.objects.filter(pk=source.pk).update(title="Secret club")
    if reads:
        url = f"https://{source.pk}/nothing"
        silent = FeedFactory(source=source, url=url, title="", state=Feed.State.ACTIVE)
        SubscriptionFactory(reader=ada, feed=silent)
    client.force_login(ada)
    secret = token_issue(reader=ada, name="app", scope="full", expires_at=None, now=timezone.now()).secret
    app = {"Authorization": f"GoogleLogin auth={secret}"}
    chosen = {"feed": str(silent.pk)} if reads else {}
    mute = {"kind": "source", "value": source.pk}
    within = {"kind": "word", "value": "lamp", "within": source.pk}
    pages = [
        client.post("/ui/searches/save", {"q": "harbour", "source": source.pk}, follow=True),
        client.get("/ui/all"),
        client.get("/api/searches"),
        client.get("/reader/api/0/tag/list?output=json", headers=app),
        client.get("/ui/mutes", mute),
        client.get("/ui/mutes", within),
        client.post("/ui/mutes/add", mute, follow=True),
        client.post("/ui/mutes/add", within, follow=True),
        client.get("/ui/mutes"),
        client.post("/ui/mutes/end", mute, follow=True),
        client.post("/ui/sources/preview", chosen | {"level": "more"}, follow=True),
        client.post("/ui/sources/change", chosen | {"do": "weigh", "level": "more"}, follow=True),
        client.post("/ui/wishes", {"words": f"more of {source.pk}"}),
        client.post("/ui/wishes", {"words": f"hide lamp in {source.pk}"}),
        client.post("/ui/wishes", {"words": f"save a search for lamp in {source.pk}"}),
        client.post("/ui/wishes", {"words": "remove the saved search harbour"}),
        client.get("/ui/config"),
        client.get("/ui/config/history"),
        client.get("/ui/today"),
    ]
    for page in pages:
        assert page.status_code < 500 and "secret club" not in page.content.decode().lower(), page.request
    accepted = [
        client.post("/ui/wishes/accept", {"draft": draft}, follow=True)
        for page in pages
        for draft in re.findall(r'name="draft" value="([^"]+)"', page.content.decode())
    ]
    assert accepted and all("secret club" not in page.content.decode().lower() for page in accepted)
