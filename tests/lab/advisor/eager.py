"""An eager agent: it proposes every change that the thumbs seem to support, week after week. Pure.

It reads feedback and config once, then writes one change after another: first the hypotheses it got, then
every source whose like-rate differs from the reader's own by ten points, citing any items it was shown. It
ends with three stored changes, after ten writes, or at the end of its list. It remembers nothing between
runs, so it repeats refused and declined changes. It drops changes that are held or stopped.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from advisor.agent.planner import proposal_arguments
from advisor.conversation import Call, calls_of, calls_to, result_of
from digest.llm.entities import Message
from suggestions.proposals import SUGGESTIONS_PER_RUN_MAX
from tests.support.changes import BOOST_SOURCE, REDUCE_SOURCE

FEEDBACK, CONFIG, WRITE = "query_user_feedback", "query_user_config", "write_suggestion"
WRITES_MAX = 10
# How far a like-rate must be from the reader's own, and on how many thumbs: an impression, no test.
APART, THUMBS_MIN = 0.10, 5
STEP = 0.3
REASON = "You rated {likes} of {n} stories from this source as useful, which is unlike your usual rate."
FINISH: Mapping[str, Any] = {"reason": "", "skipped": []}
Wanted = tuple[str, Mapping[str, Any]]


def eager_turn(messages: Sequence[Message]) -> Message:
    """Return the next answer to a conversation, as an assistant's message with tool calls."""
    calls = calls_of(messages)
    wanted = _wanted(calls) or [("finish", FINISH)]
    asked = [
        {
            "id": f"eager-{len(calls) + n}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for n, (name, arguments) in enumerate(wanted)
    ]
    return {"role": "assistant", "content": None, "tool_calls": asked}


def _wanted(calls: Sequence[Call]) -> list[Wanted]:
    """Return the next calls; none at the end."""
    facts = result_of(calls, FEEDBACK)
    if facts is None:
        return [] if calls else [(FEEDBACK, {}), (CONFIG, {})]
    writes = calls_to(calls, WRITE)
    stored = sum(write.succeeded for write in writes)
    if stored >= SUGGESTIONS_PER_RUN_MAX or len(writes) >= WRITES_MAX:
        return []
    asked = {str(write.arguments.get("target")) for write in writes}
    weights = (result_of(calls, CONFIG) or {}).get("active_weights", {})
    left = (one for one in _proposals(facts, weights) if str(one["target"]) not in asked)
    found = next(left, None)
    return [(WRITE, found)] if found else []


def _proposals(facts: Mapping[str, Any], weights: Mapping[str, float]) -> Iterator[Mapping[str, Any]]:
    """Yield its proposals in order. A target may come twice."""
    for fact in facts.get("hypotheses", []):
        yield proposal_arguments(fact) | {"reason": ""}
    base = facts.get("meta", {}).get("base_like_rate", 0.5)
    patterns: Mapping[str, Mapping[str, Any]] = facts.get("source_patterns", {})
    for source, row in sorted(patterns.items(), key=lambda pair: -abs(pair[1]["like_rate"] - base)):
        if abs(row["like_rate"] - base) >= APART and row["sample_size"] >= THUMBS_MIN:
            yield _about(source, row, row["like_rate"] > base, weights.get(source, 1.0), facts)


def _about(
    source: str, row: Mapping[str, Any], more: bool, weight: float, facts: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the write about one source, with every item shown that speaks for it."""
    columns = facts.get("item_columns", [])
    items = [dict(zip(columns, row, strict=True)) for row in facts.get("curated_items", [])]
    fitting = [one["url"] for one in items if one["source"] == source and bool(one["useful"]) is more]
    likes = round(row["like_rate"] * row["sample_size"])
    return {
        "suggestion_type": BOOST_SOURCE if more else REDUCE_SOURCE,
        "target": source,
        "suggested_value": f"{weight + (STEP if more else -STEP):.2f}",
        "evidence": fitting,
        "reason": REASON.format(likes=likes, n=row["sample_size"]),
    }
