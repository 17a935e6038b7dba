"""The API's own description (OpenAPI 3.1) in the words of a page: what goes in, what comes out. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from config.api_codes import Code, codes_of
from config.api_refusals import takes_values
from digest.scopes import SAFE, scope_needed

Schema = Mapping[str, Any]
REF = "#/components/schemas/"
FORMATS = {"date-time": "date and time", "date": "date", "uuid": "UUID"}
KINDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a request or an answer.

    `name` is where it stands, as `entries[].rank`; `kind` and `limits` are words; `required` says that it is
    always there.
    """

    name: str
    kind: str
    limits: str
    required: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """What a body or an answer looks like, every level of it in one list."""

    words: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that is no refusal: its HTTP status and its shape."""

    status: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class Operation:
    """One method at one path; `scope` is the least a token needs, `unsafe` whether it changes something."""

    id: str
    method: str
    path: str
    words: str
    scope: str
    unsafe: bool
    parameters: tuple[Field, ...]
    body: Shape | None
    answers: tuple[Answer, ...]
    codes: tuple[Code, ...]


def operations_by_area(schema: Schema) -> dict[str, list[Operation]]:
    """Every operation of an OpenAPI `schema`, by the most particular of its tags, in the schema's order."""
    areas: dict[str, list[Operation]] = {}
    shapes = schema.get("components", {}).get("schemas", {})
    for path, methods in schema["paths"].items():
        for method, said in methods.items():
            areas.setdefault(said["tags"][-1], []).append(_operation(method.upper(), path, said, shapes))
    return areas


def shape_of(schema: Schema, shapes: Mapping[str, Schema]) -> Shape:
    """A schema with everything that it refers to among `shapes`."""
    words = _resolved(schema, shapes).get("description", "")
    return Shape(words, tuple(_fields(schema, shapes)))


def kind_of(schema: Schema, shapes: Mapping[str, Schema]) -> str:
    """In words what a value is."""
    schema = _resolved(schema, shapes)
    if choices := schema.get("anyOf"):
        return " or ".join(dict.fromkeys(kind_of(choice, shapes) for choice in choices))
    kind: str = schema.get("type", "anything")
    if kind == "array":
        return f"list ({kind_of(schema.get('items', {}), shapes)})"
    return FORMATS.get(schema.get("format", ""), KINDS.get(kind, kind))


def limits_of(schema: Schema) -> str:
    """In words what a value must keep to, and what it is when it is left out."""
    words = []
    for part in [schema, *schema.get("anyOf", ())]:
        if "enum" in part:
            words.append("one of " + ", ".join(f"`{value}`" for value in part["enum"]))
        if "maxLength" in part:
            words.append(f"at most {part['maxLength']} characters")
        if "maxItems" in part:
            words.append(f"at most {part['maxItems']} entries")
        if "minimum" in part:
            words.append(f"from {part['minimum']}")
        if "maximum" in part:
            words.append(f"up to {part['maximum']}")
    if schema.get("default") not in (None, ""):
        words.append(f"`{schema['default']}` if left out")
    return ", ".join(words)


def _operation(method: str, path: str, said: Schema, shapes: Mapping[str, Schema]) -> Operation:
    # Headers and refusals are the same everywhere: the page says them once.
    parameters = tuple(_parameter(row, shapes) for row in said.get("parameters", ()) if row["in"] != "header")
    body = _content(said.get("requestBody", {}), shapes)
    answers = {
        status: _content(answer, shapes) for status, answer in said["responses"].items() if int(status) < 400
    }
    return Operation(
        id=said["operationId"],
        method=method,
        path=path,
        words=said.get("description", ""),
        # An id is a number wherever the scope hangs on the path.
        scope=scope_needed(method, path.replace("{item_id}", "0")),
        unsafe=method not in SAFE,
        parameters=parameters,
        body=body,
        answers=tuple(Answer(status, shape) for status, shape in answers.items() if shape),
        codes=codes_of(said["operationId"], unsafe=method not in SAFE, takes=takes_values(said)),
    )


def _parameter(row: Schema, shapes: Mapping[str, Schema]) -> Field:
    kind = f"{kind_of(row['schema'], shapes)}, in the {row['in']}"
    return Field(row["name"], kind, limits_of(row["schema"]), row.get("required", False))


def _content(said: Schema, shapes: Mapping[str, Schema]) -> Shape | None:
    found = said.get("content", {}).get("application/json")
    return shape_of(found["schema"], shapes) if found else None


def _fields(
    schema: Schema, shapes: Mapping[str, Schema], above: str = "", seen: Sequence[str] = ()
) -> Iterator[Field]:
    """The fields of an object and of every object within; one within itself is told once."""
    for ref, inner, place in _objects(schema, shapes, above):
        if ref in seen:
            continue
        required = inner.get("required", ())
        for name, value in inner["properties"].items():
            at = f"{place}.{name}" if place else name
            yield Field(at, kind_of(value, shapes), limits_of(value), name in required)
            yield from _fields(value, shapes, at, [*seen, ref] if ref else seen)


def _objects(schema: Schema, shapes: Mapping[str, Schema], place: str) -> Iterator[tuple[str, Schema, str]]:
    """The objects with fields that a value may be or hold: their names, themselves, and where they stand."""
    ref, schema = schema.get("$ref", ""), _resolved(schema, shapes)
    if "properties" in schema:
        yield ref, schema, place
    for choice in schema.get("anyOf", ()):
        yield from _objects(choice, shapes, place)
    if "items" in schema:
        yield from _objects(schema["items"], shapes, f"{place}[]")


def _resolved(schema: Schema, shapes: Mapping[str, Schema]) -> Schema:
    ref = schema.get("$ref", "")
    return shapes[ref.removeprefix(REF)] if ref else schema
