"""The page for visitors: a description of Tidings, a digest of the demo, and the open ways in."""

import re
from html import unescape
from pathlib import Path

import pytest
from django.test import Client

from digest.models import Reader

DEMO = Path(__file__).resolve().parents[4] / "config" / "demo"
SUFFIXES = {".py", ".toml", ".json", ".xml", ".txt"}


@pytest.fixture
def body(client: Client, db) -> str:
    return client.get("/").content.decode()


def words_of(html: str) -> str:
    """Return the text of a page, as one line."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_visitors_see_what_tidings_is_instead_of_a_form(body):
    assert "Every larger change is a suggestion, and waits for your yes." in body
    assert "data-thumbs" not in body and 'name="password"' not in body


def test_a_german_visitor_meets_no_english_sentence(client: Client, db):
    body = client.get("/", HTTP_ACCEPT_LANGUAGE="de").content.decode()
    figure = body.partition("<figure")[2].partition("</figure>")[0]
    english = client.get("/").content.decode().partition("<figure")[2].partition("</figure>")[0]
    cells = r"<(?:h2|p|span|figcaption)[^>]*>([^<]+)<"
    shared = {*re.findall(cells, figure)} & {*re.findall(cells, english)} - {" "}
    assert {one.strip(" ·") for one in shared} <= {"Upstream Notes", "The Long Spoke", "Quiet Port", ""}
    assert 'lang="en"' not in figure


def test_the_digest_is_of_articles_that_the_demo_publishes(body):
    published = unescape("".join(path.read_text() for path in DEMO.rglob("*") if path.suffix in SUFFIXES))
    published = published.replace("’", "'")
    shown = [
        words_of(part)
        for part in re.findall(r"<h2>(.*?)</h2>|<p class=\"lede\">(.*?)</p>", body)
        for part in part
        if part
    ]
    assert len(shown) == 8
    for line in shown:
        assert line.replace("’", "'") in published, line
    assert body.count('class="chip"') == 5, "each says why it is there"


@pytest.mark.parametrize(
    ("signup", "words"), [("invite", "by invitation"), ("closed", "accounts are closed")]
)
def test_whoever_may_not_sign_up_is_told_how_one_comes_in(client: Client, db, settings, signup, words):
    settings.SIGNUP = signup
    body = client.get("/").content.decode()
    assert words in body and "/accounts/signup/" not in body


def test_no_other_site_is_named(body):
    assert not re.search(r'(?:src|href|action)="(?:https?:)?//', body)


def test_both_ways_in_are_open_at_first(body):
    main = body.partition("<main")[2]
    assert 'href="/accounts/signup/"' in main and 'href="/accounts/login/"' in main


def test_it_costs_no_query_and_no_browser_stores_it(client: Client, db, django_assert_num_queries):
    with django_assert_num_queries(0):
        answer = client.get("/")
    assert answer["Cache-Control"] == "no-store"


def test_whoever_signs_in_finds_their_digest_at_the_same_address(client: Client, ada: Reader):
    client.force_login(ada)
    assert "visitors.css" not in client.get("/", follow=True).content.decode()


def test_nothing_can_be_sent_to_it(client: Client, db):
    assert client.post("/").status_code == 405
