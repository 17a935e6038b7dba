"""`check_model` names the faults of a model and of its server, and the settings that mend them."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.test import override_settings
from django.utils import timezone
from pytest_httpserver import HTTPServer

from advisor.guidance.store import memories_sync
from advisor.run import model_check
from advisor.run.model_verdict import Suggested
from config.demo.people import ADA
from config.demo.seed import demo_seed
from config.management.commands.check_model import WORDING
from digest.llm.providers import PROVIDERS
from digest.models import Reader
from tests.config.test_check_model import chain, checked, clumsy, good, silent
from tests.support.local_servers import (
    OllamaServer,
    cutting,
    in_parts,
    only_thinking,
    thinking,
    thinking_aloud,
)
from tests.support.scripted_model import Body, Script, Step, calls, garbage, status, text

__all__ = ["chain"]
pytestmark = [pytest.mark.alike, pytest.mark.django_db]


@pytest.fixture(scope="module")
def seeded(
    staged: Callable[[Callable[[], Any]], Any], tmp_path_factory: pytest.TempPathFactory
) -> tuple[UUID, datetime, list[Suggested]]:
    """Seed the demo and ask the planner once for all tests: both are the same, and most of a check's time."""

    def build() -> tuple[UUID, datetime, list[Suggested]]:
        now = timezone.now()
        with override_settings(VAR_DIR=tmp_path_factory.mktemp("demo"), ALLOWED_HOSTS=["127.0.0.1"]):
            reader_id = UUID(demo_seed(now=now).reader_ids[ADA.name])
        memories_sync(now=now)
        reader = Reader.objects.get(pk=reader_id)
        return reader_id, now, model_check._planner_suggested(reader, now)

    return staged(build)


@pytest.fixture(autouse=True)
def checked_here(seeded: tuple[UUID, datetime, list[Suggested]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command check the chain in the seeded world; in `test_check_model.py` it seeds its own."""
    reader_id, now, planned = seeded

    def check_here() -> dict[str, Any]:
        reader = Reader.objects.get(pk=reader_id)
        return model_check.model_check(reader=reader, wording=WORDING, now=now).as_dict()

    monkeypatch.setattr("config.management.commands.check_model._check_here", check_here)
    monkeypatch.setattr("config.management.commands.check_model._readers_refuse", lambda: None)
    monkeypatch.setattr(model_check, "_planner_suggested", lambda *_: planned)


@pytest.fixture
def local(httpserver: HTTPServer, settings, tmp_path: Path) -> HTTPServer:
    """Configure a server of one's own, without a key."""
    settings.LOCAL_LLM_BASE_URL, settings.LLM_CHAIN = httpserver.url_for("/v1/"), ["local"]
    settings.LOCAL_LLM_MODEL, settings.LLM_CHAIN_REVIEW = "qwen3:4b", []
    settings.VAR_DIR, settings.ALLOWED_HOSTS = tmp_path, ["127.0.0.1"]
    return httpserver


def check(server: HTTPServer, answers: Callable[[Body], Step]) -> tuple[dict[str, Any], str]:
    """Return the report of a check in this database, and all that it advises; it takes below two minutes."""
    out, began = StringIO(), time.monotonic()
    with Script(server, [], beyond=answers), pytest.raises(SystemExit):
        call_command("check_model", here=True, json=True, stdout=out)
    assert time.monotonic() - began < 120
    report = json.loads(out.getvalue())
    return report, " ".join(f"{one['what']} {one['change']}" for one in report["findings"])


def test_a_context_that_ollama_cuts_in_silence_is_named_with_both_cures(local: HTTPServer):
    OllamaServer(local, good)
    report, said = check(local, cutting(good, 4096))
    assert report["verdict"] == "not usable"
    assert "lost the beginning" in said and "read 4,096" in said
    assert "OLLAMA_CONTEXT_LENGTH=16384" in said and "LOCAL_LLM_WIRE=ollama" in said
    assert report["figures"]["turns"] == 0, "a run would only cost time"


def test_with_a_context_of_16384_the_same_server_is_good(local: HTTPServer):
    OllamaServer(local, good, context=16384)
    report, said = check(local, cutting(good, 16384))
    assert (report["verdict"], said) == ("good", "")
    [probe] = report["figures"]["probes"]
    assert (
        probe["context"]["server_words"] == "Ollama 0.13.0" and probe["context"]["declared_tokens"] == 16384
    )


def test_by_its_own_address_ollama_gives_the_context_that_each_request_asks_for(local: HTTPServer, settings):
    settings.LOCAL_LLM_WIRE = "ollama"
    own = OllamaServer(local, good)
    report, said = check(local, lambda body: status(500, "no request goes to the other address"))
    assert (report["verdict"], said) == ("good", ""), report
    assert {body["options"]["num_ctx"] for body in own.bodies} == {16384}
    assert {body["think"] for body in own.bodies} == {False}
    called = [m for body in own.bodies for m in body["messages"] if m.get("tool_calls")]
    assert isinstance(called[0]["tool_calls"][0]["function"]["arguments"], dict)


def test_a_model_that_thinks_is_asked_not_to_and_named_where_that_was_switched_off(
    local: HTTPServer, settings
):
    OllamaServer(local, good)
    assert check(local, thinking(good))[0]["verdict"] == "good"


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_a_server_that_thinks_all_the_same_is_named_with_its_cure(local: HTTPServer, settings, field: str):
    settings.LOCAL_LLM_REASONING_EFFORT = ""
    OllamaServer(local, good)
    report, said = check(local, thinking(good, field))
    assert report["verdict"] == "usable" and "thinks before it answers" in said
    assert "LOCAL_LLM_REASONING_EFFORT" in said and "LOCAL_LLM_WIRE=ollama" in said


def test_thoughts_that_leave_no_answer_are_named_and_never_usable(local: HTTPServer):
    local.expect_request("/props").respond_with_json({"default_generation_settings": {"n_ctx": 16384}})
    report, said = check(local, only_thinking(good))
    assert report["verdict"] == "not usable" and "thought until its output was used up" in said
    assert "--reasoning-budget 0" in said, "the cure is the server's own"


@pytest.mark.parametrize("form", [in_parts, thinking_aloud])
def test_answers_in_parts_and_thoughts_in_the_text_are_read(local: HTTPServer, form: Callable[..., Any]):
    report, said = check(local, form(good))
    assert report["verdict"] == ("good" if form is in_parts else "usable"), said
    assert report["figures"]["suggested"], "it did what a model has to do"


def test_slow_tokens_are_named_and_cost_a_minute(local: HTTPServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("advisor.run.model_probes.PROBE_S", 1.0)
    report, said = check(local, lambda body: text("one word after another", drip=True))
    assert report["verdict"] == "not usable" and "too slowly" in said and "LOCAL_LLM_TIMEOUT_S" in said


def test_a_wrong_key_is_named_with_its_setting_and_never_printed(local: HTTPServer, settings):
    settings.LOCAL_LLM_KEY = "sk-own-canary"
    report, said = check(local, lambda body: status(401, "key sk-own-canary is unknown"))
    assert report["verdict"] == "not usable" and "LOCAL_LLM_KEY" in said
    assert "sk-own-canary" not in json.dumps(report)


def test_the_key_of_an_own_server_is_sent(local: HTTPServer, settings):
    settings.LOCAL_LLM_KEY = "sk-own-canary"
    with Script(local, [], beyond=good) as script, pytest.raises(SystemExit):
        call_command("check_model", here=True, json=True, stdout=StringIO())
    assert {one["Authorization"] for one in script.headers} == {"Bearer sk-own-canary"}


@pytest.mark.parametrize(
    ("answers", "cure"),
    [
        (lambda body: status(404, "model 'qwen3:4b' not found, try pulling it first"), "LOCAL_LLM_MODEL"),
        (lambda body: status(400, "model qwen3:4b does not exist"), "LOCAL_LLM_MODEL"),
        (lambda body: status(400, "No connected db."), "LOCAL_LLM_KEY"),
        (lambda body: status(400, "API key not valid. Please pass a valid API key."), "LOCAL_LLM_KEY"),
        (lambda body: status(400, "the request exceeds the available context size"), "--ctx-size 16384"),
        (lambda body: garbage(b'data: {"choices": []}\n\n'), "streams"),
        (lambda body: garbage(b'{"choices": [{"text": "Hi"}]}'), "legacy form"),
        (
            lambda body: garbage(b'{"message": {"content": "Hi"}, "done": true}'),
            "LOCAL_LLM_WIRE",
        ),
        (lambda body: garbage(b"<!doctype html><title>Open WebUI</title>"), "web page"),
        (lambda body: garbage(b'{"error": "model is loading"}'), "model is loading"),
    ],
)
def test_other_forms_and_refusals_say_what_is_wrong(
    local: HTTPServer, answers: Callable[[Body], Step], cure: str
):
    report, said = check(local, answers)
    assert report["verdict"] == "not usable" and cure in said, said


def test_a_server_that_refuses_a_field_by_name_is_asked_without_it(local: HTTPServer):
    def strict(body: Body) -> Step:
        return (
            status(400, "Unknown parameter: reasoning_effort") if "reasoning_effort" in body else good(body)
        )

    assert check(local, strict)[0]["verdict"] == "good"


def test_a_model_that_never_calls_a_tool_is_not_usable_and_the_report_says_what_to_set(chain: HTTPServer):
    code, report = checked(chain, silent)
    assert (code, report["verdict"]) == (2, "not usable")
    assert report["findings"][0]["what"] == "No tool calls."
    change = report["findings"][0]["change"]
    assert "LLM_CHAIN" in change and "LOCAL_LLM" not in change, "it is none of one's own"


def test_broken_calls_are_counted_by_what_is_wrong_with_them(chain: HTTPServer):
    code, report = checked(chain, clumsy)
    counts = report["figures"]["calls"]
    assert (counts["understood"], counts["malformed"], counts["unknown"]) == (3, 1, 1)
    said = " ".join(one["what"] for one in report["findings"])
    assert (code, report["verdict"]) == (2, "not usable"), "it did not answer in form"
    assert (
        "2 of 5 tool calls" in said and "did not answer in the form" in said and "suggested nothing" in said
    )


def test_a_rule_that_refuses_is_named(chain: HTTPServer):
    def careless(body: Body) -> Step:
        step = good(body)
        called = step.message.get("tool_calls", [])
        if called and called[0]["function"]["name"] == "write_suggestion":
            arguments = json.loads(called[0]["function"]["arguments"]) | {"evidence": []}
            return calls(("write_suggestion", arguments), ("write_suggestion", arguments))
        return step

    _, report = checked(chain, careless)
    assert sum(report["figures"]["calls"]["refused"].values()) == 2
    assert report["figures"]["calls"]["repeated"] == 1 and report["figures"]["suggested"] == []


def test_a_model_that_turns_requests_away_is_not_usable_and_its_words_are_passed_on(chain: HTTPServer):
    code, report = checked(chain, lambda body: status(401, "no such key"))
    [first, *_] = report["findings"]
    assert code == 2 and first["fatal"] and "no such key" in first["what"]
    assert first["change"] == "Check the API key in OPENAI_API_KEY."
    assert report["figures"]["turns"] == 0 and "sk-canary" not in json.dumps(report)


def test_the_report_has_a_line_for_each_question_with_its_verdict_and_fits_80_columns(
    chain: HTTPServer, settings, monkeypatch: pytest.MonkeyPatch
):
    settings.ANTHROPIC_API_KEY, out = "sk-other-canary", StringIO()
    settings.LLM_CHAIN = ["openai:gpt-6-luna", "anthropic:claude-haiku-4-5"]
    refusing = replace(PROVIDERS["anthropic"], base_url=chain.url_for("/nothing"))
    monkeypatch.setitem(PROVIDERS, "anthropic", refusing)
    chain.expect_request("/nothing/chat/completions").respond_with_data("no such key", status=401)
    with Script(chain, [], beyond=good), pytest.raises(SystemExit) as ended:
        call_command("check_model", here=True, stdout=out)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80 and ended.value.code == 1
    verdicts = [line.split("  ")[-1].strip() for line in lines if re.match(r"  (a |reviews)", line)]
    assert verdicts == ["good", "good", "usable", "good", "good"], lines
    [cure] = [line.strip() for line in lines if "To do" in line]
    assert cure == "To do: Check the API key in ANTHROPIC_API_KEY." and lines[-1] == "Verdict: usable"


def test_a_server_that_is_not_there_is_not_usable_and_words_say_so(settings, tmp_path: Path):
    settings.LOCAL_LLM_BASE_URL, settings.LLM_CHAIN = "http://127.0.0.1:9/v1", ["local"]
    settings.VAR_DIR, settings.ALLOWED_HOSTS, out = tmp_path, ["127.0.0.1"], StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("check_model", here=True, stdout=out)
    lines = out.getvalue().splitlines()
    assert ended.value.code == 2 and lines[-1] == "Verdict: not usable"
    assert (
        lines[0] == "local:default" and " ".join(lines[1].split()) == "a reader’s words no answer not usable"
    )
    assert "To do: See that its server runs, and that LOCAL_LLM_BASE_URL is" in out.getvalue()
