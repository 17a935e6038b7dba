"""Text a model wrote, read with care: nothing in it may break parsing, storing or sending it on. Pure."""

import json
import re
from typing import Any

PREVIEW_CHARS = 2000
# Ten times what a model is allowed to write; what is longer comes from a server that ignores the limit.
OBJECT_CHARS_MAX = 60_000
FENCED = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)


def json_object(text: str) -> dict[str, Any]:
    """The JSON object that `text` is.

    Raises `ValueError`, saying what is wrong, for anything else; also for what JSON columns refuse: NaN,
    infinities, NUL characters and lone surrogates; and for more than 60,000 characters.
    """
    if len(text) > OBJECT_CHARS_MAX:
        raise ValueError(f"it is longer than {OBJECT_CHARS_MAX} characters")
    try:
        value = json.loads(text)
        dumped = json.dumps(value, ensure_ascii=False, allow_nan=False)
        dumped.encode("utf-8")
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("it holds half a character (a lone surrogate)") from None
    if "\\u0000" in dumped:
        raise ValueError("it holds a NUL character")
    if not isinstance(value, dict):
        raise ValueError(f"it is a JSON {type(value).__name__}, not an object")
    return value


def summary_read(text: str) -> dict[str, Any] | None:
    """The closing JSON summary in a last message, fenced or between other words; `None` if there is none."""
    fenced = FENCED.search(text)
    braced = text[text.find("{") : text.rfind("}") + 1]
    for candidate in (text, fenced.group(1) if fenced else "", braced):
        try:
            return json_object(candidate)
        except ValueError:
            continue
    return None


def preview(text: str) -> str:
    """`text` fit for an audit row: at most 2,000 characters, none that a database refuses."""
    return text[:PREVIEW_CHARS].replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
