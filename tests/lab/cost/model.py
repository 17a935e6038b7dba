"""A typical reader and a typical run, to measure the cost of a run. Pure.

The run follows the prompt: read; test and critique; write two suggestions together with the summary. Calls
that do not need each other's answers are made in one turn. A `TypicalModel` plays it on the answers of the
real tools, and a `TypicalReviewer` approves what it writes.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from advisor.agent.planner import proposal_arguments
from advisor.conversation import FINISH_TOOL, Call, calls_of, result_of
from digest.llm.entities import AnswerForm, Message, ToolCall, ToolSchema, Turn, Usage

FEEDBACK, CONFIG, PROFILE = "query_user_feedback", "query_user_config", "get_user_profile"
TEST, CRITIQUE, WRITE = "test_suggestion", "self_critique", "write_suggestion"
READER = "typical"
WRITES = 2
DAYS = 50
# Thumbs and the share of them that are up, by source: two clear opinions among six.
SOURCES = {
    "harbourpost.example": (40, 0.95),
    "dailybuzz.example": (40, 0.05),
    "techgazette.example": (30, 0.5),
    "fieldnotes.example": (30, 0.5),
    "cityledger.example": (30, 0.5),
    "sportsheet.example": (30, 0.5),
}
SUBJECTS = ("ferry timetables", "battery recycling", "passkey logins", "council budgets", "cup finals")
HEADLINES = (
    "What the new rules on {} mean for everyone else",
    "Inside the quiet argument about {}",
    "{}: five years of figures, and what they leave out",
    "A short history of {}, told by those who were there",
)
TAGS = {True: "depth", False: "hype"}
# By the side of the change that it is about, since a note on the other side is refused.
REASONS = {
    True: "You liked most of what this source published, above all for its depth, over the last seven weeks.",
    False: "You disliked most of what this source published, above all for hype, over the last seven weeks.",
}
WHY = "The counts are the server's own, the cited articles are on the target, and nothing speaks against it."
YES = {"helps": True, "accepts": True, "confidence": 0.8, "reasoning": WHY}
APPROVAL = {"verdict": "approve", "confidence": 0.8, "issues": [], "suggestions": [], "reasoning": WHY}
THOUGHT = "The strongest pattern is the clear one about a single source; the rest is close to the base rate."


def typical_history(now: datetime) -> Iterator[str]:
    """Yield the reader's thumbs as lines of the import format, oldest first: 200 of them over 50 days."""
    rows = []
    for s, (source, (count, rate)) in enumerate(SOURCES.items()):
        for n in range(count):
            useful = int((n + 1) * rate) > int(n * rate)
            at = now - timedelta(days=DAYS * (n + 0.5) / count, minutes=s)
            # Divided by two and three, so that neither follows the thumbs, of which every second is up.
            headline, subject = HEADLINES[n // 2 % len(HEADLINES)], SUBJECTS[(n // 3 + s) % len(SUBJECTS)]
            rows.append((at, source, n, useful, headline.format(subject).capitalize()))
    for at, source, n, useful, title in sorted(rows):
        yield json.dumps(
            {
                "reader": READER,
                "url": f"https://{source}/2026/{slug(title)}-{n}",
                "title": title,
                "source": source,
                "useful": int(useful),
                "reason_tags": [TAGS[useful]],
                "at": at.isoformat(),
                "published": at.isoformat(),
            }
        )


@dataclass
class _Replay:
    """A part that is played behind the `Model` protocol for nothing. It records each request and answer."""

    name: str
    asked: list[tuple[list[Message], list[ToolSchema]]] = field(default_factory=list)
    said: list[Message] = field(default_factory=list)

    def worst_case_usd(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Decimal:
        """Nothing: it is a replay."""
        return Decimal(0)

    def cost_usd(self, usage: Usage) -> Decimal:
        """Nothing."""
        return Decimal(0)

    def answer(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        text: str,
        calls: tuple[ToolCall, ...] = (),
    ) -> Turn:
        """Record the request and its answer, and return the answer as a turn."""
        message: Message = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [call.as_message() for call in calls]
        self.asked.append((list(messages), list(tools)))
        self.said.append(message)
        return Turn(message, text, calls, model=self.name)


@dataclass
class TypicalModel(_Replay):
    """Plays the typical run."""

    name: str = "replay:typical"

    def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        *,
        timeout_s: float,
        form: AnswerForm | None = None,
    ) -> Turn:
        """Return the next turn of the run."""
        wanted = _wanted(calls_of(messages), len(self.said))
        calls = tuple(
            ToolCall(f"call_{len(self.said)}_{k:022d}", name, json.dumps(arguments))
            for k, (name, arguments) in enumerate(wanted)
        )
        return self.answer(messages, tools, THOUGHT, calls)


@dataclass
class TypicalReviewer(_Replay):
    """Approves whatever it is asked about, in the form asked for."""

    name: str = "replay:reviewer"

    def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        *,
        timeout_s: float,
        form: AnswerForm | None = None,
    ) -> Turn:
        """Return a yes of each reviewer that the form names."""
        named = form.schema["properties"] if form else {}
        answer: Mapping[str, Any] = YES if "helps" in named else APPROVAL
        text = json.dumps({name: APPROVAL for name in named} if "trust" in named else answer)
        return self.answer(messages, tools, text)


def slug(title: str) -> str:
    """Return a title as an address spells it."""
    return "-".join(re.findall(r"[a-z]+", title.casefold()))


def _wanted(calls: Sequence[Call], turn: int) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls of turn number `turn`, or none if nothing is left to do."""
    if turn == 0:
        return [(FEEDBACK, {}), (CONFIG, {}), (PROFILE, {})]
    facts = (result_of(calls, FEEDBACK) or {}).get("hypotheses", [])[:WRITES]
    if turn == 1 and facts:
        drafts = [{**_change(fact), "evidence": list(fact["supporting_items"])} for fact in facts]
        return [*((TEST, _change(fact)) for fact in facts), (CRITIQUE, {"drafts": drafts})]
    if turn == 2:
        writes = [(WRITE, {**proposal_arguments(fact), "reason": _reason(fact)}) for fact in facts]
        return [*writes, (FINISH_TOOL, {"reason": "", "skipped": []})]
    return []


def _reason(fact: Mapping[str, Any]) -> str:
    return REASONS[fact["type"] not in ("reduce_source", "remove_topic")]


def _change(fact: Mapping[str, Any]) -> dict[str, Any]:
    return {"suggestion_type": fact["type"], "target": fact["target"]}
