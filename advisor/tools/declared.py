"""What is declared of a tool's arguments: all that a model needs to call it, as short as that can be. Pure.

Every request carries every declaration again. What is taken is another matter, and stricter: the argument
classes refuse what is too long or not theirs, whatever was declared.
"""

from collections.abc import Mapping
from typing import Any

# Marks an argument that is taken for the sake of those who send it, and then ignored.
UNDECLARED = {"undeclared": True}
# Limits that no sensible call comes near, and words for people who read the code.
LEFT_OUT = ("title", "maxLength", "exclusiveMaximum")
FEW = 3
NOTHING: tuple[object, ...] = (None, "", [])


def declared(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON schema without `$ref`, which some providers do not resolve, titles and defaults of nothing.

    What may also be null is declared as what else it is: it can be left out. A tool's own words describe its
    arguments as a whole, so that objects carry no description.
    """
    definitions = schema.get("$defs", {})

    def told(node: Any) -> Any:
        if isinstance(node, list):
            return [told(part) for part in node]
        if not isinstance(node, dict):
            return node
        node = _plain(node, definitions)
        kept = {key: told(value) for key, value in node.items() if key not in ("properties", *LEFT_OUT)}
        if kept.get("maxItems", 0) > FEW:
            del kept["maxItems"]
        if kept.get("default", 0) in NOTHING:
            del kept["default"]
        if "properties" not in node:
            return kept
        kept.pop("description", None)
        shown = {name: one for name, one in node["properties"].items() if "undeclared" not in one}
        return kept | {"properties": {name: told(one) for name, one in shown.items()}}

    return dict(told({key: value for key, value in schema.items() if key != "$defs"}))


def _plain(node: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """`node` with what it refers to in it, and without the choice between null and one thing."""
    if reference := node.get("$ref"):
        node = definitions[reference.rpartition("/")[2]] | {k: v for k, v in node.items() if k != "$ref"}
    choices = [one for one in node.get("anyOf", ()) if one != {"type": "null"}]
    if len(choices) != 1:
        return node
    return {**choices[0], **{key: value for key, value in node.items() if key != "anyOf"}}
