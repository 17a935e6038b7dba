"""Asking for suggestions by a plain form."""

from datetime import timedelta

from django.test import Client
from django.utils import timezone

from advisor.models import Run
from advisor.selectors import readers_due
from digest.models import Reader
from suggestions.models import Suggestion
from tests.support.browser import messages_in, suggested
from tests.support.histories import balanced, opinionated

GENERATE = "/ui/suggestions/generate"


def ask(client: Client, reader: Reader) -> str:
    """Press the button. Return the page's message."""
    client.force_login(reader)
    return messages_in(client.post(GENERATE, follow=True).content.decode())


def test_a_form_runs_the_advisor_for_real(client: Client, ada: Reader):
    opinionated(ada, now=timezone.now())
    said = ask(client, ada)
    assert Run.objects.get(reader=ada).status == "completed"
    assert f"{Suggestion.objects.filter(reader=ada).count()} new suggestion" in said


def test_too_little_feedback_is_said_and_costs_no_run(client: Client, ada: Reader):
    assert "Not enough ratings for suggestions yet." in ask(client, ada)
    assert not Run.objects.exists()


def test_after_three_failures_a_day_the_reader_is_told_just_that(client: Client, ada: Reader):
    now = timezone.now()
    opinionated(ada, now=now)
    day = now.astimezone(ada.zone).date()
    for _ in range(3):
        Run.objects.create(reader=ada, day=day, trigger="ui", status="agent_error", created_at=now)
    said = ask(client, ada)
    assert "It did not work three times today." in said and "Not enough ratings" not in said


def test_a_second_request_of_the_day_is_told_when_it_looks_again(client: Client, ada: Reader):
    balanced(ada, now=timezone.now())
    assert "balanced" in ask(client, ada)
    words = ask(client, ada)
    assert "You can ask again tomorrow; by itself it looks about once a week." in words
    assert readers_due(now=timezone.now() + timedelta(days=1)) == []
    assert readers_due(now=timezone.now() + timedelta(days=7)) == [ada]


def test_open_suggestions_come_first(client: Client, ada: Reader):
    suggested(ada)
    assert "Please answer the suggestions you have first." in ask(client, ada)


def test_switched_off_says_coming_soon(client: Client, ada: Reader, settings):
    settings.ADVISOR_ENABLED = False
    assert "switched off on this installation" in ask(client, ada)


def test_who_switched_suggestions_off_is_told_how_to_switch_them_on(client: Client, ada: Reader):
    opinionated(ada, now=timezone.now())
    Reader.objects.filter(pk=ada.pk).update(suggestions_enabled=False)
    assert "Your account page switches them on again." in ask(client, ada)
    body = client.get("/ui/suggestions").content.decode()
    assert "Suggestions are switched off" in body and "data-generate=" not in body
    answer = client.post("/api/suggestions/generate").json()
    assert (answer["status"], "switched suggestions off" in answer["reason"]) == ("skipped", True)
    assert readers_due(now=timezone.now()) == [] and not Run.objects.exists()
    Reader.objects.filter(pk=ada.pk).update(suggestions_enabled=True)
    assert readers_due(now=timezone.now()) == [ada]
    assert 'data-generate="' in client.get("/ui/suggestions").content.decode()


def test_asking_takes_a_form_of_this_site(ada: Reader):
    wary = Client(enforce_csrf_checks=True)
    wary.force_login(ada)
    assert wary.post(GENERATE).status_code == 403


def test_a_link_cannot_start_a_run(client: Client, ada: Reader):
    client.force_login(ada)
    assert client.get(GENERATE).status_code == 405
