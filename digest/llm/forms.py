"""JSON schemas in the strict form, to which some providers hold answers and the arguments of tools. Pure.

In that form objects are closed and all their fields required. Limits of values stay out, since providers
differ in those that they know; they are checked afterwards.
"""

from collections.abc import Mapping
from typing import Any

from digest.llm.entities import ToolSchema

Schema = Mapping[str, Any]
NULL = "null"


def schema_close(
    node: Schema, definitions: Schema | None = None, *, nullable: bool = False
) -> dict[str, Any]:
    """Return a schema with its references resolved and objects closed.

    `nullable`: fields that may be left out may be null instead. Raises `KeyError` if a part of the schema may
    be anything: a strict schema cannot say that.
    """
    known = node.get("$defs", {}) if definitions is None else definitions

    def close(part: Schema) -> dict[str, Any]:
        return schema_close(part, known, nullable=nullable)

    if reference := node.get("$ref"):
        return close(known[reference.rpartition("/")[2]])
    shared = {key: node[key] for key in ("enum", "description") if key in node}
    if choices := node.get("anyOf"):
        return {"anyOf": [close(one) for one in choices], **shared}
    result = {"type": node["type"], **shared}
    if node["type"] == "array":
        result["items"] = close(node["items"])
    if node["type"] == "object":
        fields = {name: close(one) for name, one in node["properties"].items()}
        optional = set(fields) - set(node.get("required", ())) if nullable else set()
        result["properties"] = {
            name: _or_null(one) if name in optional else one for name, one in fields.items()
        }
        result["required"] = list(fields)
        result["additionalProperties"] = False
    return result


def _or_null(node: dict[str, Any]) -> dict[str, Any]:
    if choices := node.get("anyOf"):
        return {**node, "anyOf": [*choices, {"type": NULL}]}
    if "enum" in node:
        return {"anyOf": [node, {"type": NULL}]}
    return {**node, "type": [node["type"], NULL]}


def tool_close(tool: ToolSchema) -> ToolSchema:
    """Return the declaration of a tool in the strict form; what a call leaves out is null there."""
    function = tool["function"]
    parameters = schema_close(function["parameters"], nullable=True)
    return {**tool, "function": {**function, "parameters": parameters, "strict": True}}
