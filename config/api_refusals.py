"""The refusals of the API in its OpenAPI description, made of the same codes as its documents. Pure."""

from collections.abc import Mapping
from typing import Any

from config.api_codes import (
    CODES,
    KEY_CHARS_MAX,
    KEY_HEADER,
    KEY_PATTERN,
    Code,
    codes_of,
    codes_of_every,
)
from digest.scopes import SAFE

Json = dict[str, Any]
REFUSAL = {
    "type": "object",
    "title": "Refusal",
    "description": "Why nothing was done; `error` is stable, `message` says what to do. Some add what helps.",
    "required": ["error", "message"],
    "properties": {"error": {"type": "string"}, "message": {"type": "string"}},
}
# An address that none of the operations has, as one with an id that cannot be.
NOWHERE = next(code for code in CODES if code.code == "not_found")


def refusals_described(schema: Json) -> Json:
    """The OpenAPI `schema` with what each operation may refuse, and with the key that unsafe ones take."""
    schema["components"]["schemas"]["Refusal"] = REFUSAL
    for methods in schema["paths"].values():
        for method, said in methods.items():
            _operation(said, unsafe=method.upper() not in SAFE)
    return schema


def takes_values(said: Mapping[str, Any]) -> bool:
    """Whether an operation takes values that can be refused; an id that is none leads nowhere instead."""
    rows = said.get("parameters", ())
    return bool(said.get("requestBody")) or any(
        row["in"] == "query" or row["schema"].get("format") == "date" for row in rows
    )


def _operation(said: Json, *, unsafe: bool) -> None:
    codes = [*codes_of_every(), *codes_of(said["operationId"], unsafe=unsafe, takes=takes_values(said))]
    if any(row["in"] == "path" for row in said.get("parameters", ())) and NOWHERE not in codes:
        codes.append(NOWHERE)
    for status in sorted({code.status for code in codes}):
        said["responses"].setdefault(str(status), _answer([c for c in codes if c.status == status], status))
    if unsafe:
        said.setdefault("parameters", []).append(_key())


def _answer(codes: list[Code], status: int) -> Json:
    names = {"properties": {"error": {"enum": [code.code for code in codes]}}}
    words = "; ".join(f"`{code.code}`: {code.words}" for code in codes)
    body = {"allOf": [{"$ref": "#/components/schemas/Refusal"}, names]}
    answer: Json = {"description": words, "content": {"application/json": {"schema": body}}}
    if status == 429:
        seconds = {"type": "integer", "minimum": 1}
        answer["headers"] = {"Retry-After": {"required": True, "schema": seconds}}
    return answer


def _key() -> Json:
    kind = {"type": "string", "maxLength": KEY_CHARS_MAX, "pattern": KEY_PATTERN}
    return {"in": "header", "name": KEY_HEADER, "required": False, "schema": kind}
