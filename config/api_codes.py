"""What each operation of the API may refuse, with the codes of docs/api.md. Pure."""

from dataclasses import dataclass

EVERY, UNSAFE, INPUT = "every", "unsafe", "input"
# The header by which an unsafe operation is done once, and what a key may be.
KEY_HEADER, KEY_CHARS_MAX = "Idempotency-Key", 255
KEY_PATTERN = f"^[ -~]{{1,{KEY_CHARS_MAX}}}$"
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
    """A refusal: its stable `code`, its HTTP `status`, what it means, and where it is met.

    `met` names the ids of operations, or is one of `EVERY`, `UNSAFE` (what changes something) and `INPUT`
    (what takes values that may not fit).
    """

    code: str
    status: int
    words: str
    met: str | tuple[str, ...]


CODES = (
    Code("not_logged_in", 401, "neither session nor token", EVERY),
    Code("invalid_token", 401, "the token is unknown or revoked, or its account is switched off", EVERY),
    Code("token_expired", 401, "the token's time is over", EVERY),
    Code("scope_missing", 403, "the token may not do this", EVERY),
    Code(
        "too_many_requests",
        429,
        "more often than a limit allows; ask again after `Retry-After`",
        EVERY,
    ),
    Code("csrf_failed", 403, "the CSRF token is missing or wrong", UNSAFE),
    Code("invalid_idempotency_key", 400, "the key is empty, too long or not printable ASCII", UNSAFE),
    Code("request_in_flight", 409, "the same key is being answered; ask again in a moment", UNSAFE),
    Code("idempotency_key_reused", 422, "this key stood for another request", UNSAFE),
    Code("invalid_request", 422, "what was sent does not fit; `message` names the fields", INPUT),
    Code("bad_request", 400, "the body is no JSON, or a form that is not UTF-8", UNSAFE),
    Code("body_too_large", 413, "the body has more than 2,560 KB", UNSAFE),
    Code("operators_only", 403, "for operators", ("digest_api_costs_costs_get",)),
    Code("item_not_found", 404, "no item there that you may see", ITEM),
    Code("not_found", 404, "nothing there that you may see", (*DECISIONS, "advisor_api_runs_get")),
    Code("digest_missing", 404, "no digest was made on that day", (DIGEST,)),
    Code("future_date", 422, "that day has not begun for you", (DIGEST,)),
    Code("unknown_reason_tag", 422, "not a reason of the taxonomy", ("digest_api_feedback_post",)),
    Code("already_resolved", 409, "somebody, perhaps you, was faster", DECISIONS),
    Code(
        "config_changed",
        409,
        "your settings moved too far from what was suggested; nothing was applied, and the answer has "
        "a fresh preview",
        (ACCEPT, REVERT, UNDO),
    ),
    Code(
        "invalid_weight",
        422,
        "the chosen value is over 0.3 away, the other way or outside 0.1 to 2.0",
        (ACCEPT,),
    ),
    Code(
        "too_late", 422, "what was turned down can be taken back for 14 days from when it was made", (UNDO,)
    ),
)


def codes_of(operation: str, *, unsafe: bool, takes: bool) -> tuple[Code, ...]:
    """What an operation of its own may refuse, beside what every operation may.

    `unsafe`: it changes something; `takes`: it takes values that may not fit.
    """
    met = {UNSAFE: unsafe, INPUT: takes}
    return tuple(
        row
        for row in CODES
        if (met.get(row.met, False) if isinstance(row.met, str) else operation in row.met)
    )


def codes_of_every() -> tuple[Code, ...]:
    """What any operation may refuse."""
    return tuple(row for row in CODES if row.met == EVERY)
