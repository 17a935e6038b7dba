"""The log events that operators search for: each exists, with its required fields."""

import pytest
from structlog.testing import capture_logs

from advisor.run.request import run_request
from suggestions.changes.registry import KINDS
from suggestions.services.resolve import suggestion_accept, suggestion_never, suggestion_reject
from tests.advisor.tools.test_tools import boost, call, liked_urls
from tests.support.browser import suggested
from tests.support.histories import context_for, opinionated

pytestmark = pytest.mark.django_db


def named(logs, event):
    found = [entry for entry in logs if entry["event"] == event]
    assert found, f"no {event} among {[entry['event'] for entry in logs]}"
    return found[0]


def test_a_run_tells_of_its_beginning_its_calls_what_it_wrote_and_its_end(ada, now):
    opinionated(ada)
    with capture_logs() as logs:
        result = run_request(reader=ada, trigger="ui", now=now)
    began, ended = named(logs, "advisor_run_started"), named(logs, "advisor_run_completed")
    assert (began["user_id"], began["trigger"]) == (str(ada.pk), "ui")
    assert ended["user_id"] == str(ada.pk) and ended["suggestions_count"] == result.suggestions_created
    assert ended["turns"] >= 1 and ended["cost_usd"] == 0
    written = named(logs, "suggestion_written")
    assert written["user_id"] == str(ada.pk) and written["suggestion_id"] in result.suggestion_ids
    assert written["type"] in KINDS
    model, tool = named(logs, "model_call"), named(logs, "tool_call")
    assert model["gen_ai.operation.name"] == "chat" and "gen_ai.usage.input_tokens" in model
    assert tool["gen_ai.operation.name"] == "execute_tool" and tool["gen_ai.tool.name"]


def test_a_run_that_is_not_made_says_why(ada, now):
    with capture_logs() as logs:
        run_request(reader=ada, trigger="ui", now=now)
    skipped = named(logs, "advisor_run_skipped")
    assert skipped["user_id"] == str(ada.pk) and "(0 so far)" in skipped["reason"]


def test_a_refused_proposal_is_logged_with_its_code(ada):
    opinionated(ada)
    with capture_logs() as logs:
        call(context_for(ada), "write_suggestion", **boost(liked_urls(ada, "loved.example")[:2]))
    refused = named(logs, "suggestion_rejected_validation")
    assert (refused["user_id"], refused["type"]) == (str(ada.pk), "boost_source")
    assert refused["error"] and refused["evidence_count"] == 2


def test_answers_are_logged_with_their_reason(ada):
    first, second, third = (suggested(ada, target_key=f"{n}.example") for n in range(3))
    at = first.created_at
    with capture_logs() as logs:
        suggestion_accept(reader_id=ada.pk, suggestion_id=first.pk, now=at)
        suggestion_reject(reader_id=ada.pk, suggestion_id=second.pk, now=at, user_reason="Too much, sir")
        suggestion_never(reader_id=ada.pk, suggestion_id=third.pk, now=at)
    accepted = named(logs, "suggestion_accepted")
    assert (accepted["suggestion_id"], accepted["type"]) == (first.pk, "boost_source")
    rejected = [entry for entry in logs if entry["event"] == "suggestion_rejected"]
    assert [entry["suggestion_id"] for entry in rejected] == [second.pk, third.pk]
    assert [entry["user_reason"] for entry in rejected] == ["too_much", "never"]
