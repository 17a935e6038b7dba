"""The statistical planner: no language model, but behind the same protocol.

It reads the tool results in the conversation and issues the next tool calls, so it needs no key, costs
nothing, and is what any paid model must beat. The same conversation gives the same turn. It proposes what
the figures find likely enough, never a type of change the reader always rejects, and gives the reason when
that is nothing. Pure."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from advisor.conversation import Call, calls_of, calls_to, refusal_code, result_of, thumbs_weighed
from advisor.guidance.situations import ReaderFacts
from advisor.result_size import as_json
from advisor.run_values import PLANNER_MODEL
from digest.llm.entities import AnswerForm, Message, ModelUnavailable, ToolCall, ToolSchema, Turn, Usage
from suggestions.changes.change import Kind
from suggestions.changes.registry import KINDS
from suggestions.changes.weights import weight_clamp, weight_parse, weight_text
from suggestions.planner.hypotheses import BALANCED, HELPS_MIN, SILENCE_SENTENCES
from suggestions.proposals import SUGGESTIONS_PER_RUN_MAX
from suggestions.rules import DECLINED_MIN, PER_FIELD_MAX
from suggestions.sentences import change_stopped, reason_sentence
from suggestions.wording import CHANGE_IN_REVIEW

READ_ATTEMPTS_MAX = 2
FEEDBACK, CONFIG, PROFILE, WRITE = (
    "query_user_feedback",
    "query_user_config",
    "get_user_profile",
    "write_suggestion",
)
DRAFT = "draft"
# Codes of what the planner itself lets lie, in the operator's words.
OBJECTIONS = {
    "type_declined": "Every suggestion of this kind was turned down before.",
    "refused": "A proposal about this target was refused earlier in this run.",
    "resting": "This target was suggested or decided lately, waits, or is pinned.",
    "unlikely": "Only {p_helpful:.0%} likely to help.",
}
NEVER_REDUCE, OPEN_TO_TOPICS = "never_reduce_sources", "open_to_new_topics"

NO_FACTS = ReaderFacts()

Fact = Mapping[str, Any]


class StatisticalPlanner:
    """The last model of every chain, and the only one for a reader who turned models off.

    `facts` are what guidance knows of the reader: a model reads the same in words.
    """

    name = PLANNER_MODEL

    def __init__(self, facts: ReaderFacts = NO_FACTS) -> None:
        self.facts = facts

    def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        *,
        timeout_s: float,
        form: AnswerForm | None = None,
    ) -> Turn:
        """Return the next turn: read, write one suggestion, or close with the summary.

        Raises `ModelUnavailable` when the feedback cannot be read: an empty answer would then be wrong.
        """
        calls = calls_of(messages)
        offered = {tool["function"]["name"] for tool in tools}
        facts = result_of(calls, FEEDBACK)
        if facts is None:
            if FEEDBACK in offered and len(calls_to(calls, FEEDBACK)) < READ_ATTEMPTS_MAX:
                wanted = [name for name in (FEEDBACK, CONFIG, PROFILE) if name in offered]
                return _calling(calls, [(name, {}) for name in wanted])
            raise ModelUnavailable("The reader's feedback could not be read.")
        if facts.get("insufficient_data"):
            return _closing(calls, facts, [], str(facts.get("reason", "")))
        chosen, skipped = hypotheses_choose(facts, result_of(calls, PROFILE) or {}, self.facts)
        tried = {_identity(call) for call in calls_to(calls, WRITE)}
        full = slots_full(calls_to(calls, WRITE))
        weights = (result_of(calls, CONFIG) or {}).get("active_weights") or {}
        for fact in chosen:
            if fact["type"] not in full and WRITE in offered and _key(fact) not in tried:
                return _calling(
                    calls, [(WRITE, proposal_arguments(share_step(fact, weights, self.facts.step)))]
                )
        return _closing(calls, facts, skipped, nothing_new_reason(calls, facts, skipped))

    def worst_case_usd(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Decimal:
        """Return 0."""
        return Decimal(0)

    def cost_usd(self, usage: Usage) -> Decimal:
        """Return 0."""
        return Decimal(0)


def hypotheses_choose(
    facts: Fact, profile: Fact, reader: ReaderFacts = NO_FACTS
) -> tuple[list[Fact], list[dict[str, str]]]:
    """Return the hypotheses worth asking about, best first, and the others with the code against each."""
    patterns, declined = profile.get("patterns") or {}, types_declined(profile) | set(reader.declined)
    chosen: list[Fact] = []
    skipped = []
    for fact in facts.get("hypotheses", []):
        if code := _objection(fact, declined, reader):
            reason = OBJECTIONS[code].format(p_helpful=fact["p_helpful"])
            skipped.append({"hypothesis": hypothesis_title(fact), "reason_skipped": reason, "code": code})
        else:
            chosen.append(fact)
    if patterns.get(OPEN_TO_TOPICS) is True:
        chosen.sort(key=lambda fact: fact["type"] != Kind.ADD_TOPIC)
    return chosen, skipped


def types_declined(profile: Fact) -> set[str]:
    """Return the types of suggestion that this reader has rejected too often to be asked again."""
    stats = profile.get("acceptance_stats") or {}
    declined = {
        kind
        for kind, row in stats.items()
        if row.get("accepted") == 0 and row.get("rejected", 0) >= DECLINED_MIN
    }
    never_reduce = (profile.get("patterns") or {}).get(NEVER_REDUCE) is True
    return declined | {str(Kind.REDUCE_SOURCE)} if never_reduce else declined


def _objection(fact: Fact, declined: set[str], reader: ReaderFacts) -> str:
    if fact["type"] in declined:
        return "type_declined"
    target = str(KINDS[fact["type"]].field), str(fact["target"])
    if target in reader.refused:
        return "refused"
    if target in reader.cooling:
        return "resting"
    if fact["p_helpful"] < HELPS_MIN:
        return "unlikely"
    return ""


def slots_full(writes: Sequence[Call]) -> set[str]:
    """Return the types that this run has no slot left for: three in all, two of a field, one such rule."""
    written = [KINDS.get(str(call.arguments.get("suggestion_type"))) for call in writes if call.succeeded]
    if len(written) >= SUGGESTIONS_PER_RUN_MAX:
        return set(KINDS)
    fields = [kind.field for kind in written if kind]
    has_rule = any(kind.is_one_a_run for kind in written if kind)
    return {
        name
        for name, kind in KINDS.items()
        if fields.count(kind.field) >= PER_FIELD_MAX or (has_rule and kind.is_one_a_run)
    }


def nothing_new_reason(calls: Sequence[Call], facts: Fact, skipped: Sequence[Mapping[str, str]]) -> str:
    """Return, in our words, why a run found nothing that the reader could decide on.

    That is the last refusal. "Balanced" is for ratings that support nothing.
    """
    writes = calls_to(calls, WRITE)
    if any(call.succeeded for call in writes):
        return CHANGE_IN_REVIEW
    if writes:
        return change_stopped(refusal_code(writes[-1].result))
    return change_stopped(skipped[0]["code"]) if skipped else silence_reason(facts)


def silence_reason(facts: Fact) -> str:
    """Return the message for a reader without hypotheses, by the code that the tool gave."""
    silence = facts.get("silence")
    code = silence.get("code") if isinstance(silence, Mapping) else None
    return SILENCE_SENTENCES.get(str(code), SILENCE_SENTENCES[BALANCED])


def hypothesis_title(fact: Fact) -> str:
    """Return a hypothesis in a few words."""
    return KINDS[fact["type"]].texts.title.format(_name(fact))


def proposal_arguments(fact: Fact) -> dict[str, Any]:
    """Return the arguments of `write_suggestion` for a hypothesis.

    The reason stays empty: the server's own sentence, from all of the reader's ratings, needs no note.
    """
    return {
        "suggestion_type": fact["type"],
        "field": str(KINDS[fact["type"]].field),
        "target_key": fact["target"],
        "suggested_value": fact["suggested_value"],
        "evidence_items": [{"url": url} for url in fact["supporting_items"]],
        "reason": "",
    }


def share_step(fact: Fact, weights: Fact, share: float) -> Fact:
    """Return a hypothesis on a source with the share of its step that this reader takes."""
    wanted = weight_parse(fact["suggested_value"])
    if share >= 1 or wanted is None or not KINDS[fact["type"]].weighs:
        return fact
    current = weight_parse(weights.get(fact["target"], 1.0))
    if current is None:
        return fact
    smaller = weight_clamp(current + share * (wanted - current), current)
    return {**fact, "suggested_value": weight_text(smaller)}


def _name(fact: Fact) -> str:
    """Return the name of the target for the reader."""
    return str(fact.get("label") or fact["target"])


def _key(fact: Fact) -> tuple[str, str]:
    return fact["type"], str(fact["target"]).casefold()


def _identity(call: Call) -> tuple[str, str]:
    """Return the (type, target) of a write; a topic may be named in either of two arguments."""
    target = call.arguments.get("target_key") or call.arguments.get("suggested_value")
    return str(call.arguments.get("suggestion_type")), str(target).casefold()


def _calling(calls: Sequence[Call], wanted: Sequence[tuple[str, dict[str, Any]]]) -> Turn:
    """Return a turn with one tool call for each of `wanted`, numbered on from the calls so far."""
    new = tuple(
        ToolCall(f"planner_{len(calls) + n}", name, as_json(arguments))
        for n, (name, arguments) in enumerate(wanted, start=1)
    )
    sent = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}
        for call in new
    ]
    message = {"role": "assistant", "content": "", "tool_calls": sent}
    return Turn(message, tool_calls=new, model=PLANNER_MODEL)


def _closing(calls: Sequence[Call], facts: Fact, skipped: Sequence[Mapping[str, str]], silence: str) -> Turn:
    """Return the last turn: suggestions written, refusals with reasons, and counts."""
    writes = calls_to(calls, WRITE)
    stored = [call for call in writes if call.succeeded]
    refused = [_refusal_row(call) for call in writes if not call.succeeded]
    meta = facts.get("meta") or {}
    summary: dict[str, Any] = {
        "suggestions": [_written_row(call, facts) for call in stored],
        "skipped": [*refused, *skipped],
        "meta": {
            "items_analyzed": thumbs_weighed(meta),
            "patterns_found": meta.get("patterns_found", 0),
            "suggestions_generated": len(writes),
            "suggestions_after_validation": len(stored),
            "planner": PLANNER_MODEL,
        },
    }
    if all(call.result.get("status") == DRAFT for call in stored):
        summary["reason"] = silence
    text = as_json(summary)
    return Turn({"role": "assistant", "content": text}, text=text, model=PLANNER_MODEL)


def _refusal_row(call: Call) -> dict[str, str]:
    """Return a refused write with the reason of the rule or of the guidance that stopped it."""
    kind, target = str(call.arguments.get("suggestion_type")), str(call.arguments.get("target_key"))
    reasons = (call.result.get(name) for name in ("details", "reason", "guidance"))
    reason = str(next((text for text in reasons if text), "It was refused."))
    title = hypothesis_title({"type": kind, "target": target}) if kind in KINDS else f"{kind} {target}"
    return {"hypothesis": title, "reason_skipped": reason}


def _written_row(call: Call, facts: Fact) -> dict[str, Any]:
    arguments = call.arguments
    fact = next((f for f in facts.get("hypotheses", []) if _key(f) == _identity(call)), None)
    counts = reason_sentence(fact["type"], _name(fact), fact["liked"], fact["rated"], 0, 0) if fact else ""
    kind = KINDS.get(str(arguments.get("suggestion_type")))
    feedback = "liked" if kind and kind.liked else "disliked"
    return {
        "suggestion_id": call.result.get("suggestion_id"),
        "type": arguments.get("suggestion_type"),
        "field": arguments.get("field"),
        "target": arguments.get("target_key"),
        "value": arguments.get("suggested_value"),
        "confidence": fact["confidence"] if fact else "",
        "reasoning": arguments.get("reason") or counts,
        "evidence": [
            {"url": item["url"], "feedback": feedback} for item in arguments.get("evidence_items", [])
        ],
    }
