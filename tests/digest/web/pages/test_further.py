"""After the last item of today: the items left, the next thirty, and the handling of read articles."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from digest.daily.services import digest_build
from digest.daily.store import exposures_log
from digest.feedback.services import feedback_give
from digest.items.reading import item_open
from digest.models import Exposure, Item, Reader
from tests.support.browser import display_form
from tests.support.factories import FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db
TODAY, FURTHER = "/", "/ui/today/further"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def page(ada: Reader) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def shelf(reader: Reader, count: int, sources: int = 8) -> list[Item]:
    """Return items of some sources, ten minutes apart, that `reader` gets."""
    feeds = [FeedFactory(source=SourceFactory(key=f"s{n}.example")) for n in range(sources)]
    for feed in feeds:
        SubscriptionFactory(reader=reader, feed=feed)
    now = timezone.now()
    return [
        ItemFactory(
            source=feeds[n % sources].source,
            feed=feeds[n % sources],
            title=f"Item {n}",
            published_at=now - timedelta(minutes=10 * n + 1),
        )
        for n in range(count)
    ]


def listed(page: Client, address: str) -> list[int]:
    return [entry.item.pk for entry in page.get(address).context["shown"]]


def test_a_short_page_says_that_this_is_all_that_is_new(page, ada):
    shelf(ada, 7)
    body = page.get(TODAY).content.decode()
    assert "That was today. Nothing else is new." in body and FURTHER not in body


def test_after_thirty_come_the_next_thirty_until_all_was_shown_once(page, ada):
    items = shelf(ada, 70)
    body = page.get(TODAY).content.decode()
    assert f'href="{FURTHER}"' in body and "Next 30" in body and "that is all" not in body
    pages = [listed(page, address) for address in (TODAY, FURTHER, f"{FURTHER}?page=3")]
    assert [len(one) for one in pages] == [30, 30, 10]
    assert sorted(pk for one in pages for pk in one) == sorted(item.pk for item in items)
    assert "What you have read or rated is not here." in page.get(FURTHER).content.decode()
    last = page.get(f"{FURTHER}?page=3").content.decode()
    assert "That was all of the last seven days." in last and "Next 30" not in last
    assert "<h2>That was all</h2>" in page.get(f"{FURTHER}?page=4").content.decode()
    assert page.get(f"{FURTHER}?page=41").status_code == page.get(f"{FURTHER}?page=1").status_code == 404


def test_a_further_page_was_a_page_exposures_tell_its_ranks(page, ada):
    shelf(ada, 40)
    second = listed(page, FURTHER)
    page.get(FURTHER)
    rows = Exposure.objects.filter(reader=ada, rank__gt=30).order_by("rank")
    assert [(row.item_id, row.rank, row.door) for row in rows] == [
        (pk, rank, "page") for rank, pk in enumerate(second, 31)
    ]


def test_its_items_can_be_marked_as_read_and_only_those(page, ada, ben):
    shelf(ada, 40)
    second = listed(page, FURTHER)
    form = {"page": "2", "item": [str(pk) for pk in second[:4]] + ["999999"]}
    assert "4 items marked as read at" in page.post(f"{FURTHER}/read", form, follow=True).content.decode()
    assert set(ada.readings.values_list("item_id", flat=True)) == {*second[:4]}
    assert not ben.readings.exists()


def seen_twice(reader: Reader) -> None:
    """Show the reader the pages of yesterday and of the day before."""
    now = timezone.now()
    for n in (2, 1):
        at = now - n * DAY
        digest = digest_build(reader=reader, date=timezone.localdate(at, reader.zone), now=at)
        exposures_log(digest=digest, door="page", now=at)


def test_who_has_seen_it_all_reads_that_and_finds_what_was_passed_over(page, ada):
    for item in shelf(ada, 5):
        Item.objects.filter(pk=item.pk).update(
            dated_at=item.dated_at - 3 * DAY,
            published_at=item.dated_at - 3 * DAY,
            first_seen_at=item.dated_at - 3 * DAY,
        )
    seen_twice(ada)
    body = page.get(TODAY).content.decode()
    assert "You are up to date" in body and "What you passed over this week" in body
    assert len(listed(page, FURTHER)) == 5
    today = timezone.localdate(timezone=ada.zone)
    left_out = page.get(reverse("digest:left_out", args=[today])).content.decode()
    assert "5 stood on two of your pages." in left_out


def test_who_was_never_asked_is_asked_once_and_only_if_something_was_read(page, ada):
    Reader.objects.update(read_gone=None)
    items = shelf(ada, 3)
    assert "be gone the next day?" not in page.get(TODAY).content.decode()
    item_open(reader=ada, item_id=items[0].pk, door="page", now=timezone.now())
    assert "1 article here was read already." in page.get(TODAY).content.decode()
    said = page.post("/ui/today/read-gone", {"read_gone": "1"}, follow=True).content.decode()
    assert "What you have read is gone the next day." in said and "read already" not in said
    ada.refresh_from_db()
    assert ada.read_gone is True
    page.post("/ui/today/read-gone", {"read_gone": "0"})
    ada.refresh_from_db()
    assert ada.read_gone is False


def test_settings_change_it_and_leave_the_rest_alone(page, ada):
    assert '<option value="1" selected>is gone' in page.get("/ui/display").content.decode()
    page.post("/ui/display", display_form(hide_read="on", read_gone="0"))
    ada.refresh_from_db()
    assert (ada.hide_read, ada.read_gone) == (True, False)
    page.post("/ui/display", display_form(read_gone="0"))
    ada.refresh_from_db()
    assert (ada.hide_read, ada.read_gone) == (False, False)


def test_a_further_page_costs_the_same_for_many_items(page, ada, django_assert_max_num_queries):
    shelf(ada, 100)
    page.get(TODAY)
    with django_assert_max_num_queries(45):
        page.get(f"{FURTHER}?page=3")


@pytest.mark.parametrize("read_gone", [True, False, None])
def test_rated_and_read_articles_are_on_no_further_page(page, ada, read_gone):
    Reader.objects.update(read_gone=read_gone)
    items = shelf(ada, 40)
    yesterday = timezone.now() - DAY
    feedback_give(reader=ada, item_id=items[39].pk, useful=True, now=yesterday)
    item_open(reader=ada, item_id=items[38].pk, door="page", now=yesterday)
    assert not {items[39].pk, items[38].pk} & {*listed(page, FURTHER)}


def test_what_is_called_not_useful_leaves_a_further_page_too(page, ada):
    shelf(ada, 70)
    first = listed(page, FURTHER)[0]
    now = timezone.now()
    feedback_give(reader=ada, item_id=first, useful=False, now=now)
    found = page.get(FURTHER).context
    assert first not in [one.item.pk for one in found["shown"]]
    assert [one.item.pk for one in found["aside"]] == [first]
