"""The page that checks a suggestion: no source on it, answers kept when too few, and its result in words."""

import re
from collections.abc import Callable

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from digest.models import Feedback, Item, Reader
from suggestions.models import Suggestion
from suggestions.planner.checking import ABOUT_MIN
from tests.support.suggestion_worlds import LOVED, boost_waiting, unread

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def stage(staged) -> int:
    return staged(boost_waiting)


@pytest.fixture
def waiting(stage, db) -> Suggestion:
    Suggestion.objects.filter(pk=stage).update(created_at=timezone.now())
    unread(at=timezone.now())
    return Suggestion.objects.get(pk=stage)


@pytest.fixture
def page(waiting, client: Client) -> Client:
    client.force_login(Reader.objects.get(username="ada"))
    return client


def address(suggestion: Suggestion) -> str:
    return f"/ui/suggestions/{suggestion.pk}/check"


def walk(page: Client, waiting: Suggestion, answer: Callable[[Item], str]) -> list[HttpResponse]:
    """Answer one headline after the other, as the page asks; return its answers."""
    pages = [page.get(address(waiting))]
    while pages[-1].status_code == 200 and len(pages) < 12:
        asked = pages[-1].context["headline"].item_id
        typed = {**dict(pages[-1].context["given"]), f"item-{asked}": answer(Item.objects.get(pk=asked))}
        pages.append(page.post(address(waiting), typed))
    return pages


def test_the_card_offers_a_check_until_it_was_made_and_then_says_what_it_found(page, waiting):
    body = page.get("/ui/suggestions").content.decode()
    assert f'href="{address(waiting)}">Check it by a few headlines</a>' in body
    walk(page, waiting, lambda item: "yes")
    told = page.get("/ui/suggestions").content.decode()
    words = (
        rf"You found (\d) of \1 headlines from {waiting.label} useful(, and (\d) of \3 others?)?\. So we are "
    )
    assert len(re.findall(words, told)) == 2
    assert address(waiting) not in told


def test_no_page_of_the_check_says_what_it_is_about(page, waiting):
    for shown in walk(page, waiting, lambda item: "yes")[:-1]:
        body = shown.content.decode()
        assert body.count("<fieldset") == body.count("<legend") == 1 and "Plain day" in body
        own = body[body.index("<title>") : body.index("</title>")] + body[body.index("<main") :]
        assert not any(word in own for word in (waiting.label, "example", "more from", "Gazette"))
        assert own.count("<button name=") == 3


def test_a_check_ends_once_the_headlines_that_are_left_cannot_change_what_it_leads_to(page, waiting):
    pages = walk(page, waiting, lambda item: "yes" if item.source_id == LOVED else "no")
    given = Feedback.objects.filter(origin="check")
    assert len(pages) - 1 == given.count() < 8
    assert given.filter(item__source=LOVED).count() == ABOUT_MIN, "so few at least"
    waiting.refresh_from_db()
    assert waiting.status == "pending" and waiting.checked["rated"] == ABOUT_MIN


def test_a_check_ends_as_soon_as_nothing_can_save_the_suggestion(page, waiting):
    """The ratings behind it are old, so three answers weigh more than all of them."""
    walk(page, waiting, lambda item: "no" if item.source_id == LOVED else "yes")
    assert Feedback.objects.filter(origin="check", item__source=LOVED).count() < ABOUT_MIN
    waiting.refresh_from_db()
    assert waiting.status == "withdrawn"


def test_skipped_headlines_are_asked_again_if_the_others_are_too_few(page, waiting):
    pages = walk(page, waiting, lambda item: "skip")
    assert [answer.status_code for answer in pages[:9]] == [200] * 9
    again = pages[8]
    assert "Answer a few more of the headlines." in again.content.decode()
    assert again.context["headline"] == pages[0].context["headline"] and again.context["given"] == []
    assert not Feedback.objects.filter(origin="check").exists()


@pytest.mark.parametrize("name", ["item-", "item-x", "item-²", "item-" + "9" * 400, "other"])
def test_a_strange_field_is_no_answer(page, waiting, name):
    assert page.post(address(waiting), {name: "yes"}).status_code == 200


def test_nobody_checks_somebody_elses(page, waiting, client):
    client.force_login(Reader.objects.create_user("ben"))
    assert client.get(address(waiting)).status_code == 404
    assert client.post(address(waiting)).status_code == 404
