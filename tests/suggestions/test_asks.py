"""Today asks one thing at a time, and nothing after two answers a day."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from digest.accounts.asks import may_ask_today
from digest.accounts.services import reader_nudge_quiet
from digest.daily.onboarding import offer_end
from digest.daily.services import digest_refresh
from digest.items.reading import item_open
from digest.models import Exposure, Reader
from ranking.services import ConfigEdit, config_edit
from suggestions.models import Suggestion
from suggestions.services.early import early_change_find, early_change_put_off
from tests.suggestions.services.test_early import answered
from tests.support.browser import fresh_item, suggested
from tests.support.factories import FeedbackFactory

pytestmark = pytest.mark.django_db
CARDS, EARLY, READ, OFFER = "Suggestions", "An early change", "What you have read", "What you like"
BACK = "While you were away"


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    client.force_login(ada)
    return client


def asks(page: Client) -> list[str]:
    body = page.get("/").content.decode()
    return [name for name in (BACK, CARDS, EARLY, READ, OFFER) if f'aria-label="{name}"' in body]


def test_of_all_that_could_be_asked_one_thing_is(page: Client, ada: Reader):
    Reader.objects.update(read_gone=None)
    answered(ada)
    item_open(reader=ada, item_id=page.get("/").context["shown"][0].item.pk, door="page", now=timezone.now())
    suggested(ada)
    assert asks(page) == [CARDS]
    Suggestion.objects.all().delete()
    assert asks(page) == [EARLY]
    early_change_put_off(reader=Reader.objects.get(pk=ada.pk), now=timezone.now())
    assert asks(page) == [READ]
    page.post("/ui/today/read-gone", {"read_gone": "1"})
    assert asks(page) == []


def test_who_comes_back_is_asked_to_catch_up_before_anything_else(page: Client, ada: Reader):
    Reader.objects.update(read_gone=None)
    answered(ada)
    suggested(ada)
    page.get("/")
    Exposure.objects.update(shown_at=F("shown_at") - timedelta(days=5))
    assert asks(page) == asks(page) == [BACK]
    page.get("/ui/catch-up")
    assert asks(page) == [CARDS]
    quiet = page.get("/").content.decode().partition('class="told')[2].partition("</div>")[0]
    assert 'href="/ui/catch-up">The best since your last visit</a>' in quiet


def test_a_page_that_goes_by_nobodys_taste_says_so_until_something_is_rated(page: Client, ada: Reader):
    words = "Nothing here goes by your taste yet"
    items = [fresh_item(ada, hours=n + 1, title=f"Lamp {n} of the harbour") for n in range(3)]
    assert words in page.get("/").content.decode()
    config_edit(reader_id=ada.pk, edit=ConfigEdit(topics=["lamp"]), expected_version=0, now=timezone.now())
    digest_refresh(reader=ada, now=timezone.now())
    body = page.get("/").content.decode()
    assert items and words not in body and "your topic: lamp" in body


def test_who_has_set_something_is_not_told_that_their_ratings_would_change_the_page(
    page: Client, ada: Reader
):
    fresh_item(ada, title="Lamp of the harbour")
    edit = ConfigEdit(topics=["submarines"])
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=timezone.now())
    digest_refresh(reader=ada, now=timezone.now())
    body = page.get("/").content.decode()
    assert "Nothing here goes by your taste yet" not in body
    assert "Nothing that you set or rated counts on today’s page" in body


def test_who_has_rated_but_set_nothing_is_not_told_what_beginners_are(page: Client, ada: Reader):
    fresh_item(ada, title="Lamp of the harbour")
    FeedbackFactory(reader=ada, item=fresh_item(ada, hours=9, title="A kettle"), useful=False)
    body = page.get("/").content.decode()
    assert "Nothing here goes by your taste yet" not in body
    assert "Your ratings have moved nothing on this page yet" in body


def test_who_has_just_begun_is_offered_to_say_what_they_like(page: Client, ada: Reader):
    fresh_item(ada, hours=1)
    ada.subscriptions.update(created_at=timezone.now() - timedelta(minutes=5))
    assert asks(page) == [OFFER]
    page.post(reverse("digest:offer_end"))
    assert asks(page) == []


def test_after_two_answers_of_a_day_nothing_more_is_asked_until_tomorrow(page: Client, ada: Reader):
    answered(ada)
    now = timezone.now()
    early_change_put_off(reader=ada, now=now)
    assert may_ask_today(reader=ada, now=now)
    offer_end(reader=ada, now=now)
    suggested(ada)
    assert not may_ask_today(reader=Reader.objects.get(pk=ada.pk), now=now) and asks(page) == []
    assert may_ask_today(reader=ada, now=now + timedelta(days=1))


def test_cards_that_were_put_off_today_count_as_an_answer(ada: Reader):
    now = timezone.now()
    reader_nudge_quiet(reader=ada, now=now)
    offer_end(reader=ada, now=now)
    assert not may_ask_today(reader=ada, now=now)
    assert may_ask_today(reader=ada, now=now + timedelta(days=1))
    assert early_change_find(reader=ada, now=now) is None
