"""Schemas in the strict form, and who is sent them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from advisor.tools.registry import TOOLS, schemas
from digest.llm.client import chain_configured
from digest.llm.forms import schema_close, tool_close
from digest.llm.providers import PROVIDERS, Endpoint, provider_holds_tools
from tests.support.scripted_model import Script, text

KNOWN = {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "description"}
ASK = [{"role": "user", "content": "Hello"}]


def nodes_of(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every part of a schema that is a schema itself."""
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    for one in [*inner, *([schema["items"]] if "items" in schema else [])]:
        yield from nodes_of(one)


@pytest.mark.parametrize("tool", schemas(), ids=list(TOOLS))
def test_every_tool_has_a_strict_form(tool):
    declared = tool_close(tool)["function"]
    assert declared["strict"] is True and declared["name"] == tool["function"]["name"]
    for node in nodes_of(declared["parameters"]):
        assert set(node) <= KNOWN and ("type" in node) != ("anyOf" in node)
        if node.get("type") == "object":
            assert node["required"] == list(node["properties"]) and node["additionalProperties"] is False


def test_what_may_be_left_out_may_be_null_and_nothing_else():
    fields = {
        "must": {"type": "string"},
        "may": {"type": "integer", "default": 3},
        "choice": {"type": "string", "enum": ["a"]},
        "either": {"anyOf": [{"type": "string"}, {"type": "number"}]},
    }
    closed = schema_close({"type": "object", "properties": fields, "required": ["must"]}, nullable=True)
    assert closed["properties"] == {
        "must": {"type": "string"},
        "may": {"type": ["integer", "null"]},
        "choice": {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
        "either": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]},
    }


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_openai_is_sent_strict_tools(httpserver, settings, monkeypatch, wire):
    own = replace(PROVIDERS["openai"], base_url=httpserver.url_for("/v1"))
    monkeypatch.setitem(PROVIDERS, "openai", own)
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "sk-secret", ""
    settings.LLM_CHAIN, settings.OPENAI_WIRE = ["openai:gpt-6-luna"], wire
    with Script(httpserver, [text("Hi")]) as script:
        chain_configured()[0].complete(ASK, schemas(), timeout_s=5)
    told = [tool.get("function", tool) for tool in script.bodies[0]["tools"]]
    assert told == [
        {**tool, **tool_close(schema)["function"]} for tool, schema in zip(told, schemas(), strict=True)
    ]


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_another_vendor_at_openais_setting_is_sent_plain_tools(httpserver, settings, wire):
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "sk-secret", httpserver.url_for("/v1")
    settings.LLM_CHAIN, settings.OPENAI_WIRE = ["openai:gpt-6-luna"], wire
    with Script(httpserver, [text("Hi")]) as script:
        chain_configured()[0].complete(ASK, schemas(), timeout_s=5)
    assert not any(tool.get("function", tool).get("strict") for tool in script.bodies[0]["tools"])


@pytest.mark.parametrize(
    ("address", "strict"),
    [
        ("https://api.openai.com/v1", True),
        ("https://eu.api.openai.com/v1", True),
        ("https://api.openai.com.evil.example/v1", False),
        ("https://notapi.openai.com/v1", False),
        ("https://vendor.example/openai", False),
        ("nonsense", False),
    ],
)
def test_tools_are_strict_at_the_hosts_of_the_provider_alone(address, strict):
    assert provider_holds_tools(PROVIDERS["openai"], Endpoint(address, "sk-secret", "openai")) is strict
    gemini = Endpoint(PROVIDERS["gemini"].base_url, "sk-secret", "gemini")
    assert not provider_holds_tools(PROVIDERS["gemini"], gemini)


@pytest.mark.parametrize("name", ["anthropic", "gemini", "openrouter", "local"])
def test_others_are_sent_plain_tools(httpserver, settings, monkeypatch, name):
    address = httpserver.url_for("/v1")
    monkeypatch.setitem(PROVIDERS, name, replace(PROVIDERS[name], base_url=address))
    settings.LOCAL_LLM_BASE_URL, settings.LLM_CHAIN = address, [f"{name}:any"]
    setattr(settings, PROVIDERS[name].names.key, "sk-secret")
    with Script(httpserver, [text("Hi")]) as script:
        chain_configured()[0].complete(ASK, schemas(), timeout_s=5)
    assert script.bodies[0]["tools"] == list(schemas())
