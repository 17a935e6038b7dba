"""The rules that block a tool call, and the small JSON language that operators' rules are written in. Pure.

    {"all": [...]}   {"any": [...]}   {"not": ...}   {"fact": name, "op": op, "value": value}

`eq` and `ne` take any fact, `in` a list of values, `lt`, `le`, `gt`, `ge` numbers only. A rule holds only if
it is certain (Kleene's three-valued logic): a fact that is not known, or a condition that makes no sense,
is neither true nor false, and its negation is no truer.
"""

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from advisor.guidance.entities import Facts
from suggestions.entities import EVIDENCE_MIN, SUGGESTIONS_PER_RUN_MAX
from suggestions.rules import PER_FIELD_MAX

DEPTH_MAX, PARTS_MAX = 6, 20
# The tool, type and phase chosen beside a rule's condition are laid around it, which is one more.
WHOLE_DEPTH_MAX = DEPTH_MAX + 1
# No fact is larger; what is no number is neither above nor below it.
NUMBER_MAX = 1e12
# What rules may ask of `Facts`, and the type of each.
FACTS: Mapping[str, type] = {
    "tool": str,
    "phase": str,
    "suggestion_type": str,
    "field": str,
    "target": str,
    "step": float,
    "waiting": bool,
    "cooling": bool,
    "pinned": bool,
    "declined": bool,
    "written": float,
    "written_in_field": float,
    "thumbs": float,
    "likes": float,
    "thumbs_on_target": float,
    "fitting_on_target": float,
    "cited": float,
    "accepted_of_type": float,
    "rejected_of_type": float,
    "failed_writes": float,
    "calls_left": float,
    "money_left_usd": float,
}
ORDERED: Mapping[str, Callable[[Any, Any], bool]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
OPS = ("eq", "ne", "in", *ORDERED)
TYPE_WORDS = {str: "a text", bool: "true or false", float: "a number"}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that blocks: a stable `id`, its condition, and why, in words for whoever made the call."""

    id: str
    predicate: Mapping[str, Any]
    reason: str


def _fact(name: str, op: str, value: object) -> dict[str, Any]:
    return {"fact": name, "op": op, "value": value}


def _writing(*conditions: Mapping[str, Any]) -> dict[str, Any]:
    return {"all": [_fact("tool", "eq", "write_suggestion"), *conditions]}


# The rules of `suggestions.rules` that need not look evidence up, by the same codes and in the same order, so
# that guidance refuses nothing the write itself would let through: fewer items than a write must cite never
# do, and where the reader has fewer fitting thumbs, none can cite enough. `money_left_usd` is unknown where
# nothing is paid for, and then nothing is spent.
BUILT_IN: tuple[Rule, ...] = (
    Rule(
        "type_declined",
        _writing(_fact("declined", "eq", True)),
        "This reader turned down every suggestion of this type. Choose another type.",
    ),
    Rule(
        "pinned",
        _writing(_fact("pinned", "eq", True)),
        "The reader keeps this target as it is. Choose another target.",
    ),
    Rule(
        "duplicate_pending",
        _writing(_fact("waiting", "eq", True)),
        "A suggestion about this target already waits for the reader. Choose another target.",
    ),
    Rule(
        "on_cooldown",
        _writing(_fact("cooling", "eq", True)),
        "This target was suggested or decided lately. Choose another target.",
    ),
    Rule(
        "run_cap",
        _writing(
            {
                "any": [
                    _fact("written", "ge", SUGGESTIONS_PER_RUN_MAX),
                    _fact("written_in_field", "ge", PER_FIELD_MAX),
                ]
            }
        ),
        f"A run writes at most {SUGGESTIONS_PER_RUN_MAX} suggestions, {PER_FIELD_MAX} of them on topics "
        f"or on sources. Try the other kind, or finish.",
    ),
    Rule(
        "insufficient_evidence",
        _writing(
            {
                "any": [
                    _fact("fitting_on_target", "lt", EVIDENCE_MIN),
                    _fact("cited", "lt", EVIDENCE_MIN),
                ]
            }
        ),
        f"A change needs at least {EVIDENCE_MIN} different items that the reader rated and that speak for "
        f"it. Cite them; where the reader has fewer on this target, choose another.",
    ),
    Rule("money_spent", _fact("money_left_usd", "le", 0), "This run's money is spent. Finish."),
)


def block_for(facts: Facts, rules: Iterable[Rule]) -> Rule | None:
    """The first of `rules` that holds for this call, or `None`. Raises nothing."""
    return next((rule for rule in rules if predicate_holds(rule.predicate, facts)), None)


def predicate_holds(raw: object, facts: Facts) -> bool:
    """Whether the condition certainly holds; False for anything that is no condition. Raises nothing."""
    return _truth(raw, facts.values, WHOLE_DEPTH_MAX) is True


def predicate_check(raw: object, *, whole: bool = False) -> list[str]:
    """What is wrong with a condition, in words and each with its place; empty where it may be used.

    `whole`: it is one as it is stored, with the tool, type and phase around what was typed.
    """
    return list(_problems(raw, "the condition", WHOLE_DEPTH_MAX if whole else DEPTH_MAX))


def _truth(raw: object, values: Mapping[str, Any], depth: int) -> bool | None:
    """True, False, or `None` where it cannot be told."""
    if not isinstance(raw, Mapping) or depth < 1:
        return None
    if set(raw) == {"not"}:
        inner = _truth(raw["not"], values, depth - 1)
        return None if inner is None else not inner
    for word, decisive in (("all", False), ("any", True)):
        if set(raw) == {word}:
            parts = raw[word]
            if not isinstance(parts, list) or not 0 < len(parts) <= PARTS_MAX:
                return None
            truths = [_truth(part, values, depth - 1) for part in parts]
            return decisive if decisive in truths else None if None in truths else not decisive
    return _compared(raw, values) if set(raw) == {"fact", "op", "value"} else None


def _compared(raw: Mapping[str, Any], values: Mapping[str, Any]) -> bool | None:
    name, op, wanted = raw["fact"], raw["op"], raw["value"]
    kind = FACTS.get(name) if isinstance(name, str) else None
    if kind is None or _value_problem(kind, op, wanted) or not _fits(values.get(name), kind):
        return None
    known = values[name]
    if op in ("eq", "ne"):
        return bool((known == wanted) is (op == "eq"))
    return known in wanted if op == "in" else ORDERED[op](known, wanted)


def _fits(value: object, kind: type) -> bool:
    """Whether `value` is one of a fact of this type; infinities and what is no number are not."""
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= NUMBER_MAX
    return isinstance(value, kind)


def _value_problem(kind: type, op: object, value: object) -> str:
    """Why this comparison makes no sense for a fact of this type; empty where it does."""
    if op not in OPS:
        return f"`op` must be one of {', '.join(OPS)}"
    if op == "in":
        fine = isinstance(value, list) and value and all(_fits(one, kind) for one in value)
        return "" if fine else f"`value` must be a list of which each is {TYPE_WORDS[kind]}"
    if op in ORDERED and kind is not float:
        return f"`{op}` compares numbers, and this fact is {TYPE_WORDS[kind]}"
    return "" if _fits(value, kind) else f"`value` must be {TYPE_WORDS[kind]}"


def _problems(raw: object, place: str, depth: int) -> Iterable[str]:
    if depth < 1:
        yield f"In {place}: more than {DEPTH_MAX} conditions inside one another."
    elif not isinstance(raw, Mapping):
        yield f"In {place}: a condition is an object, such as " + '{"fact": "step", "op": "lt", "value": 0}.'
    elif set(raw) == {"not"}:
        yield from _problems(raw["not"], f"{place}, `not`", depth - 1)
    elif set(raw) == {"fact", "op", "value"}:
        yield from _fact_problems(raw, place)
    elif len(raw) == 1 and set(raw) <= {"all", "any"}:
        [(word, parts)] = raw.items()
        if not isinstance(parts, list) or not 0 < len(parts) <= PARTS_MAX:
            yield f"In {place}: `{word}` takes a list of 1 to {PARTS_MAX} conditions."
            return
        for number, part in enumerate(parts, 1):
            yield from _problems(part, f"{place}, `{word}` {number}", depth - 1)
    else:
        yield f"In {place}: a condition is `all`, `any`, `not`, or `fact` with `op` and `value`."


def _fact_problems(raw: Mapping[str, Any], place: str) -> Iterable[str]:
    name = raw["fact"]
    kind = FACTS.get(name) if isinstance(name, str) else None
    if kind is None:
        yield f"In {place}: there is no such fact. There are {', '.join(FACTS)}."
    elif problem := _value_problem(kind, raw["op"], raw["value"]):
        yield f"In {place}, fact `{name}`: {problem}."
