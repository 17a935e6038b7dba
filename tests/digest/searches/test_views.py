"""Saved searches: in the list of sources, removed and turned into a topic with Undo, limits, and the API."""

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from digest.items.search_query import query_topic
from digest.models import Reader, SavedSearch, Subscription
from digest.searches import services
from ranking.models import SourceAlias
from ranking.selectors import config_effective
from ranking.services import alias_store
from tests.support.browser import fresh_item, messages_in

SAVE = "/ui/searches/save"


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    client.force_login(ada)
    return client


def body(answer) -> str:
    return answer.content.decode()


def saved(page: Client, **fields: str) -> int:
    """Save a search over the page; return its id."""
    assert page.post(SAVE, {"q": "harbour", **fields}).status_code == 302
    return SavedSearch.objects.latest("pk").pk


def undo(page: Client, answer) -> None:
    """Follow to the page that offers Undo, and press it."""
    shown = page.get(answer.url)
    assert "Undo" in body(shown)
    page.post("/ui/searches/undo", {"done": shown.context["done"]})


def topics(reader: Reader) -> list[str]:
    return list(config_effective(reader_id=reader.pk).config.topics)


def test_a_saved_search_stands_in_the_list_of_sources_and_finds_what_it_found(page: Client, ada: Reader):
    fresh_item(ada, title="Harbour news")
    fresh_item(ada, title="Harbour again", key="herald.example")
    saved(page, source="herald.example", order="newest")
    (line,) = page.get("/ui/all").context["searches"]
    assert line.name == "harbour · Herald"
    assert line.href in body(page.get("/ui/all", {"side": "1"})).replace("&amp;", "&")
    found = page.get(line.href)
    assert [hit.shown.item.title for hit in found.context["hits"]] == ["Harbour again"]
    assert found.context["order"] == "newest" and "Remove from my list" in body(found)
    assert "harbour · Herald" in body(page.get("/ui/search"))


def test_the_same_search_is_saved_once_and_takes_the_new_order(page: Client):
    first = saved(page, unread="1")
    assert saved(page, unread="1", order="newest") == first
    assert SavedSearch.objects.get().order == "newest"
    assert saved(page, unread="1", order="oldest") == first
    (line,) = page.get("/ui/all").context["searches"]
    assert page.get(line.href).context["order"] == "oldest"
    assert saved(page) != first


def test_a_removed_search_comes_back_by_undo(page: Client):
    removed = page.post(f"/ui/searches/{saved(page, category='Sea')}/remove")
    assert not SavedSearch.objects.exists()
    undo(page, removed)
    assert SavedSearch.objects.get().filters == {"category": "Sea"}


def test_a_search_becomes_a_topic_that_says_what_it_takes_in_and_can_be_undone(page: Client, ada: Reader):
    for title in ("Harbour news", "Harbour again", "Ferries"):
        fresh_item(ada, title=title)
    made = page.post(f"/ui/searches/{saved(page)}/topic")
    assert topics(ada) == ["harbour"] and SavedSearch.objects.count() == 1
    assert "It takes in 2 articles of the last 30 days" in body(page.get(made.url))
    undo(page, made)
    assert topics(ada) == []


def test_a_search_that_is_a_topic_already_is_not_offered_as_one(page: Client, ada: Reader):
    fresh_item(ada, title="A harbour")
    search = saved(page)
    address = "/ui/search?q=harbour&order=best"
    assert f"/ui/searches/{search}/topic" in body(page.get(address))
    page.post(f"/ui/searches/{search}/topic")
    assert f"/ui/searches/{search}/topic" not in body(page.get(address))


def test_a_topic_that_was_there_before_stays_and_offers_no_undo(page: Client, ada: Reader):
    search = saved(page)
    page.post(f"/ui/searches/{search}/topic")
    again = page.post(f"/ui/searches/{search}/topic", follow=True)
    assert "is one of your topics already" in messages_in(body(again))
    assert again.context["undo"] is None and topics(ada) == ["harbour"]


@pytest.mark.parametrize(
    ("typed", "topic"),
    [
        ("harbour -news", "harbour"),
        ('"Quiet Port" tide*', "Quiet Port tide"),
        ("„Große Häfen“", "Große Häfen"),
        ('-"left out" kept', "kept"),
        ("C++", "C++"),
        ("-harbour", ""),
        ("!!! …", ""),
        ("harbour AND port NOT news", "harbour port"),
        ("harbour OR port", ""),
        ("harbour " * 20, ""),
    ],
)
def test_a_topic_has_the_words_that_a_search_looks_for(typed: str, topic: str):
    assert query_topic(typed) == topic


def test_an_undo_is_its_readers_alone(page: Client, ben: Reader):
    removed = page.post(f"/ui/searches/{saved(page)}/remove")
    done = page.get(removed.url).context["done"]
    page.force_login(ben)
    page.post("/ui/searches/undo", {"done": done})
    assert not SavedSearch.objects.exists()


def test_a_search_of_nothing_is_not_saved(page: Client):
    answer = page.post(SAVE, {"q": "-harbour"}, follow=True)
    assert "no word to search for" in messages_in(body(answer)) and not SavedSearch.objects.exists()
    assert "Save this search" not in body(page.get("/ui/search", {"q": "-harbour"}))


def test_there_is_a_limit_for_each_reader(page: Client, ben: Reader, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(services, "SEARCHES_MAX", 1)
    first = saved(page)
    answer = page.post(SAVE, {"q": "ferry"}, follow=True)
    assert "You have 1 saved searches" in messages_in(body(answer))
    assert saved(page, order="newest") == first, "one that is there can still be changed"
    page.force_login(ben)
    assert saved(page) != first


def test_a_search_follows_a_source_that_was_renamed(page: Client, ada: Reader):
    fresh_item(ada, title="Harbour", key="new.example")
    saved(page, source="old.example")
    alias_store(old="old.example", new="new.example", now=timezone.now())
    assert SourceAlias.objects.count() == 1
    (line,) = page.get("/ui/all").context["searches"]
    assert "source=new.example" in line.href


def test_a_search_in_a_folder_follows_its_new_name_and_back(page: Client, ada: Reader):
    fresh_item(ada, title="Harbour")
    fresh_item(ada, title="Harbour", key="other.example")
    Subscription.objects.filter(feed__source="gazette.example").update(folder="News")
    saved(page, folder="News")
    page.post("/ui/sources/folder", {"folder": "News", "name": "Papers"})
    assert SavedSearch.objects.get().filters == {"folder": "Papers"}
    page.post("/ui/sources/undo-move")
    assert SavedSearch.objects.get().filters == {"folder": "News"}
    page.post("/ui/sources/folder", {"folder": "News", "name": ""})
    assert SavedSearch.objects.get().filters == {"folder": "News"}


def names(page: Client) -> list[str]:
    return [line.name for line in page.get("/ui/all").context["searches"]]


def test_a_search_has_the_name_that_its_reader_gives_it(page: Client):
    first = saved(page, unread="1")
    saved(page, q="Ferries")
    assert names(page) == ["Ferries", "harbour · unread"]
    address = f"/ui/searches/{first}/name"
    answer = page.post(address, {"name": " An own\n name "}, follow=True)
    assert "It stands in your list as “An own name”." in messages_in(body(answer))
    assert 'value="An own name"' in body(answer)
    assert names(page) == ["An own name", "Ferries"]
    saved(page, unread="1", order="newest")
    assert names(page) == ["An own name", "Ferries"]
    undo(page, page.post(f"/ui/searches/{first}/remove"))
    assert names(page) == ["An own name", "Ferries"]
    last = SavedSearch.objects.get(name="An own name").pk
    page.post(f"/ui/searches/{last}/name", {"name": ""})
    assert names(page) == ["Ferries", "harbour · unread"]


def test_nobody_names_the_search_of_another(page: Client, ben: Reader):
    search = saved(page)
    page.force_login(ben)
    assert page.post(f"/ui/searches/{search}/name", {"name": "Mine"}).status_code == 404
    assert SavedSearch.objects.get().name == ""


def test_the_api_takes_a_name(page: Client):
    sent = json.dumps({"q": "harbour", "name": "Ports"})
    (row,) = page.post("/api/searches", sent, content_type="application/json").json()["searches"]
    assert row["name"] == "Ports" and row["filters"] == {}


def test_the_api_keeps_lists_and_removes_searches(page: Client, ada: Reader, ben: Reader):
    def post(**fields: object) -> dict:
        answer = page.post("/api/searches", json.dumps(fields), content_type="application/json")
        return {"status": answer.status_code, **answer.json()}

    day = (timezone.now() - timedelta(days=3)).date().isoformat()
    (row,) = post(q="harbour", unread=True, since=day, order="newest")["searches"]
    assert (row["q"], row["order"], row["filters"]) == ("harbour", "newest", {"unread": "1", "since": day})
    assert page.get("/api/searches").json()["searches"] == [row]
    assert post(q="-harbour")["error"] == "search_empty"
    page.force_login(ben)
    missing = page.delete(f"/api/searches/{row['search_id']}")
    assert (missing.status_code, missing.json()["error"]) == (404, "search_not_found")
    page.force_login(ada)
    assert page.delete(f"/api/searches/{row['search_id']}").json() == {"searches": []}
