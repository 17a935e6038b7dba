"""The line with Undo after items were marked as read: on every list, until the reader's next day."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client

from digest.daily import catch_up
from digest.daily.services import digest_refresh
from digest.models import Item, Reader, Reading, Subscription
from digest.web.pages import marked
from tests.support.browser import fresh_item
from tests.support.factories import ItemFactory

LISTS = ["/", "/ui/all", "/ui/all?unread=1", "/ui/search?q=no", "/ui/today/further", "/ui/catch-up"]
UNDO = "/ui/read/undo"


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Ada's browser, signed in, with four items."""
    client.force_login(ada)
    for n in range(4):
        fresh_item(ada, hours=n + 1, key="gazette.example" if n else "lamp.example", title=f"No {n}")
    return client


def line_of(page: Client, address: str) -> str:
    body = page.get(address).content.decode()
    found = re.search(r'class="marked.*?<span>(?:<bdi>.*?</bdi>: )?(.*?)</span>', body)
    return found[1] if found else ""


def undo(page: Client, address: str) -> str:
    """Press Undo on a page; return where that leads."""
    body = page.get(address).content.decode().partition('class="marked')[2]
    at, back = (re.search(rf'name="{name}" value="([^"]+)"', body)[1] for name in ("undo", "next"))
    return page.post(UNDO, {"undo": at, "next": back}).url


def read(reader: Reader) -> set[str]:
    rows = Reading.objects.filter(reader=reader, read_at__isnull=False)
    return {*rows.values_list("item__title", flat=True)}


def mark_today(page: Client) -> None:
    date = page.get("/").context["date"]
    page.post(f"/ui/date/{date}/read")


@pytest.mark.parametrize("address", LISTS)
def test_the_way_back_stays_on_every_list_after_the_page_was_left(page: Client, ada: Reader, address: str):
    page.get("/")
    page.post("/ui/all/read", {"all": "1"})
    page.get("/ui/account")
    page.get(f"/ui/item/{Reading.objects.first().item_id}")
    assert line_of(page, address).startswith("4 items marked as read at ")
    assert undo(page, address) == address
    assert read(ada) == set() and line_of(page, address) == ""


def test_what_came_into_today_after_its_page_was_made_stays_unread(page: Client, ada: Reader):
    first = page.get("/").context
    late = fresh_item(ada, hours=0.1, title="Came in since")
    digest_refresh(reader=ada, now=marked.timezone.now())
    Item.objects.filter(pk=late.pk).update(first_seen_at=marked.timezone.now())
    page.post(f"/ui/date/{first['date']}/read", {"seen": first["seen"]})
    assert "Came in since" in {one.item.title for one in page.get("/").context["shown"]}
    assert "Came in since" not in read(ada) and len(read(ada)) == 4


def test_today_is_undone_though_an_item_was_opened_since(page: Client, ada: Reader):
    mark_today(page)
    late = fresh_item(ada, hours=0.1, title="Came in since")
    page.get(f"/ui/item/{late.pk}")
    undo(page, "/")
    assert read(ada) == {"Came in since"}


def test_what_was_marked_on_the_phone_is_undone_on_the_desk(page: Client, ada: Reader):
    desk = Client()
    desk.force_login(ada)
    page.post("/ui/all/read", {"all": "1", "source": "gazette.example"})
    desk.post("/ui/all/read", {"all": "1"})
    assert line_of(desk, "/") == line_of(page, "/") and line_of(page, "/").startswith("1 item marked")
    undo(page, "/ui/all")
    undo(desk, "/ui/all")
    assert read(ada) == set() and line_of(page, "/") == line_of(desk, "/") == ""


def test_another_reader_sees_and_undoes_nothing_of_it(page: Client, ada: Reader, ben: Reader):
    page.post("/ui/all/read", {"all": "1"})
    his = Client()
    his.force_login(ben)
    assert line_of(his, "/ui/all") == ""
    at = Reader.objects.get(pk=ada.pk).undo_steps["marked"][0]["at"]
    his.post(UNDO, {"undo": at, "next": "/"})
    assert len(read(ada)) == 4 and line_of(page, "/")


def test_a_second_press_of_undo_says_nothing(page: Client, ada: Reader):
    page.post("/ui/all/read", {"all": "1"})
    at = Reader.objects.get(pk=ada.pk).undo_steps["marked"][0]["at"]
    for _ in range(2):
        page.post(UNDO, {"undo": at, "next": "/"})
    body = page.get("/").content.decode()
    assert "4 items unread again." in body and "0 items" not in body


def test_two_markings_are_undone_one_after_the_other(page: Client, ada: Reader):
    page.post("/ui/all/read", {"all": "1", "source": "gazette.example"})
    page.post("/ui/all/read", {"all": "1"})
    assert line_of(page, "/").startswith("1 item marked")
    undo(page, "/")
    assert read(ada) == {"No 1", "No 2", "No 3"} and line_of(page, "/").startswith("3 items marked")
    undo(page, "/ui/all")
    assert read(ada) == set() and line_of(page, "/") == ""


def test_what_a_search_found_is_marked_as_read_and_nothing_else(page: Client, ada: Reader, ben: Reader):
    theirs = ItemFactory(title="Not hers")
    body = page.get("/ui/search?q=no&source=gazette.example").content.decode()
    items, back = (re.search(rf'name="{name}" value="([^"]+)"', body)[1] for name in ("items", "next"))
    typed = {"these": "1", "next": unescape(back), "items": f"{items},{theirs.pk},x,{'9' * 40}"}
    assert page.post("/ui/all/read", typed).url == "/ui/search?q=no&source=gazette.example"
    assert read(ada) == {"No 1", "No 2", "No 3"} and line_of(page, "/").startswith("3 items marked")
    assert 'name="these"' not in page.get(unescape(back)).content.decode()
    undo(page, unescape(back))
    assert read(ada) == set()
    assert page.post("/ui/all/read", typed | {"next": "//evil.example/"}).url == "/ui/all"


def test_the_line_goes_with_the_readers_day(page: Client, ada: Reader, monkeypatch):
    page.post("/ui/all/read", {"all": "1"})
    assert line_of(page, "/ui/all")
    later = marked.timezone.now() + timedelta(days=1)
    monkeypatch.setattr("digest.templatetags.digest_pages.timezone.now", lambda: later)
    assert line_of(page, "/ui/all") == ""


def test_who_wants_no_counts_is_told_without_one(page: Client, ada: Reader):
    Reader.objects.filter(pk=ada.pk).update(hide_counts=True)
    page.post("/ui/all/read", {"all": "1"})
    assert re.fullmatch(r"Marked as read at \d+:\d\d\.", line_of(page, "/ui/all"))


def test_marking_nothing_offers_no_way_back(page: Client, ada: Reader):
    page.post("/ui/all/read", {"all": "1"})
    undo(page, "/")
    page.post("/ui/all/read", {"all": "1", "source": "nowhere.example"})
    assert line_of(page, "/") == ""


@pytest.mark.parametrize("at", ["", "yesterday", "2026-13-01T00:00", "2026-03-01T12:00"])
def test_an_invalid_moment_is_not_found(page: Client, at: str):
    assert page.post(UNDO, {"undo": at}).status_code == 404


def test_catching_up_is_undone_from_anywhere(page: Client, ada: Reader, monkeypatch):
    since = marked.timezone.now() - timedelta(days=4)
    monkeypatch.setattr(catch_up, "away_since", lambda **_: since)
    body = page.get("/ui/catch-up").content.decode()
    page.post("/ui/catch-up/read", {"item": re.findall(r'name="item" value="(\d+)"', body)})
    assert len(read(ada)) == 4
    assert undo(page, "/ui/all?unread=1") == "/ui/all?unread=1" and read(ada) == set()


def test_the_line_is_loud_at_first_because_it_may_have_been_a_mistake(page: Client, ada: Reader, monkeypatch):
    page.post("/ui/all/read", {"all": "1"})
    assert 'class="marked row sans no-print notice"' in page.get("/").content.decode()
    later = marked.timezone.now() + timedelta(minutes=11)
    monkeypatch.setattr("digest.templatetags.digest_pages.timezone.now", lambda: later)
    assert 'class="marked row sans no-print notice"' not in page.get("/").content.decode()


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ({"all": "1"}, "All items"),
        ({"all": "1", "folder": "News"}, "News"),
        ({"all": "1", "source": "gazette.example", "unread": "1"}, "Gazette"),
        ({"older": "1", "folder": "News"}, "News"),
    ],
)
def test_the_line_names_the_list_that_it_is_about_wherever_it_is_shown(page, ada: Reader, typed, name):
    fresh_item(ada, hours=30, key="gazette.example", title="Old")
    Subscription.objects.update(folder="News")
    page.post("/ui/all/read", typed)
    for address in LISTS:
        assert f"<span><bdi>{name}</bdi>: " in page.get(address).content.decode()


def test_the_line_names_today_and_the_search_that_it_is_about(page: Client, ada: Reader):
    mark_today(page)
    assert "<span><bdi>Today</bdi>: 4 items marked" in page.get("/ui/all").content.decode()
    undo(page, "/ui/all")
    items = ",".join(map(str, Item.objects.values_list("pk", flat=True)))
    page.post("/ui/all/read", {"these": "1", "next": "/ui/search?q=no&order=newest", "items": items})
    assert "<span><bdi>Search “no”</bdi>: 4 items marked" in page.get("/").content.decode()


def test_what_the_release_before_marked_has_no_name_and_can_be_undone(page: Client, ada: Reader):
    page.post("/ui/all/read", {"all": "1"})
    steps = Reader.objects.get(pk=ada.pk).undo_steps
    del steps["marked"][0]["place"]
    Reader.objects.filter(pk=ada.pk).update(undo_steps=steps)
    assert "<span>4 items marked" in page.get("/ui/all").content.decode()
    undo(page, "/ui/all")
    assert read(ada) == set()
