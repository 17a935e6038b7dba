"""The items that topics take in, and the results of a search by meaning."""

import pytest
from django.test import Client
from django.utils import timezone

from digest.items.taken_in import items_about, topics_take_in
from digest.items.vectors import item_vectors_update
from digest.models import Reader
from ranking.entities import Mute
from ranking.services import mute_set
from tests.support.browser import fresh_item

pytestmark = pytest.mark.django_db

SAYS = (
    "Tennis: the champion won the final in straight sets",
    "A tennis rally at the net decided the match of the two players",
    "The young tennis player lost the first set of the tournament",
    "Tennis on grass: who serves best wins the match",
    "Doubles in tennis, and why the net player decides the set",
    "A tennis coach on rackets, serves and clay courts",
)
ABOUT = "The champion won the match at Wimbledon after a long rally: two sets, one player at the net"
OTHERS = (
    "The central bank raised interest rates while inflation of consumer prices fell",
    "Astronomers found a distant galaxy with the telescope and a planet in its orbit",
    "A recipe for bread with flour, water and salt, baked in a hot oven",
)


# Each found some of 5,543 real or 658 made-up items before unknown words were left out.
INVENTED = ("plonkifier", "bqxvkw", "tjwqpr", "tralalito", "frobnicate", "qwertyuiop", "qqzzyx")


@pytest.fixture
def filled(ada: Reader) -> Reader:
    """Give Ada a feed with six items that say tennis, one about it, and sixty others."""
    for n, title in enumerate(SAYS):
        fresh_item(ada, hours=1 + n, title=title)
    fresh_item(ada, hours=8, title=ABOUT)
    for n in range(60):
        fresh_item(ada, hours=10 + n, title=f"{OTHERS[n % 3]} {n}")
    item_vectors_update(now=timezone.now())
    return ada


def test_a_new_topic_takes_in_what_says_it_and_what_is_about_it(filled: Reader) -> None:
    tennis, opera = topics_take_in(reader_id=filled.pk, topics=["tennis", "opera"], now=timezone.now())
    assert (tennis.total, len(tennis.says), len(tennis.about)) == (67, 6, 1)
    assert ABOUT in tennis.titles and len(tennis.titles) == 4
    assert (opera.says, opera.about, opera.titles) == ((), (), ())


def test_topics_cost_the_same_number_of_queries(filled: Reader, django_assert_num_queries) -> None:
    with django_assert_num_queries(4):
        topics_take_in(reader_id=filled.pk, topics=["tennis", "bread", "galaxy", "rates"], now=timezone.now())


def test_a_search_finds_below_its_hits_what_is_about_them(filled: Reader, client: Client) -> None:
    client.force_login(filled)
    page = client.get("/ui/search?q=tennis").content.decode()
    assert page.index("6 items") < page.index("data-about") < page.index("Wimbledon")
    found = client.get("/api/search?q=tennis").json()
    assert [hit["title"][0]["text"] for hit in found["about"]] == [ABOUT]
    assert found["total"] == 6


@pytest.mark.every_case
@pytest.mark.parametrize(
    "query", ["%22tennis%22", "tenn*", "tennis+-net", "tennis&unread=1", "tennis&page=2", "asdfgh"]
)
def test_what_is_asked_for_exactly_or_means_nothing_finds_nothing_more(
    filled: Reader, client: Client, query: str
) -> None:
    client.force_login(filled)
    assert "data-about" not in client.get(f"/ui/search?q={query}").content.decode()


def test_words_that_nobody_says_are_found_by_their_own_meaning(filled: Reader) -> None:
    found = items_about(reader_id=filled.pk, query="sourdough baking", found=[], now=timezone.now())
    assert found.items and all("bread" in item.title for item in found.items)


def test_invented_words_find_nothing_by_meaning_and_known_ones_beside_them_do(
    filled: Reader, client: Client
) -> None:
    client.force_login(filled)
    for invented in INVENTED:
        page = client.get(f"/ui/search?q={invented}").content.decode()
        assert "Nothing found" in page and "data-about" not in page
    page = client.get("/ui/search?q=qqzzyx+baking").content.decode()
    assert "About “baking”, by meaning" in page


def test_a_word_that_only_an_item_knows_has_a_meaning(filled: Reader) -> None:
    assert items_about(reader_id=filled.pk, query="levainy", found=[], now=timezone.now()).words == ""
    fresh_item(filled, hours=1, title="Levainy, a bread of flour and water baked in a hot oven")
    assert items_about(reader_id=filled.pk, query="levainy", found=[], now=timezone.now()).words == "levainy"


def test_what_is_filed_under_a_word_is_found_below_what_says_it(filled: Reader, client: Client) -> None:
    client.force_login(filled)
    filed = fresh_item(filled, hours=2, title="Two late goals at Wembley", categories=["News", "Football"])
    other = fresh_item(filled, hours=3, title="Pubs of the north", author="By Ada Football and Ben Low")
    body = client.get("/ui/search?q=football").content.decode()
    assert "Not in a title or text" in body and "Nothing found" not in body
    assert body.index("Filed under “football”") < body.index(filed.title) and other.title not in body
    assert other.title in client.get("/ui/search?q=ada+football").content.decode()
    said = fresh_item(filled, hours=9, title="Football on grass", categories=["Football"])
    body = client.get("/ui/search?q=Footballs").content.decode()
    assert body.index(said.title) < body.index("Filed under") < body.index(filed.title)
    found = client.get("/api/search?q=football").json()
    assert found["total"] == 1 and found["about"][0]["title"][0]["text"] == filed.title


def test_what_is_filed_is_found_without_one_more_query(filled: Reader, django_assert_num_queries) -> None:
    for categories in ([], ["Football"]):
        fresh_item(filled, hours=2, title="Two late goals at Wembley", categories=categories)
        with django_assert_num_queries(4):
            items_about(reader_id=filled.pk, query="football", found=[], now=timezone.now())


def test_what_is_muted_is_not_found_by_meaning_either(filled: Reader) -> None:
    mute_set(reader_id=filled.pk, mute=Mute("word", "Wimbledon"), now=timezone.now())
    assert items_about(reader_id=filled.pk, query="tennis", found=[], now=timezone.now()).items == ()


def test_another_readers_items_are_not_found(filled: Reader, ben: Reader) -> None:
    assert items_about(reader_id=ben.pk, query="tennis", found=[], now=timezone.now()).items == ()


def test_the_preview_of_settings_says_what_a_new_topic_takes_in(filled: Reader, client: Client) -> None:
    client.force_login(filled)
    typed = {
        "version": "0",
        "topics": "tennis",
        "keyword_boosts": "",
        "recency_half_life_hours": "24",
        "ai_score_alpha": "1",
    }
    page = client.post("/ui/config/preview", typed).content.decode()
    assert "6 say it and 1 more are about it" in page
