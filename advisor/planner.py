"""The statistical planner: a model that is no language model, behind the same protocol.

It reads the tool results in the conversation and issues the next tool calls, so it needs no key, costs
nothing, and is what any paid model must beat. A pure function of the messages: the same conversation
gives the same turn. It proposes what the numbers find likely enough, never a kind of change the reader
always turns down, and says why when that is nothing.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from advisor.conversation import Call, calls_of, calls_to, result_of
from advisor.tools.budget import as_json
from digest.llm.entities import Message, ModelUnavailable, ToolCall, ToolSchema, Turn, Usage
from suggestions.entities import LIKED_TYPES, SUGGESTIONS_PER_RUN_MAX, TOPIC_TYPES
from suggestions.hypotheses import PLANNER_P_MIN
from suggestions.rules import DECLINED_MIN
from suggestions.silence import BALANCED, WORDS
from suggestions.wording import impact_sentence, reason_sentence

NAME = "offline:planner"
READ_ATTEMPTS_MAX = 2
FEEDBACK, CONFIG, PROFILE, WRITE = (
    "query_user_feedback",
    "query_user_config",
    "get_user_profile",
    "write_suggestion",
)
NEVER_REDUCE, OPEN_TO_TOPICS = "never_reduce_sources", "open_to_new_topics"

Fact = Mapping[str, Any]


class StatisticalPlanner:
    """The last model of every chain, and the only one for a reader who turned models off."""

    name = NAME

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSchema], *, timeout_s: float) -> Turn:
        """The next turn: read, write one suggestion, or close with the summary.

        Raises `ModelUnavailable` when the feedback cannot be read: silence would then be a lie.
        """
        calls = calls_of(messages)
        offered = {tool["function"]["name"] for tool in tools}
        facts = result_of(calls, FEEDBACK)
        if facts is None:
            if FEEDBACK in offered and len(calls_to(calls, FEEDBACK)) < READ_ATTEMPTS_MAX:
                wanted = [name for name in (FEEDBACK, CONFIG, PROFILE) if name in offered]
                return _asking(calls, [(name, {}) for name in wanted])
            raise ModelUnavailable("The reader's feedback could not be read.")
        if facts.get("insufficient_data"):
            return _closing(calls, facts, [], str(facts.get("reason", "")))
        chosen, skipped = choose(facts, result_of(calls, PROFILE) or {})
        tried = {_identity(call) for call in calls_to(calls, WRITE)}
        written = sum(call.succeeded for call in calls_to(calls, WRITE))
        for fact in chosen:
            if written < SUGGESTIONS_PER_RUN_MAX and WRITE in offered and _key(fact) not in tried:
                return _asking(calls, [(WRITE, proposal(fact))])
        return _closing(calls, facts, skipped, silence_of(facts))

    def worst_case_usd(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Decimal:
        """Nothing."""
        return Decimal(0)

    def cost_usd(self, usage: Usage) -> Decimal:
        """Nothing."""
        return Decimal(0)


def choose(facts: Fact, profile: Fact) -> tuple[list[Fact], list[dict[str, str]]]:
    """The hypotheses worth asking about, best first, and the others with the reason against each."""
    patterns, declined = profile.get("patterns") or {}, types_declined(profile)
    chosen: list[Fact] = []
    skipped = []
    for fact in facts.get("hypotheses", []):
        if reason := _objection(fact, declined):
            skipped.append({"hypothesis": headline(fact), "reason_skipped": reason})
        else:
            chosen.append(fact)
    if patterns.get(OPEN_TO_TOPICS) is True:
        chosen.sort(key=lambda fact: fact["type"] != "add_topic")
    return chosen, skipped


def types_declined(profile: Fact) -> set[str]:
    """The types of suggestion this reader has turned down so often that asking again would be a nuisance."""
    stats = profile.get("acceptance_stats") or {}
    declined = {
        kind
        for kind, row in stats.items()
        if row.get("accepted") == 0 and row.get("rejected", 0) >= DECLINED_MIN
    }
    never_reduce = (profile.get("patterns") or {}).get(NEVER_REDUCE) is True
    return declined | {"reduce_source"} if never_reduce else declined


def _objection(fact: Fact, declined: set[str]) -> str:
    if fact["type"] in declined:
        return "Every suggestion of this kind was turned down before."
    if fact["confidence"] == "low":
        return f"Only {fact['rated']} rated items: too few to be sure."
    if fact["p_helpful"] < PLANNER_P_MIN:
        return f"Only {fact['p_helpful']:.0%} likely to help; {PLANNER_P_MIN:.0%} is asked for."
    return ""


def silence_of(facts: Fact) -> str:
    """Why the numbers speak for nothing, in words; the tool's own code tells."""
    silence = facts.get("silence")
    code = silence.get("code") if isinstance(silence, Mapping) else None
    return WORDS.get(str(code), WORDS[BALANCED])


def headline(fact: Fact) -> str:
    """A hypothesis in a few words."""
    words = {
        "add_topic": "Add the topic {}",
        "remove_topic": "Remove the topic {}",
        "boost_source": "More from {}",
        "reduce_source": "Less from {}",
    }
    return words[fact["type"]].format(_name(fact))


def proposal(fact: Fact) -> dict[str, Any]:
    """The arguments of `write_suggestion` for a hypothesis.

    The reason stays empty: the words are then the rules' own, from all of the reader's thumbs.
    """
    topic = fact["type"] in TOPIC_TYPES
    return {
        "suggestion_type": fact["type"],
        "field": "topics" if topic else "source_weights",
        "target_key": fact["target"],
        "suggested_value": fact["suggested_value"],
        "evidence_items": [{"url": url} for url in fact["supporting_items"]],
        "reason": "",
        "expected_impact": impact_sentence(fact["type"], _name(fact)),
    }


def _name(fact: Fact) -> str:
    """How the target is called to the reader."""
    return str(fact.get("label") or fact["target"])


def _key(fact: Fact) -> tuple[str, str]:
    return fact["type"], str(fact["target"]).casefold()


def _identity(call: Call) -> tuple[str, str]:
    """The (type, target) a write was about, whichever of the two places names a topic."""
    target = call.arguments.get("target_key") or call.arguments.get("suggested_value")
    return str(call.arguments.get("suggestion_type")), str(target).casefold()


def _asking(calls: Sequence[Call], wanted: Sequence[tuple[str, dict[str, Any]]]) -> Turn:
    """A turn with one tool call for each of `wanted`, numbered on from the calls so far."""
    made = tuple(
        ToolCall(f"planner_{len(calls) + n}", name, as_json(arguments))
        for n, (name, arguments) in enumerate(wanted, start=1)
    )
    sent = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in made
    ]
    message = {"role": "assistant", "content": "", "tool_calls": sent}
    return Turn(message, tool_calls=made, model=NAME)


def _closing(calls: Sequence[Call], facts: Fact, skipped: Sequence[Mapping[str, str]], silence: str) -> Turn:
    """The last turn: what was written, what was not and why, and the counts."""
    writes = calls_to(calls, WRITE)
    kept = [call for call in writes if call.succeeded]
    refused = [
        {"hypothesis": _attempt(call), "reason_skipped": _refusal(call)}
        for call in writes
        if not call.succeeded
    ]
    found = facts.get("meta") or {}
    summary: dict[str, Any] = {
        "suggestions": [_written(call, facts) for call in kept],
        "skipped": [*refused, *skipped],
        "meta": {
            "items_analyzed": found.get("items_returned", 0),
            "patterns_found": found.get("patterns_found", 0),
            "suggestions_generated": len(writes),
            "suggestions_after_validation": len(kept),
            "planner": NAME,
        },
    }
    if not kept:
        summary["reason"] = silence
    text = as_json(summary)
    return Turn({"role": "assistant", "content": text}, text=text, model=NAME)


def _refusal(call: Call) -> str:
    """Why a write did not go through: a rule's words, a block's, or those it was held with."""
    told = (call.result.get(name) for name in ("details", "reason", "guidance"))
    return str(next((words for words in told if words), "refused"))


def _attempt(call: Call) -> str:
    kind, target = str(call.arguments.get("suggestion_type")), str(call.arguments.get("target_key"))
    return f"{kind.replace('_', ' ')} {target}"


def _written(call: Call, facts: Fact) -> dict[str, Any]:
    given = call.arguments
    fact = next((f for f in facts.get("hypotheses", []) if _key(f) == _identity(call)), None)
    counts = reason_sentence(fact["type"], _name(fact), fact["liked"], fact["rated"], 0, 0) if fact else ""
    feedback = "liked" if given.get("suggestion_type") in LIKED_TYPES else "disliked"
    return {
        "suggestion_id": call.result.get("suggestion_id"),
        "type": given.get("suggestion_type"),
        "field": given.get("field"),
        "target": given.get("target_key"),
        "value": given.get("suggested_value"),
        "confidence": fact["confidence"] if fact else "",
        "reasoning": given.get("reason") or counts,
        "evidence": [{"url": item["url"], "feedback": feedback} for item in given.get("evidence_items", [])],
        "expected_impact": given.get("expected_impact", ""),
    }
