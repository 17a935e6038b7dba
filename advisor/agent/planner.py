"""The statistical planner: no language model, but behind the same protocol.

It reads the tool results in the conversation and issues the next tool calls. It needs no key and costs
nothing, and any paid model must beat it. The same conversation gives the same turn. It proposes changes that
the figures find likely enough, never a type that the reader always rejects. If there are none, it gives the
reason. Pure.
"""

from collections.abc import Mapping, Sequence, Set
from decimal import Decimal
from typing import Any

from advisor.conversation import FINISH_TOOL, Call, calls_of, calls_to, refusal_code, result_of
from advisor.guidance.situations import ReaderFacts
from advisor.result_size import as_json
from advisor.run_values import PLANNER_MODEL
from digest.llm.entities import AnswerForm, Message, ModelUnavailable, ToolCall, ToolSchema, Turn, Usage
from suggestions.changes.registry import KINDS
from suggestions.changes.weights import weight_clamp, weight_parse, weight_text
from suggestions.planner.hypotheses import BALANCED, HELPS_MIN, SILENCE_SENTENCES
from suggestions.rules import run_full, types_declined
from suggestions.sentences import change_stopped
from suggestions.wording import CHANGE_IN_REVIEW

READ_ATTEMPTS_MAX = 2
FEEDBACK, CONFIG, PROFILE, WRITE = (
    "query_user_feedback",
    "query_user_config",
    "get_user_profile",
    "write_suggestion",
)
DRAFT = "draft"
# Keys of each hypothesis that a run left out.
SKIPPED = ("hypothesis", "reason_skipped")
# The codes of changes that the planner itself drops, with words for the operator.
OBJECTIONS = {
    "type_declined": "Every suggestion of this kind was turned down before.",
    "refused": "A proposal about this target was refused earlier in this run.",
    "resting": "This target was suggested or decided lately, waits, or is pinned.",
    "unlikely": "Only {p_helpful:.0%} likely to help.",
}

NO_FACTS = ReaderFacts()

Fact = Mapping[str, Any]


class StatisticalPlanner:
    """The last model of every chain, and the only one for a reader who turned models off.

    `facts` are guidance's facts about the reader. A model reads the same in words.
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
        """Return the next turn: read, write one suggestion, or finish.

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
            return _closing(calls, [], str(facts.get("reason", "")))
        chosen, skipped = hypotheses_choose(facts, result_of(calls, PROFILE) or {}, self.facts)
        tried = {_identity(call) for call in calls_to(calls, WRITE)}
        full = slots_full(calls_to(calls, WRITE))
        weights = (result_of(calls, CONFIG) or {}).get("active_weights") or {}
        for fact in chosen:
            if fact["type"] not in full and WRITE in offered and _key(fact) not in tried:
                return _calling(
                    calls, [(WRITE, proposal_arguments(share_step(fact, weights, self.facts.step)))]
                )
        return _closing(calls, skipped, nothing_new_reason(calls, facts, skipped))

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
    patterns, declined = patterns_true(profile), types_avoided(profile) | set(reader.declined)
    chosen: list[Fact] = []
    skipped = []
    for fact in facts.get("hypotheses", []):
        if code := _objection(fact, declined, reader):
            reason = OBJECTIONS[code].format(p_helpful=fact["p_helpful"])
            skipped.append({"hypothesis": hypothesis_title(fact), "reason_skipped": reason, "code": code})
        else:
            chosen.append(fact)
    chosen.sort(key=lambda fact: KINDS[fact["type"]].patterns.favoured_by not in patterns)
    return chosen, skipped


def patterns_true(profile: Fact) -> frozenset[str]:
    """Return the patterns that hold for the reader."""
    return frozenset(name for name, holds in (profile.get("patterns") or {}).items() if holds is True)


def types_avoided(profile: Fact) -> frozenset[str]:
    """Return the types that this reader has rejected too often to be asked again, or that a pattern bars."""
    stats, patterns = profile.get("acceptance_stats") or {}, patterns_true(profile)
    answers = {kind: (row.get("accepted", 1), row.get("rejected", 0)) for kind, row in stats.items()}
    barred = {name for name, one in KINDS.items() if one.patterns.barred_by in patterns}
    return types_declined(answers) | barred


def _objection(fact: Fact, declined: Set[str], reader: ReaderFacts) -> str:
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
    types = (str(call.arguments.get("suggestion_type")) for call in writes if call.succeeded)
    written = [str(KINDS[name].field) for name in types if name in KINDS]
    return {name for name, kind in KINDS.items() if run_full(str(kind.field), written)}


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
        "target": fact["target"],
        "suggested_value": fact["suggested_value"],
        "evidence": list(fact["supporting_items"]),
        "reason": "",
    }


def share_step(fact: Fact, weights: Fact, share: float) -> Fact:
    """Return a hypothesis on a source, with its step reduced to this reader's share."""
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
    """Return the (type, target) of a write."""
    return str(call.arguments.get("suggestion_type")), str(call.arguments.get("target")).casefold()


def _calling(calls: Sequence[Call], wanted: Sequence[tuple[str, dict[str, Any]]]) -> Turn:
    """Return a turn with one tool call for each of `wanted`, numbered on from the calls so far."""
    new = tuple(
        ToolCall(f"planner_{len(calls) + n}", name, as_json(arguments))
        for n, (name, arguments) in enumerate(wanted, start=1)
    )
    message = {"role": "assistant", "content": "", "tool_calls": [call.as_message() for call in new]}
    return Turn(message, tool_calls=new, model=PLANNER_MODEL)


def _closing(calls: Sequence[Call], skipped: Sequence[Mapping[str, str]], silence: str) -> Turn:
    """Return the last turn, with what was left out. `silence` says why the reader has nothing to decide."""
    writes = calls_to(calls, WRITE)
    refused = [_refusal_row(call) for call in writes if not call.succeeded]
    left_out = [*refused, *({key: row[key] for key in SKIPPED} for row in skipped)]
    all_drafts = all(call.result.get("status") == DRAFT for call in writes if call.succeeded)
    return _calling(calls, [(FINISH_TOOL, {"reason": silence if all_drafts else "", "skipped": left_out})])


def _refusal_row(call: Call) -> dict[str, str]:
    """Return a refused write with the reason of the rule or of the guidance that stopped it."""
    kind, target = str(call.arguments.get("suggestion_type")), str(call.arguments.get("target"))
    reasons = (call.result.get(name) for name in ("details", "reason", "guidance"))
    reason = str(next((text for text in reasons if text), "It was refused."))
    title = hypothesis_title({"type": kind, "target": target}) if kind in KINDS else f"{kind} {target}"
    return {"hypothesis": title, "reason_skipped": reason}
