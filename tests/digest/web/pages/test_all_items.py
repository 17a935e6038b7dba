"""All items: filters, marking and undo, display, empty states, query counts; and the API of lists."""

import json
import re
from datetime import timedelta
from html import unescape
from typing import get_args
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from digest.accounts.tokens import token_issue
from digest.items.reading import readings_for
from digest.items.search import Order
from digest.models import Feed, Item, Reader, Reading, Subscription
from ranking.entities import Mute
from ranking.services import mute_set
from tests.support.browser import display_form, fresh_item, messages_in, subscribe
from tests.support.factories import FeedbackFactory, FeedFactory, SubscriptionFactory

ALL, READ = "/ui/all", "/ui/all/read"
ORDERS = get_args(Order)
DISPLAY, UNDO = "/ui/display", "/ui/read/undo"


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Ada's browser, signed in."""
    client.force_login(ada)
    return client


def titles(page: Client, query: str = "") -> list[str]:
    answer = page.get(f"{ALL}{query}")
    assert answer.status_code == 200
    return [row.shown.item.title for row in answer.context["rows"]]


def read_titles(reader: Reader) -> set[str]:
    rows = Reading.objects.filter(reader=reader, read_at__isnull=False)
    return {*rows.values_list("item__title", flat=True)}


def shelf(ada: Reader) -> list[Item]:
    """Three items of two sources, the newest first."""
    subscribe(ada, "gazette.example", "Gazette")
    Subscription.objects.filter(reader=ada).update(folder="News")
    subscribe(ada, "lamps.example", "Lamps")
    keys = ("gazette.example", "lamps.example", "gazette.example")
    return [
        fresh_item(ada, hours=n + 1, key=key, title=f"No {n}", categories=["Light"])
        for n, key in enumerate(keys)
    ]


def test_filters_leave_what_they_name(page: Client, ada: Reader):
    rows = shelf(ada)
    feed = Feed.objects.get(source="lamps.example")
    assert titles(page) == ["No 0", "No 1", "No 2"]
    assert titles(page, "?source=gazette.example") == ["No 0", "No 2"]
    assert titles(page, "?folder=News") == ["No 0", "No 2"]
    assert titles(page, "?folder=") == titles(page, f"?feed={feed.pk}") == ["No 1"]
    assert titles(page, "?order=best") == ["No 0", "No 1", "No 2"]
    page.post(READ, {"read_item": rows[0].pk})
    page.post(f"/ui/item/{rows[2].pk}/save", {"saved": "1"})
    assert titles(page, "?unread=1") == ["No 1", "No 2"]
    assert titles(page, "?saved=1") == ["No 2"]
    assert titles(page, "?unread=1&order=best&source=gazette.example") == ["No 2"]


@pytest.mark.parametrize(
    "query",
    [
        *("feed=x", "feed=" + "9" * 30, "before=x", "order=best&before=1_x_2", "folder=%00"),
        *("source=%00" + "a" * 900, "before=9.9&unread=1&saved=1"),
    ],
)
def test_nothing_that_can_be_typed_breaks_the_page(page: Client, ada: Reader, query: str):
    shelf(ada)
    assert page.get(f"{ALL}?{query}").status_code == 200


def test_older_pages_are_linked_by_key_and_lead_through_everything(page: Client, ada: Reader):
    for n in range(45):
        fresh_item(ada, hours=n + 1, title=f"No {n}")
    Reader.objects.update(list_size=20)
    for order in ("newest", "best"):
        address, found = f"{ALL}?order={order}", []
        while address:
            answer = page.get(address)
            found += [row.shown.item.title for row in answer.context["rows"]]
            address = answer.context["older"]
        assert found == [f"No {n}" for n in range(45)], order


def test_each_row_says_why_and_has_thumbs_and_saving(page: Client, ada: Reader):
    item = shelf(ada)[0]
    body = page.get(ALL).content.decode()
    row = body[body.index(f'id="item-{item.pk}"') :].split("</article>")[0]
    assert "as it does" in row
    for key in ("u", "d", "s", "m"):
        assert f'data-key="{key}"' in row
    assert f'href="/ui/item/{item.pk}" data-open' in row
    assert f'href="{item.url}" target="_blank" rel="noopener noreferrer" data-original' in row


def test_the_side_list_counts_unread_items_by_source_and_folder(page: Client, ada: Reader):
    rows = shelf(ada)
    page.post(READ, {"read_item": rows[2].pk})
    answer = page.get(ALL)
    assert answer.context["total"].unread == answer.context["unread"] == 2
    named = {
        f.line.name: (f.line.unread, [(o.name, o.unread) for o in f.feeds]) for f in answer.context["side"]
    }
    assert named == {"News": (1, [("Gazette", 1)]), "In no folder": (1, [("Lamps", 1)])}
    assert page.get(f"{ALL}?source=gazette.example").context["unread"] == 1


def test_the_side_list_shows_where_a_source_is_that_one_came_to_by_its_name(page: Client, ada: Reader):
    shelf(ada)
    side = page.get(f"{ALL}?source=gazette.example").context["side"]
    assert [(folder.open, [line.current for line in folder.feeds]) for folder in side] == [
        (True, [True]),
        (False, [False]),
    ]
    second = FeedFactory(source_id="gazette.example", url="https://gazette.example/second")
    SubscriptionFactory(reader=ada, feed=second)  # in no folder
    side = page.get(f"{ALL}?source=gazette.example").context["side"]
    assert [folder.open for folder in side] == [True, True]
    assert not any(line.current for folder in side for line in folder.feeds)


def test_the_list_of_a_folder_unfolds_no_folder(page: Client, ada: Reader):
    shelf(ada)
    side = page.get(f"{ALL}?folder=News").context["side"]
    assert [(folder.line.current, folder.open) for folder in side] == [(True, False), (False, False)]


def marked(page: Client, **typed: object):
    """Return the answer to marking, and the page it leads to."""
    answer = page.post(READ, typed)
    assert answer.status_code == 302
    return page.get(answer.url)


def taken_back(page: Client, after: HttpResponse):
    """Return the page that Undo on the page `after` leads to."""
    body = after.content.decode()
    fields = dict(re.findall(r'name="(undo|next)" value="([^"]*)"', body.partition('class="marked')[2]))
    answer = page.post(UNDO, fields | {"next": unescape(fields["next"])})
    return page.get(answer.url)


def test_one_item_is_read_and_unread_again_without_a_script(page: Client, ada: Reader):
    item = shelf(ada)[1]
    answer = page.post(READ, {"read_item": item.pk, "source": "lamps.example"})
    assert answer.url == f"{ALL}?source=lamps.example#item-{item.pk}"
    assert read_titles(ada) == {"No 1"}
    page.post(READ, {"unread_item": item.pk})
    assert read_titles(ada) == set()


@pytest.mark.parametrize("side", ["above", "below"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("more", [{}, {"category": "Light"}, {"saved": "1"}])
def test_everything_above_or_below_a_row_is_read_and_undo_takes_exactly_that_back(
    page: Client, ada: Reader, order: str, side: str, more: dict[str, str]
):
    for item in shelf(ada):
        page.post(f"/ui/item/{item.pk}/save", {"saved": "1"})
    page.post(READ, {"read_item": Item.objects.get(title="No 1").pk})
    shown = page.get(ALL, {"order": order, **more})
    rows = shown.context["rows"]
    row, first, last = (rows[2], rows[0], rows[1]) if side == "above" else (rows[0], rows[1], rows[2])
    after = marked(page, **{side: row.key}, order=order, seen=shown.context["seen"], **more)
    assert read_titles(ada) == {first.shown.item.title, last.shown.item.title}
    assert b"1 item marked as read" in after.content
    undone = taken_back(page, after)
    assert "1 item unread again" in messages_in(undone.content.decode())
    assert read_titles(ada) == {"No 1"}


@pytest.mark.parametrize(
    "query", ["", "&source=gazette.example", "&folder=News", "&category=Light", "&saved=1", "&unread=1"]
)
def test_the_oldest_come_first_in_every_list_page_by_page(page: Client, ada: Reader, query: str):
    for n in range(5):
        item = fresh_item(ada, hours=n + 1, title=f"No {n}", categories=["Light"])
        page.post(f"/ui/item/{item.pk}/save", {"saved": "1"})
    Subscription.objects.filter(reader=ada).update(folder="News")
    Reader.objects.update(list_size=2)
    shown, pages = f"{ALL}?order=oldest{query}", []
    while shown:
        answer = page.get(shown)
        pages.append([row.shown.item.title for row in answer.context["rows"]])
        shown = answer.context["older"]
    assert pages == [["No 4", "No 3"], ["No 2", "No 1"], ["No 0"]]
    assert [order.name for order in answer.context["orders"] if order.current] == ["Oldest"]
    lines = answer.context["side"][0].feeds
    assert all("order=oldest" in line.href for line in lines), "the lists beside it keep the order"


def test_the_oldest_of_a_category_are_those_of_the_newest_items(
    page: Client, ada: Reader, monkeypatch: pytest.MonkeyPatch
):
    """Among thousands of older items without the category nobody looks for it."""
    monkeypatch.setattr("digest.items.listing.CATEGORY_ITEMS_MAX", 3)
    for n in range(5):
        fresh_item(ada, hours=n + 1, title=f"No {n}", categories=["Light"] if n < 2 else [])
    assert titles(page, "?category=Light&order=oldest") == ["No 1", "No 0"]


@pytest.mark.parametrize("order", ORDERS)
def test_all_that_a_filter_shows_is_read_and_nothing_else(page: Client, ada: Reader, order: str):
    shelf(ada)
    seen = page.get(ALL).context["seen"]
    late = fresh_item(ada, hours=0, title="Came in since")
    Item.objects.filter(pk=late.pk).update(first_seen_at=timezone.now() + timedelta(minutes=1))
    after = marked(page, all=1, source="gazette.example", seen=seen, order=order)
    assert read_titles(ada) == {"No 0", "No 2"}
    assert b"2 items marked as read" in after.content
    taken_back(page, after)
    assert read_titles(ada) == set()
    assert "Nothing there was unread" in messages_in(
        marked(page, all=1, source="nowhere.example", seen=seen).content.decode()
    )


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("action", ["all", "above", "below", "older"])
def test_whoever_marks_many_is_asked_once_with_their_number(
    page: Client, ada: Reader, monkeypatch: pytest.MonkeyPatch, order: str, action: str
):
    monkeypatch.setattr("digest.web.pages.all_items.ASK_ABOVE", 2)
    for n in range(7):
        fresh_item(ada, hours=n + (1 if n < 4 else 30), title=f"No {n}")
    rows = page.get(f"{ALL}?source=gazette.example&order={order}").context["rows"]
    typed = {"all": 1, "above": rows[3].key, "below": rows[3].key, "older": 1}[action]
    asked = page.post(READ, {action: typed, "source": "gazette.example", "order": order})
    count = 7 if action == "all" else 3
    body = asked.content.decode()
    assert f"Mark {count} articles as read?" in body and read_titles(ada) == set()
    fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', body.partition("<main")[2]))
    after = marked(page, **fields)
    assert len(read_titles(ada)) == count
    assert f"{count} items marked as read".encode() in after.content
    taken_back(page, after)
    assert read_titles(ada) == set()


def test_whoever_marks_a_few_is_not_asked(page: Client, ada: Reader, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("digest.web.pages.all_items.ASK_ABOVE", 3)
    shelf(ada)
    marked(page, all=1)
    assert len(read_titles(ada)) == 3


def test_a_row_that_is_no_longer_there_marks_nothing(page: Client, ada: Reader):
    shelf(ada)
    for order in ORDERS:
        for side in ("above", "below"):
            assert "has changed" in messages_in(marked(page, **{side: "1.x"}, order=order).content.decode())
            assert page.post(READ, {side: ""}).status_code == 404
    assert page.post(READ, {"read_item": "x"}).status_code == 404
    assert page.post(READ, {"read_item": 10**30}).status_code == 404
    assert read_titles(ada) == set()


def test_no_other_readers_items_are_listed_marked_or_undone(page: Client, ada: Reader, ben: Reader):
    theirs = fresh_item(ben, key="bens.example", title="Ben's own")
    Reading.objects.create(reader=ben, item=theirs, article=theirs.article, read_at=timezone.now())
    feed = Feed.objects.get(source="bens.example")
    for query in ("", "?source=bens.example", f"?feed={feed.pk}", "?saved=1&source=bens.example"):
        answer = page.get(f"{ALL}{query}")
        assert b"Ben&#x27;s own" not in answer.content and b"Bens</bdi>" not in answer.content
    at = Reading.objects.get(reader=ben).read_at
    page.post(UNDO, {"undo": at.isoformat()})
    page.post(READ, {"all": 1, "source": "bens.example"})
    assert page.post(READ, {"read_item": theirs.pk}).status_code == 404
    assert read_titles(ben) == {"Ben's own"}
    assert not Reading.objects.filter(reader=ada).exists()


def test_display_is_the_readers_own_setting(page: Client, ada: Reader, ben: Reader):
    fresh_item(ada, text="The beginning of a text.")
    assert b"The beginning of a text" in page.get(ALL).content
    chosen = display_form(theme="dark", list_size="20", list_density="compact", read_on_scroll="on")
    assert page.post(DISPLAY, chosen).url == DISPLAY
    ada.refresh_from_db()
    assert (ada.list_size, ada.list_density, ada.read_on_scroll) == (20, "compact", True)
    body = page.get(ALL).content
    assert b"The beginning of a text" not in body and b"data-read-on-scroll" in body
    ben.refresh_from_db()
    assert (ben.list_size, ben.list_density, ben.read_on_scroll) == (50, "comfortable", False)
    for wrong in ({"list_size": "7"}, {"list_density": "airy"}, {"theme": "neon"}):
        assert page.post(DISPLAY, chosen | wrong).status_code == 422


def test_every_empty_list_says_what_to_do(page: Client, ada: Reader):
    def words(query: str = "") -> str:
        return re.search(
            r'<div class="empty">.*?</div>', page.get(f"{ALL}{query}").content.decode(), re.DOTALL
        )[0]

    assert "/ui/sources" in words() and "no source yet" in words()
    item = fresh_item(ada)
    assert "You do not read this" in words("?source=nowhere.example")
    assert "Nothing saved" in words("?saved=1")
    assert "Nothing further" in words("?before=1.1")
    page.post(READ, {"read_item": item.pk})
    assert "All read" in words("?unread=1") and f'href="{ALL}"' in words("?unread=1")
    Item.objects.update(dated_at=timezone.now() - timedelta(days=20))
    assert "last seven days" in words("?order=best")
    Item.objects.all().delete()
    assert "No items yet" in words()


def test_every_source_name_leads_to_its_items(page: Client, ada: Reader):
    item = shelf(ada)[1]
    feed = Feed.objects.get(source="lamps.example")
    source = f'<a href="{ALL}?source=lamps.example">'
    page.post(f"/ui/item/{item.pk}/save", {"saved": "1"})
    for address in ("/", f"/ui/item/{item.pk}", "/ui/saved", "/ui/search?q=No", ALL):
        assert source in page.get(address).content.decode(), address
    for address in ("/ui/sources", f"/ui/sources/{feed.pk}"):
        assert f'<a href="{ALL}?source=lamps.example' in page.get(address).content.decode(), address


@pytest.mark.parametrize("query", ["", "?order=best", "?unread=1", "?source=gazette.example", "?saved=1"])
def test_a_page_costs_the_same_queries_for_ten_items_and_forty(page: Client, ada: Reader, query: str):
    def cost(items: int) -> int:
        for n in range(items):
            item = fresh_item(ada, hours=n + 1, key="gazette.example")
            Reading.objects.create(reader=ada, item=item, article=item.article, saved_at=timezone.now())
        for n in range(items // 10):
            FeedbackFactory(reader=ada, item=fresh_item(ada, key=f"s{items}{n}.example"))
        page.get(f"{ALL}{query}")
        with CaptureQueriesContext(connection) as caught:
            page.get(f"{ALL}{query}")
        return len(caught)

    first = cost(10)
    assert cost(30) == first <= 23  # one for saved searches


def listed(page: Client, **query: object) -> dict:
    answer = page.get("/api/items", query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_the_api_lists_what_the_page_lists_page_by_page(page: Client, ada: Reader):
    shelf(ada)
    for query in ({}, {"order": "best"}, {"source": "gazette.example"}, {"folder": "News"}, {"unread": True}):
        found, cursor = [], ""
        while cursor is not None:
            answer = listed(page, **query, limit=1, cursor=cursor)
            found += [row["title"] for row in answer["items"]]
            cursor = answer["cursor"]
        web = {**query, "unread": "1"} if "unread" in query else query
        assert found == [row.shown.item.title for row in page.get(ALL, web).context["rows"]]
    first = listed(page)["items"][0]
    assert (first["source"], first["source_title"], first["reasons"]) == (
        "gazette.example",
        "Gazette",
        [],
    )
    assert listed(page, source="gazette.example")["unread"] == 2


def test_the_api_refuses_a_cursor_of_no_page(page: Client, ada: Reader):
    for query in (
        {"cursor": "x"},
        {"cursor": "1.1", "order": "best"},
        {"cursor": "1_1.0_1", "order": "best"},
    ):
        answer = page.get("/api/items", query)
        assert (answer.status_code, answer.json()["error"]) == (422, "cursor_invalid")


def posted(page: Client, path: str, body: object, **more: object) -> dict:
    answer = page.post(path, json.dumps(body), content_type="application/json", **more)
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_the_api_marks_many_and_undoes_exactly_those(page: Client, ada: Reader, ben: Reader):
    rows = shelf(ada)
    theirs = fresh_item(ben, key="bens.example")
    first = posted(page, "/api/items/read", {"item_ids": [rows[0].pk, theirs.pk, 10**15]})
    assert first["count"] == 1 and read_titles(ada) == {"No 0"}
    seen = listed(page)["seen"]
    second = posted(page, "/api/items/read", {"list": {"source": "gazette.example"}, "seen": seen})
    assert second["count"] == 1 and read_titles(ada) == {"No 0", "No 2"}
    assert posted(page, "/api/items/unread", {"at": second["at"]}) == {"count": 1}
    assert read_titles(ada) == {"No 0"} and read_titles(ben) == set()


def test_no_name_of_a_list_brings_a_nul_to_the_database(page: Client, ada: Reader):
    """PostgreSQL compares none."""
    shelf(ada)
    found = page.get("/api/items", {"source": "gazette\0.example", "folder": "Ne\0ws"}).json()["items"]
    assert [one["title"] for one in found] == ["No 0", "No 2"]
    assert posted(page, "/api/items/read", {"list": {"source": "gazette\0.example"}})["count"] == 2


def test_a_token_that_may_rate_may_mark_many_and_one_that_reads_may_list(client: Client, ada: Reader):
    item, now = shelf(ada)[0], timezone.now()
    secret = {
        scope: token_issue(reader=ada, name=scope, scope=scope, expires_at=None, now=now).secret
        for scope in ("read", "rate")
    }
    bearer = {scope: {"headers": {"authorization": f"Bearer {one}"}} for scope, one in secret.items()}
    assert client.get("/api/items", **bearer["read"]).status_code == 200
    body = json.dumps({"item_ids": [item.pk]})
    refused = client.post("/api/items/read", body, content_type="application/json", **bearer["read"])
    assert (refused.status_code, refused.json()["error"]) == (403, "scope_missing")
    assert posted(client, "/api/items/read", {"item_ids": [item.pk]}, **bearer["rate"])["count"] == 1
    assert readings_for(reader_id=ada.pk, item_ids=[item.pk])[item.pk].read_at is not None


def test_the_link_to_a_source_survives_any_key(page: Client, ada: Reader):
    fresh_item(ada, key="a&b=c.example", title="Odd")
    body = page.get(ALL).content.decode()
    link = re.search(r'href="(/ui/all\?source=[^"]*)"', body)[1].replace("&amp;", "&")
    assert parse_qs(urlsplit(link).query) == {"source": ["a&b=c.example"]}
    assert titles(page, link.removeprefix(ALL)) == ["Odd"]


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"unread": "1"},
        {"saved": "1"},
        {"unread": "1", "order": "best"},
        {"unread": "1", "order": "oldest"},
        {"folder": "News", "unread": "1"},
    ],
)
def test_each_button_does_the_same_in_every_list(page: Client, ada: Reader, query: dict[str, str]):
    rows = [fresh_item(ada, hours=n + 1, key="gazette.example", title=f"No {n}") for n in range(3)]
    Subscription.objects.filter(reader=ada).update(folder="News")
    for item in rows:
        page.post(f"/ui/item/{item.pk}/save", {"saved": "1"})
    shown = page.get(ALL, query)
    sent = {**shown.context["fields"], "seen": shown.context["seen"]}
    marked(page, **sent, read_item=rows[1].pk)
    assert read_titles(ada) == {"No 1"}
    marked(page, **sent, unread_item=rows[1].pk)
    assert read_titles(ada) == set()
    key = next(row.key for row in shown.context["rows"] if row.shown.item == rows[2])
    newer = "below" if query.get("order") == "oldest" else "above"
    for action, titles in (({newer: key}, {"No 0", "No 1"}), ({"all": "1"}, {"No 0", "No 1", "No 2"})):
        after = marked(page, **sent, **action)
        assert read_titles(ada) == titles
        taken_back(page, after)
        assert read_titles(ada) == set()
    assert page.post(READ, sent).status_code == 404, "no button, no change"


def names(page: Client, query: str = "") -> list[tuple[str, str]]:
    """Return the names of the rows' sources, and their links."""
    body = page.get(f"{ALL}{query}").content.decode()
    found = re.findall(
        r'<a href="([^"]*)"><span class="favicon".*?</span><bdi>([^<]*)</bdi></a> · <time', body
    )
    return [(name, href) for href, name in found]


def test_rows_and_the_heading_show_the_readers_own_name_of_a_feed(page: Client, ada: Reader):
    shelf(ada)
    feed = Feed.objects.get(source="gazette.example")
    Subscription.objects.filter(reader=ada, feed=feed).update(own_name="Grauniad")
    of_feed = ("Grauniad", f"{ALL}?feed={feed.pk}")
    assert names(page) == [of_feed, ("Lamps", f"{ALL}?source=lamps.example"), of_feed]
    for query in ("?source=gazette.example", f"?feed={feed.pk}"):
        assert "<h1><bdi>Grauniad</bdi></h1>" in page.get(f"{ALL}{query}").content.decode()


def test_rows_of_a_source_with_several_feeds_show_the_feed(page: Client, ada: Reader):
    shelf(ada)
    alerts = FeedFactory(
        source_id="gazette.example", url="https://gazette.example/alerts.xml", title="Alerts"
    )
    SubscriptionFactory(reader=ada, feed=alerts)
    fresh_item(ada, hours=0.5, feed=alerts)
    assert [name for name, _ in names(page)] == ["Alerts", "Gazette", "Lamps", "Gazette"]
    assert "<h1><bdi>Gazette</bdi></h1>" in page.get(f"{ALL}?source=gazette.example").content.decode()


def test_names_of_feeds_cost_no_query(page: Client, ada: Reader):
    shelf(ada)

    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            page.get(ALL)
        return len(seen)

    queries()
    before = queries()
    Subscription.objects.filter(reader=ada).update(own_name="Mine")
    assert queries() == before


def test_the_list_of_one_feed_leads_to_its_settings(page: Client, ada: Reader):
    shelf(ada)
    feed = Feed.objects.get(source="gazette.example")
    for query, leads in (("?source=gazette.example", True), (f"?feed={feed.pk}", True), ("", False)):
        body = page.get(f"{ALL}{query}").content.decode()
        assert (f'href="/ui/sources/{feed.pk}" aria-label="Settings of this source">' in body) == leads


@pytest.mark.parametrize("query", ["", "?unread=1", "?order=best", "?source=gazette.example", "?folder=News"])
def test_what_is_older_than_a_day_is_marked_as_read_and_comes_back(page: Client, ada: Reader, query: str):
    subscribe(ada, "gazette.example", "Gazette")
    Subscription.objects.filter(reader=ada).update(folder="News")
    for hours in (2, 26, 80, 200):
        fresh_item(ada, hours=hours, title=f"{hours} hours")
    fields = dict(pair.split("=") for pair in query[1:].split("&") if pair)
    for days, read in (("7", {"200 hours"}), ("3", {"200 hours", "80 hours"})):
        assert page.post(READ, {**fields, "older": days}).url == f"{ALL}{query}"
        assert read_titles(ada) == read
    page.post(READ, {**fields, "older": "1"})
    assert read_titles(ada) == {"200 hours", "80 hours", "26 hours"}
    body = page.get(ALL).content.decode()
    assert "1 item marked as read at" in body
    page.post(UNDO, {"undo": re.search(r'name="undo" value="([^"]+)"', body)[1]})
    assert read_titles(ada) == {"200 hours", "80 hours"}


def test_of_saved_items_and_of_a_category_what_is_older_is_marked_as_read(page: Client, ada: Reader):
    for hours in (2, 50):
        item = fresh_item(ada, hours=hours, title=f"Sea {hours}", categories=["Sea"])
        page.post(f"/ui/item/{item.pk}/save", {"saved": "1"})
        fresh_item(ada, hours=hours, title=f"Land {hours}")
    page.post(READ, {"category": "Sea", "older": "1"})
    assert read_titles(ada) == {"Sea 50"}
    Reading.objects.update(read_at=None)
    page.post(READ, {"saved": "1", "older": "1"})
    assert read_titles(ada) == {"Sea 50"}


def test_nothing_that_old_is_said_and_other_ages_are_refused(page: Client, ada: Reader):
    fresh_item(ada, hours=2)
    answer = page.post(READ, {"older": "7"}, follow=True)
    assert "Nothing unread there is that old." in messages_in(answer.content.decode())
    for typed in ("", "0", "2", "-1", "x", "9" * 40):
        assert page.post(READ, {"older": typed}).status_code == 404, typed
    assert read_titles(ada) == set()


def test_two_feeds_of_one_name_are_told_apart_wherever_one_chooses(page: Client, ada: Reader):
    for end in ("atom", "rss"):
        feed = FeedFactory(url=f"https://lamp.example/feed.{end}", title="Lamp")
        SubscriptionFactory(reader=ada, feed=feed)
        source = FeedFactory(url=f"https://{end}.example/feed", title="Kettle").source
        type(source).objects.filter(pk=source.pk).update(title="Kettle")
        SubscriptionFactory(reader=ada, feed=Feed.objects.get(source=source))
    side = page.get(f"{ALL}?side=1").content.decode()
    assert re.findall(r'<bdi>Lamp</bdi><span class="tail"> · <bdi>(\w+)</bdi>', side) == ["atom", "rss"]
    feed = Feed.objects.get(url="https://lamp.example/feed.rss")
    assert "<h1><bdi>Lamp · rss</bdi></h1>" in page.get(f"{ALL}?feed={feed.pk}").content.decode()
    sources = page.get("/ui/sources").content.decode()
    assert {*re.findall(r'<span class="tail meta">· ([\w./]+)</span>', sources)} >= {"atom", "rss"}
    for address in ("/ui/search", "/ui/mutes"):
        options = re.findall(r"<option [^>]*>(Kettle[^<]*)<", page.get(address).content.decode())
        assert len(options) == len({*options}) == 2


def test_counts_that_include_what_words_mute_say_so_beside_every_list(page: Client, ada: Reader, monkeypatch):
    shelf(ada)
    mute_set(reader_id=ada.pk, mute=Mute("word", "harbour"), now=timezone.now())
    told = "unread, the counts include what you muted by words."
    for address in (ALL, f"{ALL}?side=1", f"{ALL}?folder=News"):
        assert told not in page.get(address).content.decode()
        monkeypatch.setattr("digest.items.listing.UNMUTED_MAX", 1)
        assert told in page.get(address).content.decode()
        monkeypatch.undo()
