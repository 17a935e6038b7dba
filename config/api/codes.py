"""The error codes of the API, and which operations return them; docs/api.md lists them too. Pure."""

from dataclasses import dataclass

EVERY, UNSAFE, INPUT = "every", "unsafe", "input"
# The header that makes a repeated call safe, and the form of its value.
KEY_HEADER, KEY_CHARS_MAX = "Idempotency-Key", 255
KEY_PATTERN = f"^[ -~]{{1,{KEY_CHARS_MAX}}}$"
# The beginning of the operation ids of digest, by the first word of a view's name.
DIGEST_ID_PREFIXES = {
    **dict.fromkeys(("feedback", "reasons"), "digest_api"),
    **dict.fromkeys(("read", "saved", "search"), "digest_api_reading"),
    **{"costs": "digest_api_costs", "digest": "digest_api_digests"},
}
ITEM = tuple(
    f"digest_api_{name}"
    for name in (
        *("feedback_post", "feedback_delete", "reasons_get", "reading_read_post", "reading_read_delete"),
        *("reading_saved_post", "reading_saved_delete"),
    )
)
DECISIONS = tuple(
    f"suggestions_api_suggestion_{verb}_post"
    for verb in ("accept", "reject", "snooze", "never", "revert", "undo")
)
ACCEPT, REVERT, UNDO = DECISIONS[0], DECISIONS[4], DECISIONS[5]
DIGEST = "digest_api_digests_digest_get"


@dataclass(frozen=True, slots=True)
class Code:
    """A stable error code, its HTTP status, its meaning, and the operations that return it.

    `where` holds ids of operations, or is `EVERY`, `UNSAFE` (operations that change something) or `INPUT`
    (operations whose values can be invalid).
    """

    code: str
    status: int
    meaning: str
    where: str | tuple[str, ...]


CODES = (
    Code("not_logged_in", 401, "neither session nor token", EVERY),
    Code("invalid_token", 401, "the token is unknown or revoked, or its account is disabled", EVERY),
    Code("token_expired", 401, "the token has expired", EVERY),
    Code("scope_missing", 403, "the token may not do this", EVERY),
    Code("too_many_requests", 429, "a limit is reached; try again after `Retry-After`", EVERY),
    Code("csrf_failed", 403, "the CSRF token is missing or wrong", UNSAFE),
    Code("invalid_idempotency_key", 400, "the key is empty, too long or not printable ASCII", UNSAFE),
    Code("request_in_flight", 409, "the call with this key is still running; try again in a moment", UNSAFE),
    Code("idempotency_key_reused", 422, "this key belongs to another request", UNSAFE),
    Code("invalid_request", 422, "a value is invalid; `message` names the fields", INPUT),
    Code("bad_request", 400, "the body is no JSON, or a form that is not UTF-8", UNSAFE),
    Code("body_too_large", 413, "the body has more than 2,560 KB", UNSAFE),
    Code("operators_only", 403, "for operators", ("digest_api_costs_costs_get",)),
    Code("item_not_found", 404, "no such item that you may see", ITEM),
    Code("not_found", 404, "nothing that you may see", (*DECISIONS, "advisor_api_runs_get")),
    Code("digest_missing", 404, "no digest was made on that day", (DIGEST,)),
    Code("future_date", 422, "that day has not begun in your time zone", (DIGEST,)),
    Code("unknown_reason_tag", 422, "not a reason of the taxonomy", ("digest_api_feedback_post",)),
    Code("already_resolved", 409, "it was decided before, perhaps by you in another window", DECISIONS),
    Code(
        "config_changed",
        409,
        "your settings have changed too much since the suggestion; nothing was applied, and the response "
        "has a new preview",
        (ACCEPT, REVERT, UNDO),
    ),
    Code(
        "invalid_weight",
        422,
        "the chosen value is over 0.3 away, in the other direction or outside 0.1 to 2.0",
        (ACCEPT,),
    ),
    Code("too_late", 422, "a declined suggestion can be undone until 14 days after it was made", (UNDO,)),
)


def codes_of(operation: str, *, unsafe: bool, takes: bool) -> tuple[Code, ...]:
    """Return the codes of one operation, without those of every operation.

    `unsafe`: it changes something; `takes`: its values can be invalid.
    """
    groups = {UNSAFE: unsafe, INPUT: takes}
    return tuple(
        row
        for row in CODES
        if (groups.get(row.where, False) if isinstance(row.where, str) else operation in row.where)
    )


def codes_of_every() -> tuple[Code, ...]:
    """Return the codes that every operation may return."""
    return tuple(row for row in CODES if row.where == EVERY)
