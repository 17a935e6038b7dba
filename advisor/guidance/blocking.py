"""What stops a call: the built-in rules and those operators wrote, by their conditions alone. Pure."""

from collections.abc import Sequence

from advisor.guidance.entities import Advice, Facts, Level, Remembered, Why
from advisor.guidance.predicates import BUILT_IN, Rule, block_for

ON_COOLDOWN = "on_cooldown"


def block_of(facts: Facts, written: Sequence[Rule]) -> Advice | None:
    """The block of a call with these `facts`, by the first rule that certainly holds; else `None`.

    `written` are operators' own rules, asked after the built-in ones.
    """
    rule = block_for(facts, (*BUILT_IN, *written))
    if rule is None:
        return None
    until = facts.until if rule.id == ON_COOLDOWN else None
    return Advice(Level.BLOCK, Why.BLOCKED, rule.reason, rule=rule.id, until=until)


def rule_of(memory: Remembered) -> Rule:
    """An operator's memory as a rule."""
    return Rule(f"rule-{memory.id}", memory.predicate, memory.text)
