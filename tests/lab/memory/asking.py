"""Ways to look up a decision, with their cost: layer by layer, everything at once, or the latest twenty.

Tokens are counted as everywhere in the advisor, one per four bytes of JSON, over the text that the asker
writes and reads. An answer is sufficient if the text read contains every expected part; whether an asker
overlooks a part is not measured. The layered asker follows a fixed plan, as a careful agent would: search
with the question's words and filters, then open the best hit in the layer that answers.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from advisor.result_size import BYTES_PER_TOKEN, as_json
from advisor.run_values import ToolContext
from advisor.tools.registry import dispatch
from digest.llm.entities import ToolCall
from suggestions.outcomes.selectors import DETAIL_MAX, outcomes_detail
from tests.lab.memory.history import NOW, Question

TOOL = "get_suggestion_outcomes"
HITS = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """The cost of one question, and whether the text read answers it."""

    kind: str
    tokens: float
    sufficient: bool


def ask_layered(*, reader_id: UUID, question: Question) -> Answer:
    """Search, then the layer that answers, through the agent's own tool."""
    search: dict[str, Any] = {"layer": "search", "query": question.query, "limit": HITS}
    if question.types:
        search["types"] = list(question.types)
    if question.outcomes:
        search["outcomes"] = list(question.outcomes)
    read, cost = _call(reader_id, search)
    hits = json.loads(read)["outcomes"]
    if question.layer != "search" and hits:
        more, price = _call(reader_id, {"layer": question.layer, "ids": [hits[0]["id"]]})
        read, cost = read + more, cost + price
    return Answer(question.kind, cost, _holds(read, question))


def everything(*, reader_id: UUID, ids: Sequence[int]) -> str:
    """Return all these decisions in detail, as one text."""
    rows = []
    for start in range(0, len(ids), DETAIL_MAX):
        rows += outcomes_detail(reader_id=reader_id, ids=ids[start : start + DETAIL_MAX], now=NOW)
    return as_json(rows)


def ask_whole(*, text: str, question: Question, shared_by: int = 1) -> Answer:
    """Return the answer of somebody who has read `text`, which serves `shared_by` questions."""
    return Answer(question.kind, tokens_of(text) / shared_by, _holds(text, question))


def tokens_of(text: str) -> float:
    """Return the tokens of a text, one per four bytes."""
    return len(text.encode()) / BYTES_PER_TOKEN


def _call(reader_id: UUID, arguments: dict[str, Any]) -> tuple[str, float]:
    context = ToolContext(reader_id, uuid4(), NOW, fence=lambda: None)
    call = ToolCall("bench", TOOL, as_json(arguments))
    content = dispatch(context, call).content
    return content, tokens_of(content) + tokens_of(call.text)


def _holds(text: str, question: Question) -> bool:
    return all(part in text for part in question.expected)
