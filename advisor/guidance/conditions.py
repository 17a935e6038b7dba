"""What stops a call: the rules of suggestions asked early, and operators' own rules in a small language.

    {"all": [...]}   {"any": [...]}   {"not": ...}   {"fact": name, "op": op, "value": value}

A condition holds only where that is certain (Kleene's three-valued logic): an unknown fact is neither true
nor false, and neither is its negation.
"""

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from advisor.guidance.entities import CallFacts, Level, Why
from advisor.guidance.wording import Advice
from advisor.models import Memory
from suggestions.rules import early_refusal

DEPTH_MAX, PARTS_MAX, NUMBER_MAX = 6, 20, 1e12
# What conditions may ask, and the type of each.
NUMBERS = (
    "step written written_in_field thumbs likes thumbs_on_target fitting_on_target cited accepted_of_type "
    "rejected_of_type failed_writes calls_left money_left_usd"
)
FACTS: Mapping[str, type] = {
    **dict.fromkeys(("tool", "phase", "suggestion_type", "field", "target"), str),
    **dict.fromkeys(("waiting", "cooling", "pinned", "declined"), bool),
    **dict.fromkeys(NUMBERS.split(), float),
}
OPS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "in": lambda known, wanted: known in wanted,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
TYPE_WORDS = {str: "a text", bool: "true or false", float: "a number"}
EXAMPLE = '{"fact": "step", "op": "lt", "value": 0}'


def block_of(call: CallFacts, rules: Iterable[Memory]) -> Advice | None:
    """Return the block of a call by suggestions' own rules, the run's money, or operators' `rules`."""
    if call.rules is not None:
        kind = call.situation.suggestion_type
        refusal = early_refusal(kind, call.target, call.rules, evidence=call.evidence)
        if refusal is not None:
            until = call.rules.cooling.get(call.target) if refusal.code == "on_cooldown" else None
            return Advice(Level.BLOCK, Why.BLOCKED, refusal.message, rule=refusal.code, until=until)
    if call.values.get("money_left_usd", 1.0) <= 0:
        return Advice(Level.BLOCK, Why.BLOCKED, "This run's money is spent. Finish.", rule="money_spent")
    rule = next((rule for rule in rules if predicate_holds(rule.predicate, call.values)), None)
    return Advice(Level.BLOCK, Why.BLOCKED, rule.text, rule=f"rule-{rule.id}") if rule else None


def predicate_holds(raw: object, values: Mapping[str, Any]) -> bool:
    """Return whether the condition certainly holds; False for anything that is none."""
    return not predicate_check(raw, whole=True) and _truth(raw, values) is True


def predicate_check(raw: object, *, whole: bool = False) -> list[str]:
    """Return what is wrong with a condition, in words; `whole`: with its tool, type and phase around it."""
    return list(_problems(raw, "the condition", DEPTH_MAX + whole))


def _truth(condition: Any, values: Mapping[str, Any]) -> bool | None:
    """Return whether a condition without problems holds; `None` where a fact that decides is unknown."""
    if "not" in condition:
        inner = _truth(condition["not"], values)
        return None if inner is None else not inner
    for word, decisive in (("all", False), ("any", True)):
        if word in condition:
            truths = [_truth(part, values) for part in condition[word]]
            return decisive if decisive in truths else None if None in truths else not decisive
    name, op, wanted = condition["fact"], condition["op"], condition["value"]
    return OPS[op](known, wanted) if _fits(known := values.get(name), FACTS[name]) else None


def _fits(value: object, kind: type) -> bool:
    if kind is not float:
        return isinstance(value, kind)
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= NUMBER_MAX


def _problems(raw: object, place: str, depth: int) -> Iterable[str]:
    if depth < 1:
        yield f"In {place}: more than {DEPTH_MAX} conditions inside one another."
    elif not isinstance(raw, Mapping):
        yield f"In {place}: a condition is an object, such as {EXAMPLE}."
    elif set(raw) == {"not"}:
        yield from _problems(raw["not"], f"{place}, `not`", depth - 1)
    elif set(raw) == {"fact", "op", "value"}:
        kind = FACTS.get(raw["fact"]) if isinstance(raw["fact"], str) else None
        if kind is None:
            yield f"In {place}: there is no such fact. There are {', '.join(FACTS)}."
        elif problem := _value_problem(kind, raw["op"], raw["value"]):
            yield f"In {place}, fact `{raw['fact']}`: {problem}."
    elif len(raw) == 1 and set(raw) <= {"all", "any"}:
        [(word, parts)] = raw.items()
        if not isinstance(parts, list) or not 0 < len(parts) <= PARTS_MAX:
            yield f"In {place}: `{word}` takes a list of 1 to {PARTS_MAX} conditions."
            return
        for number, part in enumerate(parts, 1):
            yield from _problems(part, f"{place}, `{word}` {number}", depth - 1)
    else:
        yield f"In {place}: a condition is `all`, `any`, `not`, or `fact` with `op` and `value`."


def _value_problem(kind: type, op: object, value: object) -> str:
    if not isinstance(op, str) or op not in OPS:
        return f"`op` must be one of {', '.join(OPS)}"
    if op == "in":
        fine = isinstance(value, list) and value and all(_fits(one, kind) for one in value)
        return "" if fine else f"`value` must be a list of which each is {TYPE_WORDS[kind]}"
    if op not in ("eq", "ne") and kind is not float:
        return f"`{op}` compares numbers, and this fact is {TYPE_WORDS[kind]}"
    return "" if _fits(value, kind) else f"`value` must be {TYPE_WORDS[kind]}"
