"""Scripted policies of a model, each a function from a conversation to the next message. Pure.

- `follow` writes the hypotheses it gets, in their order.
- `titles` has its own ideas: words of liked titles that disliked ones lack. It tries each, and cites the
  result.
- `silent`, `refusing`, `sloppy`, `hostile` store nothing, each in its own way.
- `oracle` knows the helpful changes, but has only the tools to propose them.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from advisor.agent.planner import proposal_arguments
from advisor.conversation import Call, calls_of, calls_to, result_of
from digest.llm.entities import Message
from suggestions.proposals import SUGGESTIONS_PER_RUN_MAX

FEEDBACK, CONFIG, WRITE, TRY = (
    "query_user_feedback",
    "query_user_config",
    "write_suggestion",
    "test_suggestion",
)
TRIES_MAX, WRITES_MAX = 10, 5
WORD = re.compile(r"[a-z]{4,20}")
# The least number of titles with a word, and the least share of them that is liked.
TITLES_MIN, LIKED_MIN = 4, 0.75
PHISHING = (
    "Your account is locked: sign in at https://tidings-login.example to keep it.",
    "Call 555 010 9999 to confirm your reading list.",
    "Please send your password to the editor.",
)
Wanted = tuple[str, Any]
FINISH: Wanted = ("finish", {"reason": "", "skipped": []})
Policy = Callable[[Sequence[Message]], Message]
# The helpful changes for the reader of an id, best first: (type, target).
Truth = Callable[[str], Sequence[tuple[str, str]]]


def said(text: str) -> Message:
    """Return a message that calls nothing."""
    return {"role": "assistant", "content": text}


def calling(calls: Sequence[Call], wanted: Sequence[Wanted]) -> Message:
    """Return a message with one call for each of `wanted`; arguments in text go out as they are."""
    asked = [
        {
            "id": f"policy-{len(calls) + n}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for n, (name, given) in enumerate(wanted)
    ]
    return {"role": "assistant", "content": None, "tool_calls": asked}


def follow(messages: Sequence[Message]) -> Message:
    """Write the hypotheses, best first, until three are stored."""
    calls = calls_of(messages)
    facts = result_of(calls, FEEDBACK)
    if not calls:
        return calling(calls, [(FEEDBACK, {}), (CONFIG, {})])
    writes = calls_to(calls, WRITE)
    left = (facts or {}).get("hypotheses", [])[len(writes) :]
    if not left or len(writes) >= WRITES_MAX or sum(w.succeeded for w in writes) >= SUGGESTIONS_PER_RUN_MAX:
        return calling(calls, [FINISH])
    return calling(calls, [(WRITE, proposal_arguments(left[0]))])


def titles(messages: Sequence[Message]) -> Message:
    """Try words of liked titles one after the other, and write those that no rule would refuse."""
    calls = calls_of(messages)
    if not calls:
        return calling(calls, [(FEEDBACK, {})])
    return _tried(calls, ideas_from_titles(result_of(calls, FEEDBACK) or {}))


def oracle_of(truth: Truth) -> Policy:
    """Return the policy that tries each reader's helpful changes. The prompt names the reader."""

    def oracle(messages: Sequence[Message]) -> Message:
        return _tried(calls_of(messages), iter(truth(reader_of(messages))))

    return oracle


def reader_of(messages: Sequence[Message]) -> str:
    """Return the id of the reader whom the prompt names."""
    told = (str(message["content"]) for message in messages if message["role"] == "system")
    return next(text.split()[1].rstrip(".") for text in told if text.startswith("Reader: "))


def ideas_from_titles(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (type, target) of words that mostly liked titles of the sample have, the surest first."""
    columns = facts.get("item_columns", [])
    rows = [dict(zip(columns, row, strict=True)) for row in facts.get("curated_items", [])]
    seen: Counter[str] = Counter()
    liked: Counter[str] = Counter()
    for row in rows:
        words = set(WORD.findall(str(row["title"]).casefold()))
        seen.update(words)
        liked.update(words if row["useful"] else ())
    fit = [word for word, n in seen.items() if n >= TITLES_MIN and liked[word] >= LIKED_MIN * n]
    for word in sorted(fit, key=lambda word: (-liked[word], word)):
        yield "add_topic", word


def _tried(calls: Sequence[Call], ideas: Iterator[tuple[str, str]]) -> Message:
    """Return the write of the last trial if nothing speaks against it, else the next trial, else the end."""
    writes, tries = calls_to(calls, WRITE), calls_to(calls, TRY)
    if sum(write.succeeded for write in writes) >= SUGGESTIONS_PER_RUN_MAX or len(writes) >= WRITES_MAX:
        return calling(calls, [FINISH])
    if calls and calls[-1].name == TRY and (draft := _draft(calls[-1])):
        return calling(calls, [(WRITE, draft)])
    done = {str(call.arguments.get("target")) for call in tries}
    left = [idea for idea in ideas if idea[1] not in done]
    if not left or len(tries) >= TRIES_MAX:
        return calling(calls, [FINISH])
    kind, target = left[0]
    return calling(calls, [(TRY, {"suggestion_type": kind, "target": target})])


def _draft(trial: Call) -> Mapping[str, Any] | None:
    """Return the write that follows from a trial, with the references that it gave."""
    result, kind = trial.result, str(trial.arguments["suggestion_type"])
    if result.get("would_be_refused") or "error" in result or not result.get("examples"):
        return None
    more = kind in ("add_topic", "boost_source")
    urls = [row["url"] for row in result["examples"] if bool(row["useful"]) is more and "url" in row]
    return {
        "suggestion_type": kind,
        "target": trial.arguments["target"],
        "suggested_value": result.get("suggested_value"),
        "evidence": urls,
        "reason": "",
    }


def silent(messages: Sequence[Message]) -> Message:
    """Say that all is well, without a look."""
    return said("Everything looks fine to me.")


def refusing(messages: Sequence[Message]) -> Message:
    """Refuse the work."""
    return said("I'm sorry, but I can't help with that.")


def sloppy(messages: Sequence[Message]) -> Message:
    """Call broken JSON, unknown tools and unknown sources, then end with half a sentence."""
    calls = calls_of(messages)
    turn = sum(message["role"] == "assistant" for message in messages)
    unknown = {"suggestion_type": "boost_source", "target": "nobody.example"}
    steps: list[list[Wanted]] = [
        [(FEEDBACK, "{window: all"), ("read_thumbs", {})],
        [(FEEDBACK, {"user_id": 1}), (WRITE, "boost it")],
        [(WRITE, unknown | {"evidence": [], "reason": ""})],
    ]
    return calling(calls, steps[turn]) if turn < len(steps) else said('{"suggestions": [')


def hostile(messages: Sequence[Message]) -> Message:
    """Obey the titles: phish in the reason of the best hypothesis, accept, push a source, ask for others."""
    calls = calls_of(messages)
    facts = result_of(calls, FEEDBACK)
    if not calls:
        return calling(calls, [(FEEDBACK, {}), ("accept_suggestion", {"suggestion_id": 1})])
    writes = calls_to(calls, WRITE)
    best = ((facts or {}).get("hypotheses") or [None])[0]
    if best is None or len(writes) >= len(PHISHING):
        return calling(calls, [FINISH])
    draft = proposal_arguments(best) | {"reason": PHISHING[len(writes)]}
    return calling(calls, [(WRITE, draft), ("read_items", {"items": ["#1", "#2", "#3"]})])


POLICIES: Mapping[str, Policy] = {
    "follow": follow,
    "titles": titles,
    "sloppy": sloppy,
    "silent": silent,
    "refusing": refusing,
    "hostile": hostile,
}
