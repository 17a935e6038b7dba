"""Error codes and OpenAPI description of the API. docs/api.md lists the codes, too."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from digest.accounts.tokens import SAFE_METHODS, scope_needed

EVERY, UNSAFE, INPUT = "every", "unsafe", "input"
# The header that makes repeats of a call safe, and the form of its value.
KEY_HEADER, KEY_CHARS_MAX = "Idempotency-Key", 255
KEY_PATTERN = f"^[ -~]{{1,{KEY_CHARS_MAX}}}$"
# The prefixes of digest's operation ids, by the first word of a view's name.
DIGEST_ID_PREFIXES = {
    **dict.fromkeys(("feedback", "reasons"), "digest_api"),
    **dict.fromkeys(("item", "items", "named", "read", "saved", "search"), "digest_api_reading"),
    **dict.fromkeys(("feed", "feeds", "newsletter", "newsletters"), "digest_api_feeds"),
    **{"costs": "digest_api_costs", "digest": "digest_api_digests", "mutes": "digest_api_mutes"},
    "searches": "digest_api_searches",
}
ITEM = tuple(
    f"digest_api_{name}"
    for name in (
        *("feedback_post", "feedback_delete", "reasons_get", "reading_read_post", "reading_read_delete"),
        *("reading_saved_post", "reading_saved_delete", "reading_item_get"),
        *("reading_named_post", "reading_named_delete"),
    )
)
DECISIONS = tuple(
    f"suggestions_api_suggestion_{verb}_post"
    for verb in ("accept", "reject", "snooze", "never", "revert", "undo")
)
ACCEPT, REVERT, UNDO = DECISIONS[0], DECISIONS[4], DECISIONS[5]
MUTES = ("digest_api_mutes_mutes_preview_get", "digest_api_mutes_mutes_post")
SEARCHES = tuple(f"digest_api_searches_searches_{verb}" for verb in ("post", "delete"))
QUESTION = "suggestions_api_question_answer_post"
DIGEST = "digest_api_digests_digest_get"
NAMED = ("digest_api_reading_named_address_post",)
FEEDS = ("digest_api_feeds_feeds_post", "digest_api_feeds_feed_access_post")
NEWSLETTERS = tuple(f"digest_api_feeds_newsletter_{verb}_post" for verb in ("accept", "refuse"))
WISH, WISH_ACCEPT = (f"suggestions_api_{verb}_post" for verb in ("wishes", "wishes_accept"))


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """A stable error code with its HTTP status, its meaning, and the operations that return it.

    `operations` has the ids of operations, or is `EVERY`, `UNSAFE` (those that change something) or `INPUT`
    (those with values that can be invalid).
    """

    code: str
    status: int
    meaning: str
    operations: str | tuple[str, ...]


ERROR_CODES = (
    ErrorCode("not_logged_in", 401, "neither session nor token", EVERY),
    ErrorCode("invalid_token", 401, "the token is unknown or revoked, or its account is disabled", EVERY),
    ErrorCode("token_expired", 401, "the token has expired", EVERY),
    ErrorCode("scope_missing", 403, "the token may not do this", EVERY),
    ErrorCode("too_many_requests", 429, "a limit is reached; try again after `Retry-After`", EVERY),
    ErrorCode("csrf_failed", 403, "the CSRF token is missing or wrong", UNSAFE),
    ErrorCode("invalid_idempotency_key", 400, "the key is empty, too long or not printable ASCII", UNSAFE),
    ErrorCode(
        "request_in_flight", 409, "the call with this key is still running; try again in a moment", UNSAFE
    ),
    ErrorCode("idempotency_key_reused", 422, "this key belongs to another request", UNSAFE),
    ErrorCode("invalid_request", 422, "a value is invalid; `message` names the fields", INPUT),
    ErrorCode("bad_request", 400, "the body is no JSON, or a form that is not UTF-8", UNSAFE),
    ErrorCode("body_too_large", 413, "the body has more than 2,560 KB", UNSAFE),
    ErrorCode("operators_only", 403, "for operators", ("digest_api_costs_costs_get",)),
    ErrorCode(
        "cursor_invalid",
        422,
        "no page of this list answered that cursor, or its order is over",
        ("digest_api_reading_items_get",),
    ),
    ErrorCode("item_not_found", 404, "no such item that you may see", ITEM),
    ErrorCode("article_unknown", 404, "none of your sources brought an article at this address", NAMED),
    ErrorCode("not_found", 404, "nothing that you may see", (*DECISIONS, "advisor_api_runs_get", QUESTION)),
    ErrorCode("digest_missing", 404, "no digest was made on that day", (DIGEST,)),
    ErrorCode("future_date", 422, "that day has not begun in your time zone", (DIGEST,)),
    ErrorCode("unknown_reason_tag", 422, "not a reason of the taxonomy", ("digest_api_feedback_post",)),
    ErrorCode("invalid_mute", 422, "it could be in no item, or the source or the day is none", MUTES),
    ErrorCode(
        "too_many_changes",
        429,
        "your settings have changed 500 times in a day; wait until tomorrow",
        (*MUTES[1:], "digest_api_mutes_mutes_delete"),
    ),
    ErrorCode("too_many_mutes", 422, "your settings have 100 mutes already", (MUTES[1], WISH_ACCEPT)),
    ErrorCode("search_empty", 422, "the search has no word to search for", SEARCHES[:1]),
    ErrorCode("search_not_found", 404, "you have no such saved search", SEARCHES[1:]),
    ErrorCode("too_many_searches", 409, "you have 50 saved searches already", SEARCHES[:1]),
    ErrorCode("invalid_feed_url", 422, "that is no web address", FEEDS[:1]),
    ErrorCode("site_unreachable", 422, "no answer, a refusal (a password may help), or not allowed", FEEDS),
    ErrorCode("no_feed_found", 422, "it answers, and there is no feed", FEEDS),
    ErrorCode("access_invalid", 422, "that secret or user agent cannot be sent", FEEDS),
    ErrorCode("access_refused", 422, "the server does not take that secret; nothing was stored", FEEDS),
    ErrorCode("feed_is_gone", 409, "its publisher took it down for good", FEEDS),
    ErrorCode("feed_not_found", 404, "no such feed that you read, or that waits", (FEEDS[1], *NEWSLETTERS)),
    ErrorCode("too_many_subscriptions", 409, "you read as many feeds as one may", (FEEDS[0], NEWSLETTERS[0])),
    ErrorCode("lookups_busy", 503, "too many sites are being looked up; try again", FEEDS),
    ErrorCode("words_missing", 422, "there are no words", (WISH,)),
    ErrorCode("words_too_long", 422, "more than 500 characters", (WISH,)),
    ErrorCode("draft_invalid", 422, "the draft is over a day old, or none of yours", (WISH_ACCEPT,)),
    ErrorCode("already_resolved", 409, "it was decided before, perhaps by you in another window", DECISIONS),
    ErrorCode(
        "config_changed",
        409,
        "your settings have changed too much since the suggestion; nothing was applied, and the response "
        "has a new preview (not of a draft from words)",
        (ACCEPT, REVERT, UNDO, WISH_ACCEPT),
    ),
    ErrorCode(
        "invalid_weight",
        422,
        "the chosen value is over 0.3 away, in the other direction or outside 0.1 to 2.0",
        (ACCEPT,),
    ),
    ErrorCode(
        "too_late", 422, "a declined suggestion can be undone until 14 days after it was made", (UNDO,)
    ),
)


def error_codes(operation: str, *, unsafe: bool, has_input: bool) -> tuple[ErrorCode, ...]:
    """Return the codes of one operation, without the codes of all operations.

    `unsafe` says that it changes something, `has_input` that its values can be invalid.
    """
    groups = {UNSAFE: unsafe, INPUT: has_input}
    return tuple(
        row
        for row in ERROR_CODES
        if (
            groups.get(row.operations, False)
            if isinstance(row.operations, str)
            else operation in row.operations
        )
    )


def common_error_codes() -> tuple[ErrorCode, ...]:
    """Return the codes that every operation may return."""
    return tuple(row for row in ERROR_CODES if row.operations == EVERY)


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
# A path with an invalid id is answered with this code.
NOT_FOUND = next(code for code in ERROR_CODES if code.code == "not_found")
FORMATS = {"date-time": "date and time", "date": "date", "uuid": "UUID"}
KINDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a request or a response.

    `name` is its place, such as `entries[].rank`. `kind` and `limits` are texts. A `required` value is always
    present.
    """

    name: str
    kind: str
    limits: str
    required: bool


@dataclass(frozen=True, slots=True)
class Payload:
    """The description of a body or response, with the fields of all levels in one list."""

    text: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Response:
    """The HTTP status and the shape of a successful response."""

    status: str
    payload: Payload


@dataclass(frozen=True, slots=True)
class Operation:
    """One method at one path. A token needs `scope`. `unsafe` says whether it changes something."""

    id: str
    method: str
    path: str
    text: str
    scope: str
    unsafe: bool
    parameters: tuple[Field, ...]
    body: Payload | None
    responses: tuple[Response, ...]
    codes: tuple[ErrorCode, ...]


def error_responses_add(schema: Json) -> None:
    """Add error codes to all operations of an OpenAPI `schema`, and the idempotency header to unsafe ones."""
    schema["components"]["schemas"]["Refusal"] = ERROR_SCHEMA
    for methods in schema["paths"].values():
        for method, operation in methods.items():
            unsafe = method.upper() not in SAFE_METHODS
            codes = [
                *common_error_codes(),
                *error_codes(operation["operationId"], unsafe=unsafe, has_input=_has_input(operation)),
            ]
            if any(row["in"] == "path" for row in operation.get("parameters", ())) and NOT_FOUND not in codes:
                codes.append(NOT_FOUND)
            for status in sorted({code.status for code in codes}):
                response = _error_response([code for code in codes if code.status == status], status)
                operation["responses"].setdefault(str(status), response)
            if unsafe:
                operation.setdefault("parameters", []).append(KEY_PARAMETER)


def _has_input(operation: Schema) -> bool:
    """Return whether the operation has values that can be invalid. An invalid id in a path gives a 404."""
    rows = operation.get("parameters", ())
    return bool(operation.get("requestBody")) or any(
        row["in"] == "query" or row["schema"].get("format") == "date" for row in rows
    )


def _error_response(codes: list[ErrorCode], status: int) -> Json:
    names = {"properties": {"error": {"enum": [code.code for code in codes]}}}
    body = {"allOf": [{"$ref": f"{REF}Refusal"}, names]}
    response: Json = {
        "description": "; ".join(f"`{code.code}`: {code.meaning}" for code in codes),
        "content": {"application/json": {"schema": body}},
    }
    return response | ({"headers": RETRY_AFTER} if status == 429 else {})


def operations_by_tag(schema: Schema) -> dict[str, list[Operation]]:
    """Return the operations of an OpenAPI `schema` by their last (most specific) tag, in order."""
    areas: dict[str, list[Operation]] = {}
    shapes = schema.get("components", {}).get("schemas", {})
    for path, methods in schema["paths"].items():
        for method, described in methods.items():
            operation = _operation(method.upper(), path, described, shapes)
            areas.setdefault(described["tags"][-1], []).append(operation)
    return areas


def _operation(method: str, path: str, described: Schema, shapes: Mapping[str, Schema]) -> Operation:
    # Headers and errors are the same for all operations, so the page lists them once.
    parameters = [row for row in described.get("parameters", ()) if row["in"] != "header"]
    responses = {
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
        # If the scope depends on the path, its id is a number.
        scope=scope_needed(method, path.replace("{item_id}", "0")),
        unsafe=unsafe,
        parameters=tuple(_parameter(row, shapes) for row in parameters),
        body=_content(described.get("requestBody", {}), shapes),
        responses=tuple(Response(status, payload) for status, payload in responses.items() if payload),
        codes=error_codes(described["operationId"], unsafe=unsafe, has_input=_has_input(described)),
    )


def _parameter(row: Schema, shapes: Mapping[str, Schema]) -> Field:
    kind = f"{type_describe(row['schema'], shapes)}, in the {row['in']}"
    return Field(row["name"], kind, limits_describe(row["schema"]), row.get("required", False))


def _content(described: Schema, shapes: Mapping[str, Schema]) -> Payload | None:
    json_content = described.get("content", {}).get("application/json")
    return payload_describe(json_content["schema"], shapes) if json_content else None


def payload_describe(schema: Schema, shapes: Mapping[str, Schema]) -> Payload:
    """Describe a schema and all schemas among `shapes` that it refers to."""
    return Payload(_resolve(schema, shapes).get("description", ""), tuple(_fields(schema, shapes)))


def type_describe(schema: Schema, shapes: Mapping[str, Schema]) -> str:
    """Return the type of a value in words."""
    schema = _resolve(schema, shapes)
    if choices := schema.get("anyOf"):
        return " or ".join(dict.fromkeys(type_describe(choice, shapes) for choice in choices))
    kind: str = schema.get("type", "anything")
    if kind == "array":
        return f"list ({type_describe(schema.get('items', {}), shapes)})"
    return FORMATS.get(schema.get("format", ""), KINDS.get(kind, kind))


def limits_describe(schema: Schema) -> str:
    """Return the limits of a value and its default in words."""
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
    """Yield the fields of an object and of all nested objects. A recursive object is listed once."""
    for ref, inner, place in _objects(schema, shapes, above):
        if ref in seen:
            continue
        required = inner.get("required", ())
        for name, value in inner["properties"].items():
            at = f"{place}.{name}" if place else name
            yield Field(at, type_describe(value, shapes), limits_describe(value), name in required)
            yield from _fields(value, shapes, at, [*seen, ref] if ref else seen)


def _objects(schema: Schema, shapes: Mapping[str, Schema], place: str) -> Iterator[tuple[str, Schema, str]]:
    """Yield the objects that a value may be or contain, as (reference, schema, place)."""
    ref, schema = schema.get("$ref", ""), _resolve(schema, shapes)
    if "properties" in schema:
        yield ref, schema, place
    for choice in schema.get("anyOf", ()):
        yield from _objects(choice, shapes, place)
    if "items" in schema:
        yield from _objects(schema["items"], shapes, f"{place}[]")


def _resolve(schema: Schema, shapes: Mapping[str, Schema]) -> Schema:
    ref = schema.get("$ref", "")
    return shapes[ref.removeprefix(REF)] if ref else schema
