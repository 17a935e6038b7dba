"""The page that checks a suggestion: no source on it, answers kept when too few, and its result in words."""

import pytest
from django.test import Client
from django.utils import timezone

from digest.models import Feedback, Reader
from suggestions.models import Suggestion
from tests.support.suggestion_worlds import boost_waiting, unread

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


def asked(page: Client, waiting: Suggestion) -> list[int]:
    return [one.item_id for one, _ in page.get(address(waiting)).context["headlines"]]


def test_the_card_offers_a_check_until_it_was_made_and_then_says_what_it_found(page, waiting):
    body = page.get("/ui/suggestions").content.decode()
    assert f'href="{address(waiting)}">Check it: eight headlines</a>' in body
    answers = {f"item-{pk}": "yes" for pk in asked(page, waiting)}
    told = page.post(address(waiting), answers, follow=True).content.decode()
    label = waiting.label
    words = f"You found 6 of 6 headlines from {label} useful, and 2 of 2 others. So we are "
    assert told.count(words) == 2
    assert address(waiting) not in told


def test_the_page_has_a_group_for_each_headline_and_no_source(page, waiting):
    body = page.get(address(waiting)).content.decode()
    assert body.count("<fieldset") == body.count("<legend") == 8
    form = body[body.index('class="check-headlines"') :]
    assert "example" not in form and "Plain day" in form
    assert form.count('type="radio"') == 24


def test_too_few_answers_stay_on_the_page(page, waiting):
    first = asked(page, waiting)[0]
    kept = page.post(address(waiting), {f"item-{first}": "no"})
    body = kept.content.decode()
    assert "Answer a few more of the headlines." in body
    assert f'name="item-{first}" value="no" checked' in body
    assert not Feedback.objects.filter(origin="check").exists()


@pytest.mark.parametrize("name", ["item-", "item-x", "item-²", "item-" + "9" * 400, "other"])
def test_a_strange_field_is_no_answer(page, waiting, name):
    assert page.post(address(waiting), {name: "yes"}).status_code == 200


def test_nobody_checks_somebody_elses(page, waiting, client):
    client.force_login(Reader.objects.create_user("ben"))
    assert client.get(address(waiting)).status_code == 404
    assert client.post(address(waiting)).status_code == 404
