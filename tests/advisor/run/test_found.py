"""A run that found something and was stopped, held or capped says so on the page and by the API."""

import html
import json
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone, translation

from advisor.models import Run
from advisor.run.status_words import reason_shown, status_message
from advisor.run_values import RUN_MONEY_SPENT, STOP_SENTENCES, StopReason
from advisor.selectors import run_reason
from digest.llm.ledger import REFUSALS
from digest.models import Item, Reader
from suggestions.changes.proposal import DRAFT, Review
from suggestions.models import Suggestion
from suggestions.planner.hypotheses import BALANCED, SILENCE_SENTENCES
from suggestions.wording import CHANGE_IN_REVIEW, CHANGES_FOUND, CHANGES_STOPPED, NO_CHANGE
from tests.advisor.agent.test_wire_runs import READ, boost, urls_of
from tests.support.browser import suggested
from tests.support.factories import FeedFactory, ItemFactory, SubscriptionFactory
from tests.support.histories import balanced, opinionated
from tests.support.scripted_model import Script, calls, finish, text

pytestmark = pytest.mark.django_db
CLOSING = '{"suggestions": [], "skipped": [], "meta": {}}'
UNSAID = ("Nothing worth asking", "Nothing was found", "balanced", "Something went wrong")


@pytest.fixture
def reader(ada: Reader, client: Client) -> Reader:
    """Sign in Ada, who has clear thumbs."""
    opinionated(ada, now=timezone.now())
    client.force_login(ada)
    return ada


@pytest.fixture
def model(httpserver, settings):
    """Return a model that is asked before the planner, as in `Script`."""
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "k", httpserver.url_for("/v1")
    settings.LLM_CHAIN = ["openai:gpt-6-luna"]
    return lambda *steps, **more: Script(httpserver, list(steps), **more)


@pytest.fixture
def shown(client: Client):
    """Press "Generate" by the API. Return its answer, and the texts of the page and of the run's own
    address."""

    def pressed() -> tuple[dict, tuple[str, str, str]]:
        answer = client.post("/api/suggestions/generate", data="{}", content_type="application/json").json()
        polled = client.get(f"/api/runs/{answer['run_id']}").json()
        [line] = re.findall(
            r"<p data-last-run>(.*?)</p>", client.get("/ui/suggestions").content.decode(), re.DOTALL
        )
        return answer, (html.unescape(line), answer["reason"], polled["reason"])

    return pressed


def stands(words: str, said: tuple[str, ...]) -> None:
    """Assert that all of `said` have the words, and none that nothing was found or that something broke."""
    for place in said:
        assert words in place
        assert not any(wrong in place for wrong in UNSAID)


def page_of_one_source(reader: Reader, source: str = "loved.example") -> None:
    """Add only five new articles of one source, so that no weight changes the order."""
    feed = FeedFactory(source_id=source)
    SubscriptionFactory(reader=reader, feed=feed)
    for n in range(5):
        ItemFactory(source_id=source, feed=feed, published_at=timezone.now() - timedelta(hours=2 + 2 * n))


def test_the_planner_says_of_what_would_move_nothing_that_it_was_found(reader: Reader, shown):
    page_of_one_source(reader)
    answer, said = shown()
    assert (answer["status"], answer["suggestions_created"]) == ("completed", 0)
    stands(CHANGES_STOPPED["moves_nothing"], said)
    assert "loved.example" not in "".join(said) and "hypothesis" not in "".join(said)


def test_and_the_second_request_of_the_day_says_it_again(reader: Reader, shown, client: Client):
    page_of_one_source(reader)
    shown()
    answer, said = shown()
    assert answer["status"] == "already_generated"
    stands(CHANGES_STOPPED["moves_nothing"], said)


@pytest.mark.parametrize("reason", ["", "Your ratings are even."])
def test_a_model_s_refused_change_is_not_called_nothing(reader: Reader, model, shown, reason: str):
    page_of_one_source(reader)
    write = calls(boost(urls_of(reader, "loved.example", True)))
    with model(READ, write, finish(reason)):
        answer, said = shown()
    assert answer["status"] == "completed"
    stands(CHANGES_STOPPED["moves_nothing"], said)
    assert all(("The model adds: “Your ratings are even.”" in place) is bool(reason) for place in said)


@pytest.mark.parametrize("by_model", [True, False], ids=["a model", "the planner"])
def test_what_the_review_holds_is_said_to_be_held(reader: Reader, model, shown, monkeypatch, by_model: bool):
    monkeypatch.setattr("advisor.review.compose._review", lambda *_: Review(DRAFT))
    if not by_model:
        Reader.objects.filter(pk=reader.pk).update(ai_enabled=False)
    steps = [READ, calls(boost(urls_of(reader, "loved.example", True))), text(CLOSING)] if by_model else []
    with model(*steps):
        answer, said = shown()
    assert answer["suggestions_created"] == 0 and Suggestion.objects.filter(status="draft").exists()
    stands(CHANGE_IN_REVIEW, said)


def test_who_proposed_nothing_is_not_said_to_have_found_a_change(reader: Reader, model, shown):
    Item.objects.all().delete()
    balanced(reader, now=timezone.now())
    with model(READ, text(json.dumps({"suggestions": [], "reason": "Your ratings are even."}))):
        _, said = shown()
    assert all(SILENCE_SENTENCES[BALANCED] in place for place in said)


def test_who_always_turned_such_changes_down_is_told_that(reader: Reader, shown):
    old = timezone.now() - timedelta(days=60)
    for kind in ("boost_source", "reduce_source"):
        for n in range(6):
            turned_down = {"suggestion_type": kind, "target_key": f"{kind}{n}.example", "status": "rejected"}
            suggested(reader, evidence=0, created_at=old, resolved_at=old, **turned_down)
    answer, (page, *said) = shown()
    assert answer["status"] == "completed"
    assert all(SILENCE_SENTENCES["types_declined"] in place for place in (page, *said))


# --- Caps -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("ADVISOR_MAX_TURNS", StopReason.TURN_LIMIT),
        ("ADVISOR_MAX_TOOL_CALLS", StopReason.TOOL_CALL_LIMIT),
    ],
)
def test_a_run_at_its_limit_says_that_it_reached_it(reader: Reader, model, shown, settings, setting, reason):
    setattr(settings, setting, 1)
    with model(calls(("query_user_config", {}), ("get_user_profile", {}))):
        answer, said = shown()
    assert answer["status"] == "agent_error" and Run.objects.get().stop_reason == reason
    stands("The run reached its limit before it could finish.", said)
    assert "used up" in Run.objects.get().message, "operators have the figures"


def test_the_same_failure_three_times_is_said_after_what_was_found(reader: Reader, model, shown):
    page_of_one_source(reader)
    write = calls(boost(urls_of(reader, "loved.example", True)))
    with model(READ, write, write, write):
        answer, said = shown()
    assert (answer["status"], Run.objects.get().stop_reason) == ("agent_error", "repeated_failure")
    stands(
        f"{CHANGES_STOPPED['moves_nothing']} {STOP_SENTENCES[StopReason.REPEATED_FAILURE]}",
        tuple(place.strip() for place in said),
    )


def test_the_cap_of_one_run_is_not_called_the_day_s(reader: Reader, model, shown, settings):
    page_of_one_source(reader)
    settings.ADVISOR_RUN_CAP_USD = 0.0001
    with model():
        answer, said = shown()
    assert answer["status"] == "budget_exceeded"
    stands(RUN_MONEY_SPENT, said)
    assert "Daily" not in "".join(said)


@pytest.mark.parametrize("setting", ["ADVISOR_DAILY_CAP_USD", "ADVISOR_READER_DAILY_CAP_USD"])
def test_the_cap_of_a_day_is_called_that(reader: Reader, model, shown, settings, setting: str):
    page_of_one_source(reader)
    setattr(settings, setting, 0.0001)
    with model():
        answer, (page, *_) = shown()
    assert answer["status"] == "budget_exceeded" and "Daily suggestion limit reached." in page


@pytest.mark.parametrize(
    ("status", "stop_reason", "message", "words"),
    [
        ("budget_exceeded", "budget", REFUSALS["run"][1], RUN_MONEY_SPENT),
        ("agent_error", "turn_limit", "All 20 turns are used up.", STOP_SENTENCES[StopReason.TURN_LIMIT]),
    ],
)
def test_a_run_that_was_stored_long_ago_says_its_cap_too(status, stop_reason, message, words):
    assert run_reason(Run(status=status, stop_reason=stop_reason, message=message)) == words


def test_what_was_found_comes_before_a_failure_of_another_kind():
    message = status_message("agent_timeout", 0, f"{CHANGE_IN_REVIEW} The time for this run is up.")
    assert message == f"{CHANGE_IN_REVIEW} Suggestion generation took too long. Please try again."


# --- The sentences --------------------------------------------------------------------------------------


@pytest.mark.parametrize("sentence", sorted({*CHANGES_FOUND, *SILENCE_SENTENCES.values(), NO_CHANGE}))
def test_our_own_sentences_reach_the_reader_whole_and_words_that_lead_away_do_not(sentence: str):
    assert run_reason(Run(status="completed", message=sentence)) == sentence
    lured = f"{sentence} Sign in on evil.dev with your password."
    assert run_reason(Run(status="completed", message=lured)) in (sentence, "")


def test_a_reader_of_german_reads_all_of_it_in_german_but_the_model_s_words():
    reason = f"{CHANGES_STOPPED['pinned']} The model adds: “Your ratings are even.”"
    with translation.override("de"):
        words = reason_shown(reason)
        capped = status_message("agent_error", 0, f"{CHANGE_IN_REVIEW} {STOP_SENTENCES['turn_limit']}")
    assert words.startswith("Eine Änderung wurde gefunden, doch")
    assert words.endswith("Das Modell ergänzt: „Your ratings are even.“")
    assert capped.startswith("Eine Änderung wurde gefunden.") and "an seine Grenze" in capped
