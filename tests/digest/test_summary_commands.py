"""The commands about summaries: one round, and what is measured of the check."""

import json

import pytest
from django.core.management import CommandError, call_command
from pytest_httpserver import HTTPServer

from digest.grounding_trials import Sample, trials_report
from digest.models import Summary
from tests.digest.summarised import answer_to, carry, long_text
from tests.pages import ago
from tests.scripted import Script

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
    told = json.loads(ran(capsys, "summarise", "--json"))
    assert (told["extracts"], told["asked"], told["cost_usd"], told["stopped"]) == (1, 0, 0.0, "")
    assert "0 new texts" in ran(capsys, "summarise")


def test_a_round_with_one_says_what_became_of_the_texts(ada, capsys, httpserver: HTTPServer, settings):
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "k", httpserver.url_for("/v1")
    settings.LLM_CHAIN = ["openai:gpt-6-luna"]
    for word in WORDS:
        recent(ada, word)
    with Script(httpserver, [], beyond=answer_to):
        said = ran(capsys, "summarise", "--limit", "3")
    assert "3 of 3 wanted texts went to a model in 1 calls: 3 summaries kept, 0 repaired, 0 refused" in said
    assert Summary.objects.exclude(model="offline").count() == 3
    with Script(httpserver, []):
        assert json.loads(ran(capsys, "summarise", "--limit", "0", "--json"))["wanted"] == 0


def test_a_negative_limit_is_a_usage_error():
    with pytest.raises(CommandError) as refused:
        call_command("summarise", "--limit", "-1")
    assert refused.value.returncode == 2


def test_an_evaluation_without_data_says_what_to_set(settings, tmp_path):
    settings.TIDINGS_DATA = str(tmp_path)
    with pytest.raises(CommandError, match="TIDINGS_DATA"):
        call_command("evaluate_summaries")


def test_the_trials_tell_right_from_wrong_and_the_control_from_both():
    samples = [
        Sample(
            f"Report on {word}",
            long_text(word),
            f"In town, 12 {word} of the harbour were counted by the council.",
        )
        for word in WORDS
    ]
    rows = {
        row["name"]: row
        for row in trials_report(samples, [("Empty", "none"), ("Long", long_text("eels"))], 1)
    }
    assert rows["extracts"]["covered"] == 0.5 and rows["extracts"]["citations_exact"] == 1.0
    assert rows["kept: faithful"]["false_alarms"] == {"number": len(WORDS)}
    assert rows["overlap, faithful"]["median"] > rows["overlap, cross-wired"]["median"]
    assert rows["caught: another text's summary and citations"]["share"] == 1.0
