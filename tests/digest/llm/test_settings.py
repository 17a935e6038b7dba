"""Settings of models: providers, prices and checks."""

import json
import socket
from decimal import Decimal

import pytest
from django.core.checks.registry import registry
from hypothesis import given
from hypothesis import strategies as st

from digest.apps import check_models
from digest.llm.client import chain_configured
from digest.llm.entities import PriceUnknown, Usage
from digest.llm.prices import cache_saved_usd, cost_usd, input_tokens_worst, tokens_estimated
from digest.llm.providers import PROVIDERS, model_ref_parse

USAGE = Usage(input_tokens=10_000, cached_tokens=4_000, output_tokens=1_000)


def check_ids() -> list[str]:
    assert check_models in registry.get_checks(), "`manage.py check` must run it"
    return [message.id for message in check_models()]


def test_the_chain_keeps_its_order_and_leaves_out_what_has_no_key(settings):
    settings.LLM_CHAIN = ["gemini:gemini-2.5-flash", "openai:gpt-6-luna", "local:qwen3:4b"]
    settings.OPENAI_API_KEY, settings.LOCAL_LLM_BASE_URL = "k", "http://127.0.0.1:9/v1"
    assert [model.name for model in chain_configured()] == ["openai:gpt-6-luna", "local:qwen3:4b"]


def test_a_purpose_may_have_a_chain_of_its_own(settings):
    settings.OPENAI_API_KEY = "k"
    settings.LLM_CHAIN, settings.LLM_CHAIN_REVIEW = ["openai:gpt-6-luna"], ["openai:gpt-4o"]
    assert [model.name for model in chain_configured("review")] == ["openai:gpt-4o"]
    assert [model.name for model in chain_configured("advisor")] == ["openai:gpt-6-luna"]


@pytest.mark.parametrize("entry", ["opnai:gpt-4o", "gpt-4o", "openai:", ""])
def test_a_chain_that_names_no_provider_fails_the_check_and_the_chain(settings, entry):
    settings.LLM_CHAIN = ["openai:gpt-6-luna", entry]
    assert check_ids() == ["tidings.E001"]
    with pytest.raises(ValueError, match="openai, anthropic, gemini, openrouter, local"):
        chain_configured()


@pytest.mark.parametrize("price", ["1", "1/x", "1/2/3", "-1/2", "nan/1", "inf/1", ""])
def test_a_price_that_is_none_fails_the_check(settings, price):
    settings.LLM_PRICES = {"my-model": price}
    assert check_ids() == ["tidings.E002"]


def test_the_settings_as_shipped_pass_the_checks():
    assert check_ids() == []


def test_the_chain_as_shipped_asks_five_providers_in_order_once_they_are_configured(settings):
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY")
    for name in keys:
        setattr(settings, name, "k")
    settings.LOCAL_LLM_BASE_URL = "http://127.0.0.1:9/v1"
    chain = chain_configured()
    assert [model.name.partition(":")[0] for model in chain] == list(PROVIDERS)
    assert chain[0].name == "openai:gpt-6-luna" and chain[-1].name == "local:default"
    assert all(model.worst_case_usd([], []) < Decimal("0.01") for model in chain), "every price is known"


def test_a_chain_entry_may_leave_the_local_models_name_to_its_setting(settings):
    settings.LOCAL_LLM_MODEL = "qwen3:4b"
    assert model_ref_parse("local").model == "qwen3:4b"
    assert model_ref_parse("local:other").model == "other"


@pytest.mark.parametrize("chain", ["LLM_CHAIN", "LLM_CHAIN_ADVISOR", "LLM_CHAIN_REVIEW", "LLM_CHAIN_SUMMARY"])
def test_a_model_without_a_price_is_warned_about_in_every_chain(settings, chain):
    setattr(settings, chain, ["openai:acme-9000"])
    assert check_ids() == ["tidings.W003"], "nobody could call it"
    settings.OPENAI_API_KEY = "k"
    [warning] = check_models()
    assert warning.id == "tidings.W001" and "LLM_PRICES" in warning.msg
    settings.LLM_PRICES = {"acme-9000": "1/2"}
    assert check_ids() == []


@pytest.mark.parametrize(
    ("name", "value", "check_id"),
    [
        ("OPENAI_WIRE", "grpc", "tidings.E003"),
        ("LOCAL_LLM_TOOL_MODE", "yaml", "tidings.E004"),
        ("LLM_REASONING_EFFORT", "huge", "tidings.E005"),
        ("LLM_CHAIN_REVIEW", ["opnai:gpt-4o"], "tidings.E001"),
        ("LLM_CHAIN_SUMMARY", ["opnai:gpt-4o"], "tidings.E001"),
    ],
)
def test_a_setting_that_names_nothing_known_fails_the_check(settings, name, value, check_id):
    setattr(settings, name, value)
    assert check_ids() == [check_id]


@pytest.mark.parametrize(
    ("base_url", "chain", "warnings"),
    [
        ("", ["openai:gpt-6-luna"], []),
        ("https://api.openai.com/v1", ["openai:gpt-6-luna"], []),
        ("https://proxy.example/v1", ["openai:gpt-6-luna"], ["tidings.W002"]),
        ("", ["local"], ["tidings.W002"]),
    ],
)
def test_the_responses_wire_is_for_openai_only(settings, base_url, chain, warnings):
    settings.OPENAI_WIRE, settings.OPENAI_BASE_URL, settings.LLM_CHAIN = "responses", base_url, chain
    key = "LOCAL_LLM_BASE_URL" if chain == ["local"] else "OPENAI_API_KEY"
    setattr(settings, key, "http://127.0.0.1:11434/v1")  # any text does for a key
    assert check_ids() == warnings


@pytest.mark.parametrize(
    ("model", "usd"),
    [
        ("openai:gpt-6-luna", "0.00114"),
        ("openai:gpt-4o", "0.030"),
        ("anthropic:claude-sonnet-4-5", "0.0342"),
        ("gemini:gemini-2.5-flash", "0.00442"),
        ("openrouter:openai/gpt-4o", "0.030"),
        ("local:anything", "0"),
    ],
)
def test_prices_are_known_without_a_network(model, usd, monkeypatch):
    monkeypatch.setattr(socket.socket, "connect", None)
    assert cost_usd(model_ref_parse(model), USAGE) == Decimal(usd)


def test_an_unknown_model_has_no_price_until_one_is_configured(settings):
    ref = model_ref_parse("openai:acme-9000")
    with pytest.raises(PriceUnknown, match=r"acme-9000=<in>/<out>"):
        cost_usd(ref, USAGE)
    settings.LLM_PRICES = {"acme-9000": "2/10"}
    assert cost_usd(ref, USAGE) == Decimal("0.03")
    settings.LLM_PRICES["openai:acme-9000"] = "1 / 5"
    assert cost_usd(ref, USAGE) == Decimal("0.015")


def test_what_a_cache_saved_is_the_difference_to_a_call_without_one(settings):
    model = "anthropic:claude-sonnet-4-5"
    read, written = Usage(10_000, 4_000, 1_000), Usage(10_000, 0, 1_000, written_tokens=4_000)
    plain = cost_usd(model_ref_parse(model), Usage(10_000, 0, 1_000))
    assert cache_saved_usd(model, read) == plain - cost_usd(model_ref_parse(model), read) > 0
    assert cache_saved_usd(model, written) == plain - cost_usd(model_ref_parse(model), written) < 0
    billed, router = Usage(10_000, 4_000, 1_000, billed_usd=Decimal(9)), "openrouter:openai/gpt-4o"
    assert cache_saved_usd(router, billed) == cache_saved_usd(router, read) > 0, "whatever was billed"
    assert cache_saved_usd("openai:acme-9000", read) == cache_saved_usd("acme", read) == 0


def test_a_call_is_reckoned_at_two_tokens_for_four_characters_of_its_json():
    messages, tools = [{"role": "user", "content": "Hello"}], [{"type": "function"}]
    assert [tokens_estimated(n) for n in (0, 4, 10, 4_000)] == [1, 1, 2, 1_000]
    assert input_tokens_worst(messages, tools) == 2 * round(len(json.dumps([messages, tools])) / 4)


@given(st.text(alphabet=st.characters(categories=["Lo"]), min_size=50, max_size=500))
def test_scripts_with_a_token_a_character_are_not_undercounted(words):
    assert input_tokens_worst([{"role": "user", "content": words}], []) >= len(words)
