"""A strict validator accepts every JSON schema that we send: those of tools, MCP and OpenAPI."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import BaseModel, Field
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from advisor.mcp_server import tools_listed
from advisor.tools import Arguments
from advisor.tools.registry import schema_simplified, schemas
from config.api.mcp_tools import READER_TOOLS, tool_parameters
from config.api.routes import api
from digest.daily.diversity import ExclusionReason

# Objects under these names are no JSON schemas themselves, but contain some.
OPENAPI_SCHEMA_KEYS = ("schema", "schemas")


def problems(document: Any, schema: Any, at: str) -> Iterator[str]:
    """Return the problems of `schema`, a part of `document`. References are resolved in the document."""
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        yield f"{at}: {error.message}"
    resolver = Registry().resolver_with_root(Resource(contents=document, specification=DRAFT202012))
    for place, node in nodes(schema, at):
        if reference := node.get("$ref"):
            try:
                resolver.lookup(reference)
            except Unresolvable:
                yield f"{place}: {reference} refers to nothing"
        if missing := set(node.get("required", ())) - node.get("properties", {}).keys():
            yield f"{place}: requires {missing}, which it does not have"
        if "enum" in node and not node["enum"]:
            yield f"{place}: allows nothing"


def nodes(schema: Any, at: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every object in a schema that can have keywords, with its place."""
    if isinstance(schema, list):
        for n, part in enumerate(schema):
            yield from nodes(part, f"{at}/{n}")
    if isinstance(schema, dict):
        if not at.endswith("/properties"):
            yield at, schema
        for name, part in schema.items():
            if name not in ("default", "example", "examples", "const", "enum"):
                yield from nodes(part, f"{at}/{name}")


def documents() -> dict[str, dict[str, Any]]:
    """Return the schemas of all tools, by the list that they are in."""
    found = {f"agent: {one['function']['name']}": dict(one["function"]["parameters"]) for one in schemas()}
    for tool in tools_listed():
        found[f"stdio: {tool.name}"] = tool.input_schema
        if tool.output_schema:
            found[f"stdio: {tool.name}, output"] = tool.output_schema
    return found | {f"http: {name}": tool_parameters(tool) for name, tool in READER_TOOLS.items()}


@pytest.mark.parametrize("schema", documents().values(), ids=documents())
def test_every_schema_of_a_tool_is_valid_and_whole(schema: dict[str, Any]):
    assert [*problems(schema, schema, "#")] == []
    assert schema["type"] == "object"
    text = str(schema)
    assert "$ref" not in text and "$defs" not in text, "some providers do not resolve references"


def test_the_description_of_the_api_is_valid_and_whole():
    document = api.get_openapi_schema()
    found = list(problems(document, document["components"]["schemas"], "#/components/schemas"))
    for place, node in nodes(document, "#"):
        if reference := node.get("$ref"):
            assert reference.startswith("#/"), place
        for key in ("schema",):
            if key in node:
                found += problems(document, node[key], f"{place}/{key}")
    for name, schema in document["components"]["schemas"].items():
        found += problems(document, schema, f"#/components/schemas/{name}")
    assert found == []


class Mood(StrEnum):
    """An enum, which pydantic stores beside a schema."""

    GOOD = "good"
    BAD = "bad"


class Part(BaseModel):
    """A model within another model."""

    mood: Mood | None = None


class AllShapes(Arguments):
    """A model with every way in which pydantic refers to a definition."""

    mood: Mood
    perhaps: Mood | None = None
    described: Annotated[Mood | None, Field(description="How it is.")] = None
    part: Part
    no_part: Part | None = None
    parts: list[Part] = []
    moods: list[Mood] | None = None
    either: Mood | Part | None = None
    named: dict[str, Mood] = {}
    word: Literal["a", "b"] | None = None


def test_no_reference_survives_whatever_an_argument_is():
    schema = schema_simplified(AllShapes.model_json_schema())
    assert [*problems(schema, schema, "#")] == [] and "$ref" not in str(schema)
    shown = schema["properties"]
    assert shown["perhaps"]["enum"] == shown["mood"]["enum"] == ["good", "bad"]
    assert shown["described"] == {"type": "string", "enum": ["good", "bad"], "description": "How it is."}
    assert shown["no_part"]["properties"]["mood"]["enum"] == ["good", "bad"]
    assert shown["moods"]["items"]["enum"] == ["good", "bad"]


def test_the_reasons_for_leaving_out_are_listed():
    reason = tool_parameters(READER_TOOLS["get_left_out"])["properties"]["reason"]
    assert reason["enum"] == [one.value for one in ExclusionReason]
