"""The command `summarise`."""

import json

import pytest
from django.core.management import CommandError, call_command
from pytest_httpserver import HTTPServer

from digest.models import Summary
from tests.support.browser import ago
from tests.support.scripted_model import Script
from tests.support.summaries import answer_to, carry

WORDS = ["gulls", "terns", "crabs", "seals", "whelks", "mussels", "herring", "cod"]


def ran(capsys, name: str, *args: object) -> str:
    call_command(name, *args)
    return capsys.readouterr().out


def recent(reader, word: str):
    item = carry(reader, word)
    item.dated_at = ago(2)
    item.save()
    return item


def test_a_round_without_a_provider_reports_its_extracts(ada, capsys):
    recent(ada, "gulls")
    report = json.loads(ran(capsys, "summarise", "--json"))
    assert (report["extracts"], report["asked"], report["cost_usd"], report["stopped"]) == (1, 0, 0.0, "")
    assert "0 new texts" in ran(capsys, "summarise")


def test_a_round_with_a_provider_reports_its_summaries(ada, capsys, httpserver: HTTPServer, settings):
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "k", httpserver.url_for("/v1")
    settings.LLM_CHAIN = ["openai:gpt-6-luna"]
    for word in WORDS:
        recent(ada, word)
    with Script(httpserver, [], beyond=answer_to):
        output = ran(capsys, "summarise", "--limit", "3")
    assert "3 of 3 wanted texts went to a model in 1 calls: 3 summaries kept, 0 repaired, 0 refused" in output
    assert Summary.objects.exclude(model="offline").count() == 3
    with Script(httpserver, []):
        assert json.loads(ran(capsys, "summarise", "--limit", "0", "--json"))["wanted"] == 0


def test_a_negative_limit_is_a_usage_error():
    with pytest.raises(CommandError) as refused:
        call_command("summarise", "--limit", "-1")
    assert refused.value.returncode == 2
