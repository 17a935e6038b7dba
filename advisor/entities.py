"""The values of a run: limits, steps, end, the feedback it needs, its tool calls, the size of their results.

Rows go into a tool's result in order of worth until its budget of tokens is full. Pure."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from digest.entities import FeedbackCounts
from digest.llm.entities import Deadline as TimeLimit
from digest.llm.entities import Message, ToolCall, Turn, json_object, json_object_find
from ranking.language import gettext as _
from ranking.language import gettext_noop
from suggestions.entities import Facts, Fence, Reviewer

WRITE_TOOL = "write_suggestion"
# A reference to an item. Of more digits there is no item, and no database takes the number.
_REF = re.compile(r"#([0-9]{1,18})")
TARGET_CHARS_MAX = 64
Clock = Callable[[], float]
# What stands for a model in the votes of rules.
RULES_MODEL = "rules"
# The beginning of the message about too little feedback, and of no other.
MISSING_PREFIX = "Not enough thumbs for suggestions yet."
MISSING_FORMS = (
    gettext_noop(
        "Not enough thumbs for suggestions yet. You gave {items} thumbs, over {days} days, {tagged} with a "
        "reason. Or add 1 more thumb: {alone} are enough at once."
    ),
    gettext_noop(
        "Not enough thumbs for suggestions yet. You gave {items} thumbs, over {days} days, {tagged} with a "
        "reason. Or add {more} more thumbs: {alone} are enough at once."
    ),
)
# Suggestions on fifty thumbs gain two to three times what they gain on twenty (docs/benchmarks.md), also
# without reasons and however fast the thumbs came: an import need not wait.
THUMBS_ALONE = 50
# Of a reader's thumbs the newest so many are weighed.
THUMBS_WEIGHED_MAX = 500
T = TypeVar("T")
V = TypeVar("V")

FEEDBACK_TOKENS = 2000
# What guidance may add to a result. The fullest one leaves room for it, so that none is larger than 2,000.
GUIDANCE_TOKENS = 140
CONFIG_TOKENS = 500
PROFILE_TOKENS = 500
WRITE_TOKENS = 100
OUTCOMES_TOKENS = 1000
# The tools for a second look come after the long ones in a run's history, so they are short.
TRIAL_TOKENS = 600
CRITIQUE_TOKENS = 600
HISTORY_TOKENS = 600
COMPARISON_TOKENS = 600
# A token per four bytes of UTF-8, so that other scripts cost more.
BYTES_PER_TOKEN = 4
# What the result of a repeated failure gets besides.
DROP_NOTE = "Failed again. Drop this hypothesis, list it under skipped, go on."
TITLE_CHARS_MAX = 100


class StopReason(StrEnum):
    """Why a loop ended. `Run.stop_reason` stores it, `STATUS_OF` maps it to a status."""

    DONE = "done"
    DEADLINE = "deadline"
    BUDGET = "budget"
    TURN_LIMIT = "turn_limit"
    TOOL_CALL_LIMIT = "tool_call_limit"
    REPEATED_FAILURE = "repeated_failure"
    MODELS_EXHAUSTED = "models_exhausted"
    RATE_LIMITED = "rate_limited"
    MODEL_REFUSED = "model_refused"
    PROMPT_UNUSABLE = "prompt_unusable"
    FENCE_LOST = "fence_lost"
    DATABASE = "database"
    CRASHED = "crashed"


# What a reader is told of a run that ended at one of its caps, instead of the audit's words.
_LIMIT_REACHED = gettext_noop("The run reached its limit before it could finish. You can try again.")
STOP_SENTENCES: Mapping[str, str] = {
    StopReason.TURN_LIMIT: _LIMIT_REACHED,
    StopReason.TOOL_CALL_LIMIT: _LIMIT_REACHED,
    StopReason.REPEATED_FAILURE: gettext_noop(
        "The run was stopped because the same step failed again and again. You can try again."
    ),
}
# `StopReason.BUDGET` where it was the run's own cap, and not the reader's or everyone's of the day.
RUN_MONEY_SPENT = gettext_noop(
    "The run used up the money it may cost before it could finish. You can try again."
)
# The reason of a run whose suggestions the planner made, because no model's run stored any.
BY_PLANNER = gettext_noop("Worked out from your ratings alone, without a language model.")
# `Run.meta["finished_by"]` of a run that the planner finished though models were configured for it.
PLANNER_LABEL = "planner"


@dataclass(frozen=True, slots=True)
class Limits:
    """The caps of one run."""

    turns: int
    tool_calls: int
    history_turns: int
    timeout_s: float


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What the run binds every tool to: never part of a schema, never chosen by a model.

    `review` judges each proposal before it is stored; `None`: the rules alone decide. `facts` are what
    guidance has just read for a write; `None`: the tool reads them.
    """

    reader_id: UUID
    run_id: UUID
    now: datetime
    fence: Fence
    review: Reviewer | None = None
    facts: Facts | None = None


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of one tool call. `content` is JSON text; `error_code` is empty on success.

    `counted` is False for refusals that are not failures (a reviewer's request to improve, a block met for
    the first time).
    """

    content: str
    error_code: str = ""
    target: str = ""
    counted: bool = True


@dataclass(slots=True)
class RunTotals:
    """What a run has used so far."""

    turns: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    model: str = ""
    cost_usd: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One model call or tool call as it goes into the audit, ready to be stored.

    `kind` is "model" or "tool"; `result` is a preview of at most 2,000 characters; `reasoning` is what the
    model said beside its calls. Text is free of NUL and lone surrogates, which no database takes.
    """

    kind: str
    tool: str = ""
    model: str = ""
    arguments: dict[str, Any] | None = None
    result: str = ""
    error_code: str = ""
    reasoning: str = ""
    ms: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of a run: the reason, a message, and the closing summary if there was one.

    `retry_after_s` is the wait that the last provider asked for, if that ended the run. `finished_by` is
    `planner` if the planner finished a run for which models were configured; if it found nothing either,
    `silence` is its reason.
    """

    reason: StopReason
    message: str
    summary: dict[str, Any] | None = None
    totals: RunTotals = field(default_factory=RunTotals)
    retry_after_s: float | None = None
    finished_by: str = ""
    silence: str = ""


class Stopped(Exception):
    """Raised where the run is over for `reason`; what it has written stays."""

    def __init__(self, reason: StopReason, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.reason, self.message, self.retry_after_s = reason, message, retry_after_s


class Deadline(TimeLimit):
    """The moment a run must end by. Time wins over every other cap."""

    __slots__ = ()

    def stop(self) -> Stopped | None:
        """Return the stop that is due once the moment has passed."""
        return Stopped(StopReason.DEADLINE, "The time for this run is up.") if self.left_s <= 0 else None


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of a conversation with its result; either is empty where it was no JSON object."""

    name: str
    arguments: Mapping[str, Any]
    result: Mapping[str, Any] = field(default_factory=dict)

    @property
    def succeeded(self) -> bool:
        """Return whether a write succeeded."""
        return self.result.get("success") is True


def calls_of(messages: Sequence[Message]) -> list[Call]:
    """Return every answered or unanswered tool call, in order."""
    answers = {m.get("tool_call_id"): m.get("content") for m in messages if m.get("role") == "tool"}
    calls = []
    for message in messages:
        for raw in message.get("tool_calls") or [] if message.get("role") == "assistant" else []:
            function = raw["function"]
            call = ToolCall(raw.get("id", ""), function["name"], function.get("arguments") or "")
            calls.append(Call(call.name, call.arguments, json_object_or_empty(answers.get(raw.get("id")))))
    return calls


def call_target(call: ToolCall) -> str:
    """Return what a call that was not run was about, if it says so: its failures are counted by it."""
    given = call.arguments
    target = given.get("target_key") or given.get("target") or given.get("suggested_value") or ""
    return str(target)[:TARGET_CHARS_MAX]


def calls_to(calls: Sequence[Call], name: str) -> list[Call]:
    """Return the calls to one tool."""
    return [call for call in calls if call.name == name]


def result_of(calls: Sequence[Call], name: str) -> Mapping[str, Any] | None:
    """Return the newest result of one tool that was no error; `None` if there is none."""
    good = [c.result for c in calls_to(calls, name) if c.result and "error" not in c.result]
    return good[-1] if good else None


def json_object_or_empty(text: object) -> dict[str, Any]:
    """Return the JSON object in `text`; empty for anything else."""
    try:
        return json_object(text) if isinstance(text, str) else {}
    except ValueError:
        return {}


def thumbs_weighed(meta: Mapping[str, Any]) -> int:
    """Return how many thumbs a run's hypotheses rest on, by the `meta` of `query_user_feedback`."""
    total = meta.get("total_feedback_available", 0)
    return min(THUMBS_WEIGHED_MAX, total) if isinstance(total, int) else 0


def refusal_code(result: Mapping[str, Any]) -> str:
    """Return the code of the rule that refused a write, also where guidance stopped the call by that rule."""
    return str(result.get("rule_id") or result.get("error") or "")


def turn_closes_run(turn: Turn, messages: Sequence[Message]) -> bool:
    """Return whether a turn ended the run: it only wrote, all of it was stored, with the summary beside it.

    `messages` is the conversation with the turn's answers. Another request would only repeat the summary.
    """
    summary = (
        json_object_find(turn.text) if all(call.name == WRITE_TOOL for call in turn.tool_calls) else None
    )
    if summary is None or not isinstance(summary.get("suggestions"), list):
        return False
    return all(call.succeeded for call in calls_of(messages)[-len(turn.tool_calls) :])


class FeedbackLimits(NamedTuple):
    """What a reader must have given before a run: thumbs, days they span, thumbs with a reason."""

    items: int
    days: int
    tagged: int

    @property
    def alone(self) -> int:
        """Return how many thumbs are enough whenever they came, and without any reason: an import."""
        return max(THUMBS_ALONE, self.items)


def feedback_suffices(counts: FeedbackCounts, limits: FeedbackLimits) -> bool:
    """Decide whether a run may be made for a reader with these ratings: the one rule of every door."""
    given = (counts.total, counts.days, counts.tagged)
    return counts.total >= limits.alone or all(have >= need for have, need in zip(given, limits, strict=True))


def missing_message(counts: FeedbackCounts, limits: FeedbackLimits) -> str:
    """Return what is missing, in sentences for the reader; empty when nothing is."""
    if feedback_suffices(counts, limits):
        return ""
    items, days, tagged = (
        f"{have}" if have >= need else _("{have} of {need}").format(have=have, need=need)
        for have, need in zip((counts.total, counts.days, counts.tagged), limits, strict=True)
    )
    more = limits.alone - counts.total
    words = _(MISSING_FORMS[more != 1])
    return words.format(items=items, days=days, tagged=tagged, more=more, alone=limits.alone)


def json_bytes(value: Any) -> int:
    """Return the bytes of `value` as JSON in UTF-8."""
    return len(as_json(value).encode("utf-8", "replace"))


def as_json(value: Any) -> str:
    """Return `value` as compact JSON: the only form in which outside text reaches a model."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def fit_rows(rows: Iterable[T], tokens: float) -> list[T]:
    """Return the rows that fit into `tokens` together, in order; one too large for the rest is left out."""
    left = int(tokens * BYTES_PER_TOKEN)
    taken: list[T] = []
    for row in rows:
        cost = json_bytes(row) + 1
        if cost <= left:
            left -= cost
            taken.append(row)
    return taken


def fit_items(rows: Mapping[str, V], tokens: float) -> dict[str, V]:
    """Return the entries that fit into `tokens` together, in order."""
    pairs = [{key: value} for key, value in rows.items()]
    return {key: value for pair in fit_rows(pairs, tokens) for key, value in pair.items()}


def fit_text(text: str, tokens: float) -> str:
    """Return `text`, cut with an ellipsis where it takes more than `tokens`."""
    room = max(0, int(tokens * BYTES_PER_TOKEN))
    if json_bytes(text) <= room:
        return text
    cut = text[:room]
    while cut and json_bytes(cut) > room - 3:
        cut = cut[: -max(1, len(cut) // 20)]
    return f"{cut}…"


def tokens_left(result: Any, tokens: int) -> float:
    """Return the tokens of a budget that `result` leaves free."""
    return max(0.0, tokens - json_bytes(result) / BYTES_PER_TOKEN)


def fit_lists(lists: Mapping[str, Any], tokens: float) -> tuple[dict[str, Any], dict[str, int]]:
    """Return what fits of each list or mapping, and how many rows did not, by list where any did not.

    Each may use what those before it left over.
    """
    shown: dict[str, Any] = {}
    for n, (name, rows) in enumerate(lists.items()):
        share = tokens_left(shown, int(tokens)) / (len(lists) - n)
        shown[name] = fit_items(rows, share) if isinstance(rows, dict) else fit_rows(rows, share)
    left_out = {name: len(rows) - len(shown[name]) for name, rows in lists.items()}
    return shown, {name: count for name, count in left_out.items() if count}


def result_fill(result: dict[str, Any], lists: Mapping[str, Iterable[Any]], tokens: int) -> dict[str, Any]:
    """Return `result` with the rows of `lists` that fit; `left_out` counts others, where there are any."""
    rows = {name: list(found) for name, found in lists.items()}
    full = result | {name: [] for name in rows} | {"left_out": dict.fromkeys(rows, 9999)}
    shown, left_out = fit_lists(rows, tokens_left(full, tokens))
    return result | shown | ({"left_out": left_out} if left_out else {})


def error_result(code: str, details: str, **valid: list[str]) -> dict[str, Any]:
    """Return an error as a tool result: what went wrong, cut to a hundred tokens, and what would be right.

    It leaves room for `DROP_NOTE`.
    """
    result: dict[str, Any] = {"success": False, "error": code, "details": ""} | valid
    room = tokens_left(result | {"note": DROP_NOTE}, WRITE_TOKENS)
    return result | {"details": fit_text(details, room)}


def cut_title(title: str, chars: int = TITLE_CHARS_MAX) -> str:
    """Return `title` in at most so many characters."""
    return title if len(title) <= chars else f"{title[: chars - 1]}…"


def item_ref(item_id: int) -> str:
    """Return the reference to an item that stands for its address: a dozenth of the tokens."""
    return f"#{item_id}"


def item_of_ref(text: str) -> int | None:
    """Return the item that a reference names; `None` for any other text."""
    found = _REF.fullmatch(text)
    return int(found[1]) if found else None
