"""`python -m tests.lab cost`: a typical run is replayed with the real tools, priced, and undone."""

import itertools
import json

import pytest

from digest.models import Item, Reader, Spend
from suggestions.models import Suggestion
from tests.lab.cost.command import main
from tests.support.histories import opinionated

pytestmark = pytest.mark.alike


def evaluated(capsys, *options):
    """Return the command's object and its exit code."""
    code = main(["--json", *options])
    return json.loads(capsys.readouterr().out), code


def row(report, name):
    return next(row for row in report["rows"] if row["name"] == name)


@pytest.mark.django_db
def test_a_typical_run_reads_tests_writes_two_suggestions_and_leaves_nothing(capsys):
    report, _ = evaluated(capsys)
    run = row(report, "run")
    assert (run["ended"], run["turns"], run["tool_calls"], run["tool_errors"]) == ("done", 3, 9, 0)
    reviews = row(report, "reviews")
    assert (reviews["requests"], reviews["stored"], reviews["requests_per_stored"]) == (6, 2, 4.5)
    assert not Reader.objects.exists() and not Item.objects.exists()
    assert not Suggestion.objects.exists() and not Spend.objects.exists()


@pytest.mark.django_db
def test_each_call_carries_the_one_before_so_that_caching_pays(capsys):
    report, code = evaluated(capsys)
    calls = [row for row in report["rows"] if row["name"].startswith("call ")]
    sent = [call["input_tokens"] for call in calls]
    assert sent == sorted(sent) and calls[0]["cached_tokens"] == 0
    for before, after in itertools.pairwise(calls):
        assert before["input_tokens"] - 128 < after["cached_tokens"] <= before["input_tokens"]
    together, alone = row(report, "run and reviews"), row(report, "run")
    assert together["input_tokens"] == alone["input_tokens"] + row(report, "reviews")["input_tokens"]
    assert 0.6 < together["cached_share"] < alone["cached_share"], "reviewers' prompts are short"
    cold, within, warm = (row["cost_usd"] for row in report["rows"] if "cost_usd" in row)
    assert cold > within > warm > 0
    missed = {target["metric"] for target in report["targets"] if not target["met"]}
    assert "cost_usd" not in missed and code == (1 if missed else 0)


def test_a_reader_of_ones_own_is_measured_on_the_prices_asked_for(capsys, ada):
    opinionated(ada)
    cheap, _ = evaluated(capsys, "--user-id", str(ada.pk))
    dear, _ = evaluated(capsys, "--user-id", str(ada.pk), "--model", "openai:gpt-4o")
    assert row(cheap, "run") == row(dear, "run")
    name = "caching within the run"
    assert row(dear, name)["cost_usd"] > 10 * row(cheap, name)["cost_usd"]
    assert not Suggestion.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--user-id", "00000000-0000-0000-0000-000000000000", "no reader"),
        ("--model", "openai:acme-9000", "LLM_PRICES"),
        ("--model", "acme", "provider:model"),
    ],
)
def test_what_cannot_be_measured_is_refused_with_the_reason(option, value, words, capsys):
    with pytest.raises(SystemExit) as refused:
        main([option, value])
    assert refused.value.code == 2 and words in capsys.readouterr().err
