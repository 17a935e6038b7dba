"""What an assistant can make us store: so many calls a day, and so much of each."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from advisor import mcp_server
from advisor.agent.loop import tool_step
from advisor.mcp_server import session_call, session_open
from advisor.models import Run, Step
from advisor.tools.registry import dispatch
from digest.llm.entities import ToolCall
from tests.support.assistants import reader_with_password

pytestmark = pytest.mark.django_db(transaction=True)
# A message may have 256 KB, and arguments that are read 60,000 characters.
HUGE = "x" * 50_000


@pytest.fixture(autouse=True)
def nobody_asked_yet(own_cache):
    """Reset the rate limit of registrations."""


@pytest.fixture
def ada(site):
    return reader_with_password("ada")


def test_arguments_that_are_too_long_are_refused_and_stored_as_their_beginning(ada, person, assistant):
    token = assistant.connect(person)["access_token"]
    for name, arguments in (
        ("query_user_config", {"note": HUGE}),
        ("write_suggestion", {"reason": HUGE[:20_000], "evidence": [HUGE[:9_000]] * 2}),
        ("no_such_tool", {"a": [[HUGE]]}),
        (HUGE, {HUGE: 1}),
    ):
        assert assistant.call(token, name, **arguments)["success"] is False
    stored = [len(json.dumps(step.arguments)) + len(step.result) for step in Step.objects.all()]
    assert len(stored) == 4 and max(stored) < 5_000


def test_a_models_arguments_that_are_too_long_are_stored_as_their_beginning():
    for arguments in ({"note": HUGE}, {HUGE: 1}, {"a": ["ä" * 30_000]}):
        call = ToolCall("c1", "query_user_config", json.dumps(arguments))
        step = tool_step(call, dispatch(None, call).content, "invalid_arguments", 0.0)
        assert len(json.dumps(step.arguments)) < 15_000


def test_after_so_many_calls_in_a_day_an_assistant_is_refused_and_nothing_is_stored(
    ada, person, assistant, monkeypatch
):
    monkeypatch.setattr(mcp_server, "CALLS_PER_DAY_MAX", 3)
    token = assistant.connect(person)["access_token"]
    calls = [("query_user_config", {}), ("no_such_tool", {}), ("query_user_config", {"bad": 1})] * 2
    codes = [assistant.call(token, name, **given).get("error", "") for name, given in calls]
    assert codes == ["", "unknown_tool", "invalid_arguments", *["enough_for_a_day"] * 3]
    assert Step.objects.count() == 3
    # Another assistant, or a new session, has no new day.
    Run.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert assistant.call(token, "query_user_config")["error"] == "enough_for_a_day"
    assert (Step.objects.count(), Run.objects.count()) == (3, 1)
    # Its other tools still answer, and tomorrow is another day.
    assert "entries" in assistant.call(token, "get_digest")
    Step.objects.update(at=timezone.now() - timedelta(days=1, seconds=1))
    assert "config" in assistant.call(token, "query_user_config")


def test_an_operators_own_session_has_as_many_calls_as_it_needs(ada, monkeypatch):
    monkeypatch.setattr(mcp_server, "CALLS_PER_DAY_MAX", 1)
    now = timezone.now()
    session = session_open(reader=ada, now=now)
    answers = [
        session_call(session=session, name="query_user_config", arguments={}, now=now) for _ in range(3)
    ]
    assert [one.error_code for one in answers] == ["", "", ""]
