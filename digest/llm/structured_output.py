"""Questions to models that must be answered in a typed form, many at once, and the prompts they begin with.

The answer is JSON in text, which every provider can give; no provider's own schema mode is relied on. A
prompt is a Markdown file below a YAML front matter that is for people only.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from digest.llm.caller import NO_MODEL, ModelCaller, Reply
from digest.llm.entities import (
    Deadline,
    DeadlineExceeded,
    Message,
    Model,
    ModelUnavailable,
    PriceUnknown,
    Usage,
    json_object_find,
    preview,
)
from digest.llm.ledger import SpendAccount

SUMMARY = Path(__file__).parent.parent / "summaries" / "summary.md"
MARKER = "---"

T = TypeVar("T", bound=BaseModel)
# The client allows 1,500 tokens of output, about 6,000 characters; a longer answer ignores the limit.
ANSWER_CHARS_MAX = 12_000
MODEL_CHARS_MAX = 80
EMPTY, INVALID = "empty_answer", "invalid_answer"
INTERRUPTED = frozenset({DeadlineExceeded.code, "budget_day", "budget_run", "budget_reader"})
UNREACHABLE = frozenset({NO_MODEL, ModelUnavailable.code, PriceUnknown.code})


class PromptUnusable(Exception):
    """The prompt file is missing or malformed; what needs it cannot start."""


def prompt_read(path: Path) -> str:
    """Return the body of the prompt at `path`. Raises `PromptUnusable`.

    The file starts with a `---` line, a second one ends the front matter, and there is no third.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PromptUnusable(f"The prompt {path.name} cannot be read: {error}") from error
    markers = [n for n, line in enumerate(lines) if line.rstrip() == MARKER]
    if len(markers) != 2 or markers[0] != 0:
        raise PromptUnusable(
            f"The prompt {path.name} needs exactly two {MARKER} lines, the first of them on top; "
            f"it has {len(markers)}."
        )
    body = "\n".join(lines[markers[1] + 1 :]).strip()
    if not body:
        raise PromptUnusable(f"The prompt {path.name} is empty below its front matter.")
    return body


@dataclass(frozen=True, slots=True)
class Question:
    """The trusted instructions, and the material they are about (untrusted parts fenced)."""

    system: str
    user: str


@dataclass(frozen=True, slots=True)
class TypedAnswer(Generic[T]):
    """The answer to a question: `value`, or `None` with a stable `error_code` and a message.

    Codes: `no_model`, `empty_answer`, `invalid_answer`, those of a `ModelError` and of a `BudgetRefusal`.
    `ms` and `cost` (USD) add up over every model that was tried, `usage` is that of the one that answered.
    """

    value: T | None
    error_code: str = ""
    message: str = ""
    model: str = ""
    ms: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: Decimal = Decimal(0)

    @property
    def interrupted(self) -> bool:
        """Return whether time or money ran out, which says nothing about the question."""
        return self.error_code in INTERRUPTED

    @property
    def unreachable(self) -> bool:
        """Return whether no model could be asked or none answered, which says nothing about it either."""
        return self.error_code in UNREACHABLE


def typed_ask(
    *,
    models: Sequence[Model],
    system: str,
    user: str,
    shape: type[T],
    ledger: SpendAccount,
    deadline: Deadline,
    sleep: Callable[[float], None] = time.sleep,
) -> TypedAnswer[T]:
    """Ask one question as `typed_ask_all` does."""
    questions = [Question(system, user)]
    return typed_ask_all(
        models=models, questions=questions, shape=shape, ledger=ledger, deadline=deadline, sleep=sleep
    )[0]


def typed_ask_all(
    *,
    models: Sequence[Model],
    questions: Sequence[Question],
    shape: type[T],
    ledger: SpendAccount,
    deadline: Deadline,
    sleep: Callable[[float], None] = time.sleep,
) -> list[TypedAnswer[T]]:
    """Ask every question at once, each of the first of `models` that works; return answers in their order.

    Never raises for what a model or a provider does. An unreadable answer is final: it was paid for, and
    another model's would be another opinion.
    """
    conversations: list[list[Message]] = [
        [{"role": "system", "content": question.system}, {"role": "user", "content": question.user}]
        for question in questions
    ]
    replies = ModelCaller(ledger, deadline, sleep).ask_all(models, conversations)
    return [_answer(reply, shape) for reply in replies]


def data_fence(data: object) -> str:
    """Return `data` as JSON that is marked as data: nothing inside it can close the mark."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f"<data>\n{text}\n</data>"


def _answer(reply: Reply, shape: type[T]) -> TypedAnswer[T]:
    code, message, value = reply.error_code, reply.message, None
    if reply.turn:
        code, message, value = _read(reply.turn.text, shape)
    usage = reply.turn.usage if reply.turn else Usage()
    return TypedAnswer(
        value, code, preview(message), reply.model[:MODEL_CHARS_MAX], reply.ms, usage, reply.cost
    )


def _read(text: str, shape: type[T]) -> tuple[str, str, T | None]:
    """Return (error code, message, value); of a wrong form the first problem, without the values."""
    if not text.strip():
        return EMPTY, "The answer was empty.", None
    if len(text) > ANSWER_CHARS_MAX:
        return INVALID, f"The answer is longer than {ANSWER_CHARS_MAX:,} characters.", None
    if (found := json_object_find(text)) is None:
        return INVALID, f"The answer is no JSON object. It began: {text[:120]!r}", None
    try:
        return "", "", shape.model_validate(found)
    except ValidationError as error:
        row = error.errors(include_url=False, include_input=False, include_context=False)[0]
        return INVALID, f"{'.'.join(map(str, row['loc']))[:80]}: {row['msg']}", None
