"""`check_model` gives an operator's model a whole run in a temporary database."""

import json
import os
import re
import signal
import tempfile
from collections.abc import Callable
from dataclasses import astuple, replace
from io import StringIO
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone
from pytest_httpserver import HTTPServer

from advisor.agent.planner import proposal_arguments
from advisor.run.model_probes import form_probe
from advisor.run.model_verdict import CheckFigures, Probe, verdict_of
from config.management.commands import check_model
from config.management.commands.check_model import WORDING
from digest.llm.client import chain_configured
from digest.llm.cures import (
    NAMES,
    REFUSED_WORDS,
    less_thinking_cure,
    page_cure,
    reach_cure,
    refused_cure,
    slow_cure,
    status_cure,
    tools_cure,
)
from digest.llm.providers import PROVIDERS
from digest.llm.replies import truncated_error, unreadable_error
from digest.models import Reader
from tests.support.factories import ReaderFactory
from tests.support.local_servers import code_word
from tests.support.processes import wait_until
from tests.support.scripted_model import Body, Script, Step, calls, finish, status, text

# These tests check a model's words and use a temporary SQLite file, so one database is enough.
pytestmark = pytest.mark.alike

APPROVAL = {"verdict": "approve", "confidence": 0.9, "helps": True, "accepts": True, "reasoning": "Because."}
RIGHT = {"changes": [{"direction": "less", "kind": "source", "name": "gigawow.example"}]}
READ = calls(("query_user_feedback", {}), ("query_user_config", {}))


def typed(body: Body) -> Step:
    """Return the answer to a question without tools: a code word, a reader's words, a proposal to review."""
    if word := code_word(body):
        return text(word, usage=None)
    wish = "in their own words" in body["messages"][0]["content"]
    return text(json.dumps(RIGHT if wish else APPROVAL))


def good(body: Body) -> Step:
    """Read the thumbs, propose the first hypothesis, and end."""
    if not body.get("tools"):
        return typed(body)
    turns = sum(message["role"] == "assistant" for message in body["messages"])
    if turns == 0:
        return READ
    if turns > 1:
        return finish()
    read = json.loads(next(m["content"] for m in body["messages"] if m["role"] == "tool"))
    return calls(("write_suggestion", proposal_arguments(read["hypotheses"][0])))


def silent(body: Body) -> Step:
    """Answer in the right form, and never call a tool."""
    return text("I would read more of Quiet Port.") if body.get("tools") else typed(body)


def clumsy(body: Body) -> Step:
    """Call unknown tools, write arguments that are not JSON, and end."""
    if not body.get("tools"):
        return text(code_word(body) or "Less of Gigawow, I think.")
    turns = sum(message["role"] == "assistant" for message in body["messages"])
    tried = [calls(("query_user_feedback", "{days: 30")), calls(("read_thumbs", {})), READ]
    return tried[turns] if turns < len(tried) else finish()


@pytest.fixture
def chain(httpserver: HTTPServer, settings, tmp_path: Path) -> HTTPServer:
    """Configure one model with a price on the scripted server, and a folder for the demo's feeds."""
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "sk-canary", httpserver.url_for("/v1")
    settings.LLM_CHAIN, settings.VAR_DIR = ["openai:gpt-6-luna"], tmp_path
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    return httpserver


def checked(server: HTTPServer, answers: Callable[[Body], Step]) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the report of a check in this database."""
    out = StringIO()
    with Script(server, [], beyond=answers), pytest.raises(SystemExit) as ended:
        call_command("check_model", here=True, json=True, stdout=out)
    return int(ended.value.code or 0), json.loads(out.getvalue())


def figures_of(probes: list[Probe]) -> CheckFigures:
    """Return the figures of a check that got no further than these questions."""
    return CheckFigures(probes)


@pytest.mark.django_db
def test_a_good_model_is_called_good_with_all_its_figures(chain: HTTPServer):
    code, report = checked(chain, good)
    figures = report["figures"]
    assert (code, report["verdict"], report["findings"]) == (0, "good", [])
    assert (figures["turns"], figures["model"], figures["stop_reason"]) == (3, "openai:gpt-6-luna", "done")
    assert figures["calls"] == {"understood": 4, "malformed": 0, "unknown": 0, "repeated": 0, "refused": {}}
    assert len(figures["by_planner"]) == 3 and report["shared"] == figures["suggested"] != []
    assert figures["votes"] == {"approve": 3} and figures["votes_missing"] == 0
    [probe] = figures["probes"]
    assert probe["reached"] and probe["in_form"] and probe["right"]
    assert figures["usd"] > 0 and figures["input_tokens"] >= 4000 > figures["cached_tokens"] > 0


def test_a_chain_that_refuses_its_key_is_said_by_one_question_before_any_reader_is_made(
    chain: HTTPServer, monkeypatch: pytest.MonkeyPatch
):
    out, err = StringIO(), StringIO()
    monkeypatch.setattr(check_model, "throwaway_run", lambda *_, **__: pytest.fail("a database was made"))
    refusing = Script(chain, [], beyond=lambda body: status(401, "no such key"))
    with refusing as script, pytest.raises(SystemExit) as ended:
        call_command("check_model", stdout=out, stderr=err)
    assert ended.value.code == 2 and out.getvalue().endswith("Verdict: not usable\n")
    assert "To do: Check the API key in OPENAI_API_KEY." in out.getvalue()
    assert len(script.bodies) == 1 and "no such key" in err.getvalue()


@pytest.mark.django_db
@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize(("code", "words"), [(401, "no"), (403, "no"), (400, "API key not valid.")])
def test_a_wrong_key_is_named_by_the_setting_of_its_own_provider(
    httpserver: HTTPServer, settings, monkeypatch: pytest.MonkeyPatch, name: str, code: int, words: str
):
    address = httpserver.url_for("/v1")
    monkeypatch.setitem(PROVIDERS, name, replace(PROVIDERS[name], base_url=address))
    model = {"openrouter": "openai/gpt-4o", "anthropic": "claude-haiku-4-5"}.get(name, "gpt-4o")
    settings.LOCAL_LLM_BASE_URL, settings.LLM_CHAIN = address, [f"{name}:{model}"]
    settings.LLM_PRICES = {model: "1/1"}
    setattr(settings, NAMES[name].key, "sk-canary-of-it")
    reader = ReaderFactory()
    with Script(httpserver, [], beyond=lambda body: status(code, words)):
        probe = form_probe(chain_configured()[0], reader, WORDING.words, WORDING.source, timezone.now())
    others = {setting for other, names in NAMES.items() if other != name for setting in astuple(names)} - {""}
    verdict, findings = verdict_of(figures_of([probe]), interactive_s=30)
    out = f"{probe.message} {findings[0].what} {findings[0].change}"
    assert verdict == "not usable" and NAMES[name].key in findings[0].change
    assert not [setting for setting in others if setting in out], out


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_cure_of_a_provider_names_settings_that_it_reads(name: str):
    own = NAMES[name]
    texts = [status_cure(code, own) for code in (401, 403, 404)]
    texts += [refused_cure(words, own) for _, some in REFUSED_WORDS for words in (*some, "nothing known")]
    texts += [cure(own) for cure in (reach_cure, page_cure, less_thinking_cure, slow_cure, tools_cure)]
    texts += [str(truncated_error(f"{name}:m")), str(unreadable_error(b"{", "x", f"{name}:m", ValueError()))]
    texts += [str(unreadable_error(b'{"message": 1}', "x", f"{name}:m", ValueError()))]
    others = {setting for other, names in NAMES.items() if other != name for setting in astuple(names)}
    for said in filter(None, texts):
        assert not [one for one in others - {*astuple(own), ""} if re.search(rf"\b{one}\b", said)], said


@pytest.mark.parametrize(
    ("entries", "said"), [(["local"], "LOCAL_LLM_BASE_URL"), (["nobody:x"], "names no usable model|nobody:x")]
)
def test_without_a_model_there_is_nothing_to_check(settings, entries: list[str], said: str):
    settings.LLM_CHAIN = entries
    with pytest.raises(CommandError, match=said) as refused:
        call_command("check_model")
    assert refused.value.returncode == 2


def test_a_database_with_readers_is_never_used(chain: HTTPServer, ada: Reader):
    with Script(chain, []), pytest.raises(CommandError, match="without readers"):
        call_command("check_model", here=True)
    assert Reader.objects.get() == ada


# --- In its own database --------------------------------------------------------------------------


@pytest.fixture
def site(chain: HTTPServer, ada: Reader, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Create a site with a reader and its settings in the environment. Return the temporary folder."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    for name, value in {
        "OPENAI_API_KEY": "sk-canary",
        "OPENAI_BASE_URL": chain.url_for("/v1"),
        "LLM_CHAIN": "openai:gpt-6-luna",
        "LLM_CHAIN_REVIEW": "openai:gpt-6-luna",
        "TIDINGS_ENV_FILE": "",
        "ALLOWED_HOSTS": "news.example",
    }.items():
        monkeypatch.setenv(name, value)
    return folder


def rows() -> dict[str, int]:
    return {model._meta.label: model._base_manager.count() for model in apps.get_models()}


@pytest.mark.nightly
def test_a_check_leaves_no_row_and_no_file(site: Path, chain: HTTPServer):
    before, out, err = rows(), StringIO(), StringIO()
    with Script(chain, [], beyond=good), pytest.raises(SystemExit) as ended:
        call_command("check_model", stdout=out, stderr=err)
    assert ended.value.code == 0 and "Verdict: good" in out.getvalue()
    assert "at most 20 turns" in err.getvalue() and "$0.5" in err.getvalue()
    assert rows() == before and list(site.iterdir()) == []


@pytest.mark.nightly
def test_ctrl_c_in_the_middle_leaves_nothing_either(site: Path):
    def interrupt() -> None:
        wait_until(lambda: [*site.rglob("*.sqlite3")], "no database was made")
        os.kill(os.getpid(), signal.SIGINT)

    # A shell starts background jobs with it ignored, and Python then leaves it so.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    before = rows()
    meanwhile = Thread(target=interrupt)
    meanwhile.start()
    with pytest.raises(KeyboardInterrupt):
        call_command("check_model", stderr=StringIO())
    signal.signal(signal.SIGINT, inherited)
    meanwhile.join()
    assert rows() == before and list(site.iterdir()) == []


def test_a_check_that_breaks_says_how_and_leaves_nothing(
    site: Path, chain: HTTPServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TIDINGS_ENV_FILE", "/nowhere/at/all.env")
    before = rows()
    breaks = pytest.raises(CommandError, match="where no file is")
    with Script(chain, [], beyond=good), breaks as broken:
        call_command("check_model", stderr=StringIO())
    assert broken.value.returncode == 2 and rows() == before and list(site.iterdir()) == []
