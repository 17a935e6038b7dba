"""The page for visitors: what Tidings is, one real suggestion, and the ways in that are open."""

import re
from html import unescape
from pathlib import Path

import pytest
from django.test import Client

from digest.accounts.adapters import AccountAdapter
from digest.models import Reader

README = Path(__file__).resolve().parents[4] / "README.md"


@pytest.fixture
def body(client: Client, db) -> str:
    return client.get("/").content.decode()


def words_of(html: str) -> str:
    """The text of a page, as one line."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_visitors_see_what_tidings_is_instead_of_a_form(body):
    assert "asks before it changes anything" in body
    assert "data-thumbs" not in body and 'name="password"' not in body


def test_the_suggestion_is_the_one_of_the_readme(body):
    block = README.read_text().partition("Show me more from")[2].partition("```")[0]
    lines = [re.sub(r"^\s*(\+|\w+:)\s*", "", line) for line in f"Show me more from{block}".splitlines()]
    shown = words_of(body)
    wanted = [line for line in lines if line and not line.startswith("Evidence")]
    assert len(wanted) == 8
    for line in wanted:
        title, _, rest = line.partition(" (Quiet Port)")
        assert title in shown and (not rest or f"Quiet Port{rest}" in shown), line


def test_no_other_site_is_named(body):
    assert not re.search(r'(?:src|href|action)="(?:https?:)?//', body)


def test_both_ways_in_are_open_at_first(body):
    main = body.partition("<main")[2]
    assert 'href="/accounts/signup/"' in main and 'href="/accounts/login/"' in main


def test_where_sign_up_is_closed_only_the_other_way_is_shown(client: Client, db, monkeypatch):
    monkeypatch.setattr(AccountAdapter, "is_open_for_signup", lambda self, request: False)
    body = client.get("/").content.decode()
    assert "/accounts/signup/" not in body and 'href="/accounts/login/"' in body.partition("<main")[2]
    assert "New accounts are closed here" in body


def test_it_costs_no_query_and_no_browser_stores_it(client: Client, db, django_assert_num_queries):
    with django_assert_num_queries(0):
        answer = client.get("/")
    assert answer["Cache-Control"] == "no-store"


def test_whoever_signs_in_finds_their_digest_at_the_same_address(client: Client, ada: Reader):
    client.force_login(ada)
    assert "visitors.css" not in client.get("/", follow=True).content.decode()


def test_nothing_can_be_sent_to_it(client: Client, db):
    assert client.post("/").status_code == 405
