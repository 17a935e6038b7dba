"""A real MCP client over stdio: one reader's tools, the same rules, no way to accept."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import anyio
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from advisor.mcp_server import (
    LEASE_S,
    SessionRefused,
    session_call,
    session_close,
    session_open,
    session_renew,
    tools_listed,
)
from advisor.models import Decision, Run, Step
from advisor.run.request import run_request, runs_reconcile
from advisor.tools.registry import TOOLS
from config import __version__
from digest.models import Reader
from suggestions.models import Suggestion
from suggestions.proposals import FenceLost
from tests.advisor.tools.test_tools import boost, liked_urls
from tests.support.factories import ReaderFactory
from tests.support.histories import balanced, opinionated

pytestmark = pytest.mark.alike

ROOT = Path(__file__).resolve().parents[2]
MANAGE = str(ROOT / "manage.py")


# --- The wire -------------------------------------------------------------------------------------------


@pytest.fixture
def server(transactional_db, tmp_path):
    """Return the settings to start the server in its own process, on a database that both can see."""
    env = {"TIDINGS_VAR_DIR": str(tmp_path), "REDIS_URL": "", "TIDINGS_ENV_FILE": ""}
    now = timezone.now()
    opinionated(ReaderFactory(username="ada"), now=now)
    path = tmp_path / "tidings.sqlite3"
    if connection.vendor == "sqlite":
        connection.connection.execute(f"VACUUM INTO '{path}'")
        env["DATABASE_URL"] = f"sqlite:///{path}"
    else:
        of = connection.settings_dict
        host, port = of["HOST"] or "127.0.0.1", of["PORT"] or 5432
        env["DATABASE_URL"] = f"postgres://{of['USER']}:{of['PASSWORD']}@{host}:{port}/{of['NAME']}"
    return {**os.environ, **env}


def rows(env, query):
    """Return rows of the server's database."""
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(env["DATABASE_URL"].removeprefix("sqlite:///"))) as database:
            return database.execute(query).fetchall()
    with connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchall()


async def talk(env, errlog, said):
    """Run one session. Return all requests and answers, as (name, answer)."""
    # The shell copies stdout, and notes the server's exit code.
    copied = '{ "$@"; echo $? > "$NOTES/code"; } | tee "$NOTES/stdout"'
    arguments = ["-c", copied, "sh", sys.executable, MANAGE, "serve_mcp", "--reader", "ada"]
    server = StdioServerParameters(command="sh", args=arguments, env=env, cwd=ROOT)
    async with stdio_client(server, errlog=errlog) as (reads, writes), ClientSession(reads, writes) as client:
        hello = await client.initialize()
        said["hello"] = (hello.server_info.name, hello.instructions, hello.server_info.version)
        said["tools"] = (await client.list_tools()).tools

        async def call(name, arguments):
            answer = await client.call_tool(name, arguments)
            return answer.is_error, json.loads(answer.content[0].text)

        said["feedback"] = await call("query_user_feedback", {"window_days": 14})
        said["config"] = await call("query_user_config", {})
        ideas = said["feedback"][1]["hypotheses"]
        best = next(idea for idea in ideas if idea["target"] == "loved.example")
        draft = {
            "suggestion_type": best["type"],
            "target": best["target"],
            "suggested_value": best["suggested_value"],
            "evidence": best["supporting_items"],
            "reason": "Good stuff.",
        }
        better = {"reason": "You liked 38 of 40 articles from Loved, far more than of other sources."}
        said["smuggled"] = await call("write_suggestion", draft | {"user_id": str(uuid4())})
        said["vague"] = await call("write_suggestion", draft)
        said["written"] = await call("write_suggestion", draft | better)
        said["twice"] = await call("write_suggestion", draft | better)
        said["accepted"] = await call("accept_suggestion", {"suggestion_id": 1})
        said["unknown"] = await call("drop_tables", {})


def test_a_session_from_hello_to_goodbye(server, tmp_path, monkeypatch):
    # A hang-up ends the server by itself, but on a busy machine not always within the client's two seconds.
    monkeypatch.setattr("mcp.client.stdio.PROCESS_TERMINATION_TIMEOUT", 30.0)
    said = {}
    with (tmp_path / "stderr").open("w") as errlog:
        anyio.run(talk, server | {"LOG_LEVEL": "DEBUG", "NOTES": str(tmp_path)}, errlog, said)

    assert said["hello"][0] == "tidings-advisor" and "nothing here accepts" in said["hello"][1]
    assert said["hello"][2] == __version__
    assert [tool.name for tool in said["tools"]] == [name for name in TOOLS if name != "finish"]
    assert not {"accept_suggestion", "resolve", "update_user_config"} & {tool.name for tool in said["tools"]}
    assert "user_id" not in json.dumps([tool.input_schema for tool in said["tools"]])
    assert said["feedback"][0] is False and said["feedback"][1]["meta"]["items_returned"] >= 15
    assert said["config"] == (False, said["config"][1]) and "active_weights" in said["config"][1]
    assert said["smuggled"][0] and said["smuggled"][1]["error"] == "invalid_arguments"
    assert said["vague"][0] and said["vague"][1]["error"] == "review_improve"
    assert "does not name the target" in said["vague"][1]["details"]
    assert said["written"][0] is False and said["written"][1]["success"] is True, said["written"]
    assert said["twice"][0] and said["twice"][1]["error"] == "duplicate_pending"
    for name in ("accepted", "unknown"):
        assert said[name][0] and said[name][1]["error"] == "unknown_tool"
        assert said[name][1]["valid_tools"] == list(TOOLS)

    (run,) = rows(server, "SELECT trigger, status, stop_reason, tool_calls, turns FROM advisor_run")
    assert run == ("mcp", "completed", "session_ended", 8, 0)
    steps = rows(server, "SELECT tool, error_code FROM advisor_step ORDER BY n")
    assert steps == [
        ("query_user_feedback", ""),
        ("query_user_config", ""),
        ("write_suggestion", "invalid_arguments"),
        ("write_suggestion", "review_improve"),
        ("write_suggestion", ""),
        ("write_suggestion", "duplicate_pending"),
        ("accept_suggestion", "unknown_tool"),
        ("drop_tables", "unknown_tool"),
    ]
    assert rows(server, "SELECT status FROM suggestions_suggestion") == [("pending",)]
    assert rows(server, "SELECT count(*) FROM ranking_rankconfig") == [(0,)]
    assert "advisor_run_started" in (tmp_path / "stderr").read_text()
    # Nothing but the protocol reaches stdout, however much is logged, and a hang-up ends the server.
    messages = [json.loads(line) for line in (tmp_path / "stdout").read_text().splitlines()]
    assert len(messages) >= 10 and {message["jsonrpc"] for message in messages} == {"2.0"}
    assert (tmp_path / "code").read_text() == "0\n"


def test_a_killed_server_leaves_a_session_that_the_reconciler_ends(server):
    killed = subprocess.Popen(
        [sys.executable, MANAGE, "serve_mcp", "--reader", "ada"],
        env=server,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with killed:
        killed.stderr.readline()
        killed.send_signal(signal.SIGKILL)
    assert rows(server, "SELECT status FROM advisor_run") == [("running",)]


# --- Who may --------------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "words"),
    [({"is_active": False}, "not active"), ({"ai_enabled": False}, "has turned models off")],
)
def test_some_readers_have_no_session(ada, change, words):
    Reader.objects.filter(pk=ada.pk).update(**change)
    for named in ("ada", str(ada.pk)):
        with pytest.raises(CommandError, match=words):
            call_command("serve_mcp", reader=named)
    assert not Run.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("change", [{"is_active": False}, {"ai_enabled": False}])
def test_a_session_ends_when_its_reader_turns_models_off(ada, now, change):
    opinionated(ada)
    session = session_open(reader=ada, now=now)
    first = session_call(session=session, name="query_user_feedback", arguments={}, now=now)
    Reader.objects.filter(pk=ada.pk).update(**change)
    then = session_call(session=session, name="query_user_feedback", arguments={}, now=now)
    assert "Loved" in first.content and then.error_code == "session_over" and "Loved" not in then.content
    Reader.objects.filter(pk=ada.pk).update(is_active=True, ai_enabled=True)
    with pytest.raises(FenceLost):
        session_call(session=session, name="query_user_feedback", arguments={}, now=now)


@pytest.mark.django_db
@pytest.mark.parametrize("named", ["nobody", "3f0c2a52-8d4e-4b52-9f0b-7c3f0a1d2e4f", "", "💥"])
def test_an_unknown_reader_is_a_clear_error(named):
    with pytest.raises(CommandError, match="There is no reader"):
        call_command("serve_mcp", reader=named)


@pytest.mark.django_db
def test_with_the_advisor_off_there_is_no_session(ada, now, settings):
    settings.ADVISOR_ENABLED = False
    with pytest.raises(SessionRefused, match="ADVISOR_ENABLED"):
        session_open(reader=ada, now=now)


def test_tools_say_which_of_them_write():
    hints = {tool.name: tool.annotations.read_only_hint for tool in tools_listed()}
    assert [name for name, reads in hints.items() if not reads] == ["write_suggestion"]


# --- The session's place --------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_session_neither_waits_for_the_days_run_nor_takes_its_place(ada, now):
    balanced(ada)
    first = session_open(reader=ada, now=now)
    assert run_request(reader=ada, trigger="ui", now=now).status == "completed"
    second = session_open(reader=ada, now=now)
    assert session_close(session=first, now=now) and session_close(session=second, now=now)
    day_after = now + timedelta(days=8)
    assert session_close(session=session_open(reader=ada, now=day_after), now=day_after)
    assert run_request(reader=ada, trigger="scheduled", now=day_after).status == "completed"


@pytest.mark.django_db
def test_what_a_session_wrote_is_what_the_reader_has_to_decide_first(ada, now):
    opinionated(ada)
    session = session_open(reader=ada, now=now)
    why = "You liked 38 of 40 articles from Loved, far more than of other sources."
    draft = boost(liked_urls(ada, "loved.example")) | {"reason": why}
    answer = session_call(session=session, name="write_suggestion", arguments=draft, now=now)
    assert answer.error_code == "", answer.content
    assert run_request(reader=ada, trigger="ui", now=now).status == "blocked_pending"
    written = Suggestion.objects.get()
    assert (written.run_id, written.created_at) == (session.run.pk, now)


@pytest.mark.django_db
def test_each_call_is_a_step_at_its_own_time(ada, now):
    session = session_open(reader=ada, now=now)
    later = now + timedelta(hours=2)
    session_call(session=session, name="query_user_config", arguments={}, now=now)
    session_call(session=session, name="query_user_config", arguments={"x": 1}, now=later)
    first, second = Step.objects.order_by("n")
    assert first.at - now < timedelta(minutes=1) and timedelta(0) <= second.at - later < timedelta(minutes=1)
    assert (first.error_code, second.error_code) == ("", "invalid_arguments")


@pytest.mark.django_db
def test_a_renewed_session_lives_and_a_silent_one_is_ended_once_not_run_again(ada, now):
    session = session_open(reader=ada, now=now)
    later = now + timedelta(seconds=LEASE_S - 1)
    assert session_renew(session=session, now=later)
    assert runs_reconcile(now=now + timedelta(seconds=LEASE_S + 1))["requeued"] == 0
    gone = later + timedelta(seconds=LEASE_S + 1)
    assert runs_reconcile(now=gone) == {"requeued": 0, "given_up": 0, "woken": 0}
    run = Run.objects.get()
    assert (run.status, run.stop_reason, run.finished_at) == ("completed", "lease_expired", gone)
    assert Decision.objects.get().action == "session_ended"
    with pytest.raises(FenceLost):
        session_call(session=session, name="query_user_config", arguments={}, now=gone)
    assert not session_renew(session=session, now=gone)
    assert not session_close(session=session, now=gone)
