"""Odd ways back and odd moments lead to the paper or nowhere, and never off the site."""

import pytest
from django.test import Client

from tests.support.browser import fresh_item

pytestmark = pytest.mark.django_db
ODD = [
    "nan",
    "a",
    "-1",
    "[]",
    "a\0b",
    "",
    "//evil.example/x",
    "https://evil.example",
    "/\\evil.example",
    "http://[",
]


@pytest.fixture
def page(ada, client: Client) -> Client:
    client.force_login(ada)
    return client


@pytest.mark.parametrize("malformed", ODD)
def test_a_way_back_that_is_no_page_of_ours_leads_to_the_paper(page, ada, malformed):
    item = fresh_item(ada)
    for door, text in (("save", {"saved": "1"}), ("feedback", {"useful": "1"}), ("unread", {})):
        answer = page.post(f"/ui/item/{item.pk}/{door}", {**text, "next": malformed})
        assert answer.status_code == 302 and answer.url.partition("#")[0] == "/"
    ours = page.post(f"/ui/item/{item.pk}/save", {"saved": "1", "next": "/ui/saved?page=2"})
    assert ours.url == f"/ui/saved?page=2#item-{item.pk}"


@pytest.mark.parametrize("referer", ["http://[", "//[", "http://[x]/", "http://a]b/", "\u212a"])
def test_a_page_reads_whatever_the_browser_says_it_came_from(page, ada, referer):
    item = fresh_item(ada)
    assert page.get(f"/ui/item/{item.pk}", headers={"Referer": referer}).status_code == 200


@pytest.mark.parametrize("place", ["//evil.example/x", "/\\evil.example/x", "///evil.example"])
def test_a_page_below_our_host_whose_path_is_anothers_address_is_no_way_back(page, ada, place):
    item = fresh_item(ada)
    there = {"Referer": f"http://testserver{place}"}
    for address in (f"/ui/item/{item.pk}", "/ui/mutes?kind=word&value=tide"):
        answer = page.get(address, headers=there)
        assert answer.status_code == 200 and "evil.example" not in answer.content.decode(), address
    signed_out = Client().post("/ui/read/undo", headers=there)
    assert signed_out.status_code == 302 and "evil" not in signed_out["Location"]


MOMENTS = ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00", "soon", "2026-01-01T00:00"]


@pytest.mark.parametrize("at", MOMENTS)
def test_a_moment_that_never_was_marked_nothing(page, ada, at):
    assert page.post("/ui/read/undo", {"undo": at}).status_code == 404


@pytest.mark.parametrize("path", ["login", "signup", "password/reset", "logout"])
@pytest.mark.parametrize("malformed", ["http://[", "//[", "http://[::1", "https://[x]/", "http://\u2100.com"])
def test_an_address_to_go_on_to_that_is_none_is_left_out(db, path, malformed):
    answer = Client().get(f"/accounts/{path}/", {"next": malformed})
    assert answer.status_code in (200, 302) and "[" not in answer.get("Location", "")
