"""A reader's own name of a feed: every page that names the source uses it, and nobody else sees it."""

import pytest
from django.test import Client
from django.utils import timezone

from digest.daily.services import digest_build
from digest.days import day_of
from digest.feedback.naming import article_name
from digest.items.own_names import own_names
from digest.items.selectors import reader_source_titles, source_titles
from digest.models import Feed, Item, Reader, Subscription
from ranking.services import ConfigEdit, config_edit
from tests.support.browser import fresh_item, subscribe
from tests.support.factories import FeedbackFactory, FeedFactory, SubscriptionFactory

KEY, TITLE, OWN = "gazette.example", "Gazette of the Publisher", "My morning paper"


@pytest.fixture
def item(client: Client, ada: Reader) -> Item:
    """An item of a feed that Ada calls otherwise, rated, saved and named, in her digest of today."""
    subscribe(ada, KEY, TITLE)
    Subscription.objects.filter(reader=ada).update(own_name=OWN)
    Feed.objects.update(title=TITLE)
    found = fresh_item(ada, title="Harbour lamp", text="A harbour lamp. " * 9)
    now = timezone.now()
    FeedbackFactory(reader=ada, item=fresh_item(ada, title="Rated", hours=30), useful=True, at=now)
    edit = ConfigEdit(source_weights={KEY: 1.3})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=now)
    article_name(reader=ada, item_id=found.pk, now=now)
    digest_build(reader=ada, date=day_of(now, ada.zone), now=now)
    client.force_login(ada)
    client.post(f"/ui/item/{found.pk}/save", {"saved": "1"})
    return found


@pytest.mark.parametrize(
    "address",
    [
        *("/", "/ui/all", f"/ui/all?source={KEY}", "/ui/search?q=harbour", "/ui/saved", "/ui/taste"),
        *("/ui/mutes?item={item}", f"/ui/mutes?kind=source&value={KEY}", "/ui/history/settings"),
        *("/ui/item/{item}?pane=1", "/ui/history/trends"),
    ],
)
def test_a_page_that_names_a_source_uses_the_readers_own_name(client: Client, item: Item, address: str):
    answer = client.get(address.format(item=item.pk))
    assert answer.status_code == 200
    body = answer.content.decode().replace(f"from the feed “<bdi>{TITLE}</bdi>”", "")
    assert OWN in body
    assert TITLE not in body


def test_the_page_of_a_source_says_what_its_items_count(client: Client, ada: Reader, item: Item):
    body = client.get(f"/ui/sources/{item.feed_id}").content.decode()
    assert f"Items from {OWN} count more than usual" in body


def test_other_readers_see_the_publishers_name(client: Client, ben: Reader, item: Item):
    SubscriptionFactory(reader=ben, feed=item.feed)
    client.force_login(ben)
    body = client.get("/ui/all").content.decode()
    assert TITLE in body and OWN not in body


def test_a_source_of_two_feeds_keeps_its_title(ada: Reader, item: Item):
    second = SubscriptionFactory(
        reader=ada, feed=FeedFactory(source=item.source, url=f"https://{KEY}/other.xml")
    )
    names = own_names(reader_id=ada.pk)
    assert names.feeds == {item.feed_id: OWN} and names.sources == {}
    second.delete()
    assert own_names(reader_id=ada.pk).over(source_titles(keys=[KEY])) == {KEY: OWN}


def test_an_own_name_tells_nothing_about_what_others_call_a_feed(ada: Reader, ben: Reader):
    mine = subscribe(ada, KEY, TITLE)
    Feed.objects.update(title="")
    assert reader_source_titles(reader_id=ada.pk, keys=[KEY]) == {}
    Subscription.objects.filter(pk=mine.pk).update(own_name=OWN)
    assert reader_source_titles(reader_id=ada.pk, keys=[KEY]) == {KEY: OWN}
