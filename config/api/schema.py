"""The API's OpenAPI description: error codes added to it, and its operations for the documentation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from config.api.codes import CODES, KEY_CHARS_MAX, KEY_HEADER, KEY_PATTERN, Code, codes_of, codes_of_every
from digest.accounts.tokens import SAFE_METHODS, scope_needed

Json = dict[str, Any]
Schema = Mapping[str, Any]
REF = "#/components/schemas/"
ERROR_SCHEMA = {
    "type": "object",
    "title": "Refusal",
    "description": "Why nothing was done; `error` is stable, `message` says what to do. Some add fields.",
    "required": ["error", "message"],
    "properties": {"error": {"type": "string"}, "message": {"type": "string"}},
}
KEY_PARAMETER = {
    "in": "header",
    "name": KEY_HEADER,
    "required": False,
    "schema": {"type": "string", "maxLength": KEY_CHARS_MAX, "pattern": KEY_PATTERN},
}
RETRY_AFTER = {"Retry-After": {"required": True, "schema": {"type": "integer", "minimum": 1}}}
# A path with an invalid id belongs to no operation.
NOT_FOUND = next(code for code in CODES if code.code == "not_found")
FORMATS = {"date-time": "date and time", "date": "date", "uuid": "UUID"}
KINDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a request or a response.

    `name` is its place, such as `entries[].rank`; `kind` and `limits` are text; a `required` one is always
    there.
    """

    name: str
    kind: str
    limits: str
    required: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """The description of a body or a response, with the fields of every level in one list."""

    text: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful response: its HTTP status and its shape."""

    status: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class Operation:
    """One method at one path; `scope` is the least a token needs, `unsafe` whether it changes something."""

    id: str
    method: str
    path: str
    text: str
    scope: str
    unsafe: bool
    parameters: tuple[Field, ...]
    body: Shape | None
    answers: tuple[Answer, ...]
    codes: tuple[Code, ...]


def errors_describe(schema: Json) -> None:
    """Add error codes to each operation of an OpenAPI `schema`, and the key's header to unsafe ones."""
    schema["components"]["schemas"]["Refusal"] = ERROR_SCHEMA
    for methods in schema["paths"].values():
        for method, operation in methods.items():
            unsafe = method.upper() not in SAFE_METHODS
            codes = [
                *codes_of_every(),
                *codes_of(operation["operationId"], unsafe=unsafe, takes=_takes_values(operation)),
            ]
            if any(row["in"] == "path" for row in operation.get("parameters", ())) and NOT_FOUND not in codes:
                codes.append(NOT_FOUND)
            for status in sorted({code.status for code in codes}):
                response = _error_response([code for code in codes if code.status == status], status)
                operation["responses"].setdefault(str(status), response)
            if unsafe:
                operation.setdefault("parameters", []).append(KEY_PARAMETER)


def _takes_values(operation: Schema) -> bool:
    """Whether a value can be invalid; an invalid id in a path is not found instead."""
    rows = operation.get("parameters", ())
    return bool(operation.get("requestBody")) or any(
        row["in"] == "query" or row["schema"].get("format") == "date" for row in rows
    )


def _error_response(codes: list[Code], status: int) -> Json:
    names = {"properties": {"error": {"enum": [code.code for code in codes]}}}
    body = {"allOf": [{"$ref": f"{REF}Refusal"}, names]}
    response: Json = {
        "description": "; ".join(f"`{code.code}`: {code.meaning}" for code in codes),
        "content": {"application/json": {"schema": body}},
    }
    return response | ({"headers": RETRY_AFTER} if status == 429 else {})


def operations_by_area(schema: Schema) -> dict[str, list[Operation]]:
    """Return every operation of an OpenAPI `schema` by its last, most specific tag, in the schema's order."""
    areas: dict[str, list[Operation]] = {}
    shapes = schema.get("components", {}).get("schemas", {})
    for path, methods in schema["paths"].items():
        for method, described in methods.items():
            operation = _operation(method.upper(), path, described, shapes)
            areas.setdefault(described["tags"][-1], []).append(operation)
    return areas


def _operation(method: str, path: str, described: Schema, shapes: Mapping[str, Schema]) -> Operation:
    # Headers and errors are the same everywhere: the page lists them once.
    parameters = [row for row in described.get("parameters", ()) if row["in"] != "header"]
    answers = {
        status: _content(answer, shapes)
        for status, answer in described["responses"].items()
        if int(status) < 400
    }
    unsafe = method not in SAFE_METHODS
    return Operation(
        id=described["operationId"],
        method=method,
        path=path,
        text=described.get("description", ""),
        # An id is a number wherever the scope depends on the path.
        scope=scope_needed(method, path.replace("{item_id}", "0")),
        unsafe=unsafe,
        parameters=tuple(_parameter(row, shapes) for row in parameters),
        body=_content(described.get("requestBody", {}), shapes),
        answers=tuple(Answer(status, shape) for status, shape in answers.items() if shape),
        codes=codes_of(described["operationId"], unsafe=unsafe, takes=_takes_values(described)),
    )


def _parameter(row: Schema, shapes: Mapping[str, Schema]) -> Field:
    kind = f"{kind_of(row['schema'], shapes)}, in the {row['in']}"
    return Field(row["name"], kind, limits_of(row["schema"]), row.get("required", False))


def _content(described: Schema, shapes: Mapping[str, Schema]) -> Shape | None:
    json_content = described.get("content", {}).get("application/json")
    return shape_of(json_content["schema"], shapes) if json_content else None


def shape_of(schema: Schema, shapes: Mapping[str, Schema]) -> Shape:
    """Describe a schema and everything that it refers to among `shapes`."""
    return Shape(_resolved(schema, shapes).get("description", ""), tuple(_fields(schema, shapes)))


def kind_of(schema: Schema, shapes: Mapping[str, Schema]) -> str:
    """Describe the type of a value."""
    schema = _resolved(schema, shapes)
    if choices := schema.get("anyOf"):
        return " or ".join(dict.fromkeys(kind_of(choice, shapes) for choice in choices))
    kind: str = schema.get("type", "anything")
    if kind == "array":
        return f"list ({kind_of(schema.get('items', {}), shapes)})"
    return FORMATS.get(schema.get("format", ""), KINDS.get(kind, kind))


def limits_of(schema: Schema) -> str:
    """Describe the limits of a value and its default."""
    limits = []
    for part in [schema, *schema.get("anyOf", ())]:
        if "enum" in part:
            limits.append("one of " + ", ".join(f"`{value}`" for value in part["enum"]))
        if "maxLength" in part:
            limits.append(f"at most {part['maxLength']} characters")
        if "maxItems" in part:
            limits.append(f"at most {part['maxItems']} entries")
        if "minimum" in part:
            limits.append(f"from {part['minimum']}")
        if "maximum" in part:
            limits.append(f"up to {part['maximum']}")
    if schema.get("default") not in (None, ""):
        limits.append(f"`{schema['default']}` if left out")
    return ", ".join(limits)


def _fields(
    schema: Schema, shapes: Mapping[str, Schema], above: str = "", seen: Sequence[str] = ()
) -> Iterator[Field]:
    """The fields of an object and of every object within; one within itself is listed once."""
    for ref, inner, place in _objects(schema, shapes, above):
        if ref in seen:
            continue
        required = inner.get("required", ())
        for name, value in inner["properties"].items():
            at = f"{place}.{name}" if place else name
            yield Field(at, kind_of(value, shapes), limits_of(value), name in required)
            yield from _fields(value, shapes, at, [*seen, ref] if ref else seen)


def _objects(schema: Schema, shapes: Mapping[str, Schema], place: str) -> Iterator[tuple[str, Schema, str]]:
    """The objects that a value may be or hold, as (reference, schema, place)."""
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
