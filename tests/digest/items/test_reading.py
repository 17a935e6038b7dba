"""Reading and saving items, undoing both, and that neither concerns other readers."""

from datetime import timedelta

import pytest
from django.test import Client

from digest.errors import ItemNotFound
from digest.items.reading import (
    SAVED_PAGE,
    item_read,
    item_save,
    item_unread,
    items_read,
    items_saved,
    items_unread,
    readings_for,
)
from digest.items.selectors import item_for
from digest.models import Digest, Exposure, Feedback, Item, Reader, Reading, Subscription
from tests.support.browser import ago, fresh_item, suggested


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Ada's browser, signed in."""
    client.force_login(ada)
    return client


def is_read(reader: Reader, item: Item) -> bool:
    state = readings_for(reader_id=reader.pk, item_ids=[item.pk]).get(item.pk)
    return state is not None and state.read_at is not None


def saved(reader: Reader) -> list[str]:
    return [item.title for item in items_saved(reader_id=reader.pk).items]


def test_the_first_time_of_reading_and_saving_stays(ada: Reader, now):
    item, later = fresh_item(ada), now + timedelta(hours=1)
    assert item_read(reader=ada, item_id=item.pk, now=now) == now
    assert item_read(reader=ada, item_id=item.pk, now=later) == now
    assert item_save(reader=ada, item_id=item.pk, saved=True, now=later) == later
    assert item_save(reader=ada, item_id=item.pk, saved=True, now=now) == later
    assert Reading.objects.count() == 1


def test_reading_and_saving_are_independent(ada: Reader, now):
    item = fresh_item(ada, title="Lamp")
    item_save(reader=ada, item_id=item.pk, saved=True, now=now)
    assert not is_read(ada, item)
    item_read(reader=ada, item_id=item.pk, now=now)
    item_save(reader=ada, item_id=item.pk, saved=False, now=now)
    assert is_read(ada, item)
    assert item_unread(reader=ada, item_id=item.pk)
    assert not item_unread(reader=ada, item_id=item.pk)
    assert not Feedback.objects.exists()


def test_another_readers_item_is_not_found(ada: Reader, ben: Reader, now):
    item = fresh_item(ben, key="bens.example")
    for act in (
        lambda: item_read(reader=ada, item_id=item.pk, now=now),
        lambda: item_unread(reader=ada, item_id=item.pk),
        lambda: item_save(reader=ada, item_id=item.pk, saved=True, now=now),
    ):
        with pytest.raises(ItemNotFound):
            act()
    assert not Reading.objects.exists()


def test_a_saved_item_stays_after_its_subscription(ada: Reader, ben: Reader, now):
    item = fresh_item(ada, title="Lamp")
    item_save(reader=ada, item_id=item.pk, saved=True, now=now)
    Subscription.objects.all().delete()
    assert saved(ada) == ["Lamp"]
    assert item_for(reader_id=ada.pk, item_id=item.pk) == item
    assert item_for(reader_id=ben.pk, item_id=item.pk) is None
    item_save(reader=ada, item_id=item.pk, saved=False, now=now)
    assert saved(ada) == []


def test_undo_unmarks_only_the_items_marked_together(ada: Reader, now):
    items = [fresh_item(ada, hours=n + 1) for n in range(4)]
    item_read(reader=ada, item_id=items[0].pk, now=now - timedelta(hours=1))
    item_save(reader=ada, item_id=items[1].pk, saved=True, now=now)
    ids = [item.pk for item in items]
    assert items_read(reader=ada, item_ids=ids, now=now) == 3
    assert items_read(reader=ada, item_ids=ids, now=now + timedelta(hours=1)) == 0
    assert items_unread(reader=ada, item_ids=ids, at=now) == 3
    assert [is_read(ada, item) for item in items] == [True, False, False, False]


def test_saved_pages_hold_twenty_the_latest_first(page: Client, ada: Reader, now):
    for n in range(SAVED_PAGE + 1):
        item_save(
            reader=ada, item_id=fresh_item(ada, title=f"L{n}").pk, saved=True, now=now + timedelta(minutes=n)
        )
    first, second = (items_saved(reader_id=ada.pk, page=n) for n in (1, 2))
    assert (first.items[0].title, first.more, first.total) == ("L20", True, 21)
    assert ([item.title for item in second.items], second.more) == (["L0"], False)
    body = page.get("/ui/saved?page=2").content.decode()
    assert "L0" in body and "L20" not in body
    assert "There is no such page" in page.get("/ui/saved?page=9").content.decode()


def test_the_saved_page_costs_the_same_however_much_is_saved(
    page: Client, ada: Reader, now, django_assert_num_queries
):
    counts = []
    for n in range(12):
        item_save(reader=ada, item_id=fresh_item(ada, hours=n + 1).pk, saved=True, now=now)
        if n in {2, 11}:
            with django_assert_num_queries(counts[0] if counts else 19, exact=False) as caught:
                page.get("/ui/saved")
            counts.append(len(caught))
    assert counts[0] == counts[1]


def test_opening_an_item_marks_it_read_and_a_prefetch_does_not(page: Client, ada: Reader):
    item = fresh_item(ada)
    address = f"/ui/item/{item.pk}"
    page.get(address, headers={"Sec-Purpose": "prefetch;prerender"})
    page.get(address, headers={"Purpose": "prefetch"})
    page.head(address)
    assert not is_read(ada, item)
    page.get(address)
    assert is_read(ada, item)
    answer = page.post(f"{address}/unread")
    assert answer.url == "/"
    assert not is_read(ada, item)


def test_read_items_say_so_and_the_rest_are_counted(page: Client, ada: Reader, now):
    items = [fresh_item(ada, hours=n + 1) for n in range(3)]
    page.get("/")
    item_read(reader=ada, item_id=items[0].pk, now=now)
    body = page.get("/").content.decode()
    assert body.count('class="item read"') == 1
    assert "2 of 3 unread" in body
    assert ">Undo<" not in body


def test_the_order_stays_when_everything_is_read(page: Client, ada: Reader):
    for n in range(3):
        fresh_item(ada, hours=n + 1)
    before = [shown.item.pk for shown in page.get("/").context["shown"]]
    today = Digest.objects.get().date
    assert page.post(f"/ui/date/{today}/read").url == "/"
    assert [shown.item.pk for shown in page.get("/").context["shown"]] == before


def test_a_future_day_cannot_be_marked(page: Client, ada: Reader):
    day = page.get("/").context["date"] + timedelta(days=1)
    assert page.post(f"/ui/date/{day}/read").status_code == 404


@pytest.mark.parametrize(("value", "saves"), [("1", True), ("0", False), ("", False), ("yes", False)])
def test_the_save_button_returns_to_the_page(page: Client, ada: Reader, value: str, saves: bool):
    item = fresh_item(ada, title="Lamp")
    answer = page.post(f"/ui/item/{item.pk}/save", {"saved": value, "next": "/ui/search?q=lamp"})
    assert answer.url == f"/ui/search?q=lamp#item-{item.pk}"
    assert saved(ada) == (["Lamp"] if saves else [])


def test_saving_never_redirects_to_another_site(page: Client, ada: Reader):
    item = fresh_item(ada)
    answer = page.post(f"/ui/item/{item.pk}/save", {"saved": "1", "next": "https://evil.example/"})
    assert answer.url == f"/#item-{item.pk}"


def test_an_opened_digest_is_logged_once_and_a_prefetch_is_not(page: Client, ada: Reader):
    fresh_item(ada)
    page.get("/", headers={"Sec-Purpose": "prefetch"})
    page.head("/")
    assert not Exposure.objects.exists()
    page.get("/")
    page.get("/")
    assert Exposure.objects.filter(reader=ada, door="page").count() == 1


def test_waiting_suggestions_are_mentioned_on_todays_page_alone_until_dismissed_for_a_week(
    page: Client, ada: Reader
):
    suggested(ada)
    words = "1 suggestion</a> for your digest."
    assert words in page.get("/").content.decode()
    yesterday = page.get("/").context["date"] - timedelta(days=1)
    assert words not in page.get(f"/ui/date/{yesterday}").content.decode()
    page.post("/ui/nudge/dismiss")
    assert words not in page.get("/").content.decode()
    other_device = Client()
    other_device.force_login(ada)
    assert words not in other_device.get("/").content.decode()
    ada.refresh_from_db()
    assert ago(-6.9 * 24) < ada.nudge_quiet_until < ago(-7.1 * 24)
    Reader.objects.update(nudge_quiet_until=ago(0.001))
    assert words in page.get("/").content.decode()
    Reader.objects.update(suggestions_enabled=False)
    assert words not in page.get("/").content.decode()


def test_excluded_items_are_counted_below_the_digest(page: Client, ada: Reader):
    fresh_item(ada)
    page.get("/")
    Digest.objects.update(left_out={"below": 7, "source_cap": 2}, built_at=ago(0.1))
    body = page.get("/").content.decode()
    assert "9 more were left out: why" in body
    assert f"/ui/date/{Digest.objects.get().date}/left-out" in body
