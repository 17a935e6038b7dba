"""Rules block for certain reasons only; the language they are written in never fails, and explains itself."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.guidance.admission import (
    DEPTH_MAX,
    FACTS,
    OPS,
    PARTS_MAX,
    predicate_check,
    predicate_holds,
)
from advisor.guidance.engine import block_of
from advisor.guidance.situations import CallFacts
from ranking.entities import Config, EffectiveConfig
from suggestions.proposals import Facts
from tests.advisor.guidance.memories import call, memory
from tests.support.changes import SOURCE_WEIGHTS

FREE: dict[str, Any] = {
    "tool": "write_suggestion",
    "phase": "write",
    "suggestion_type": "reduce_source",
    "field": "source_weights",
    "target": "reuters.com",
    "step": -0.2,
    "waiting": False,
    "cooling": False,
    "pinned": False,
    "declined": False,
    "written": 0,
    "written_in_field": 0,
    "money_left_usd": 0.4,
    "thumbs": 30,
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from([*FACTS]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["all", "any", "not", "fact", "op", "value"]), inner, max_size=3)
        | st.fixed_dictionaries(
            {"fact": st.sampled_from([*FACTS]) | inner, "op": st.sampled_from([*OPS]) | inner, "value": inner}
        )
    ),
    max_leaves=12,
)


def facts(**changed: Any) -> dict[str, Any]:
    return {**FREE, **changed}


def asks(name: str, op: str, value: Any) -> dict[str, Any]:
    return {"fact": name, "op": op, "value": value}


RULES = Facts(EffectiveConfig(Config()), frozenset({"reuters.com"}))


@pytest.mark.parametrize(
    "changed",
    [
        {"declined": frozenset({"reduce_source"})},
        {"effective": EffectiveConfig(Config(locked=("reuters.com",)))},
        {"waiting": frozenset({(SOURCE_WEIGHTS, "reuters.com")})},
        {"written": ("topics", "topics", "source_weights")},
    ],
)
def test_the_rules_of_suggestions_answer_themselves_and_block_no_call(changed: dict[str, Any]) -> None:
    """Blocked early, a write would be refused for less than the whole truth."""
    values = {**FREE, "money_left_usd": 0.0}
    assert block_of(CallFacts(call(), values, replace(RULES, **changed)), ()) is None


@pytest.mark.parametrize(
    ("predicate", "holds"),
    [
        (asks("step", "lt", 0), True),
        (asks("step", "ge", -0.2), True),
        (asks("step", "gt", -0.2), False),
        (asks("thumbs", "le", 30), True),
        (asks("target", "eq", "reuters.com"), True),
        (asks("target", "ne", "reuters.com"), False),
        (asks("target", "in", ["bbc.co.uk", "reuters.com"]), True),
        ({"not": asks("pinned", "eq", True)}, True),
        ({"all": [asks("thumbs", "ge", 10), asks("step", "gt", 0)]}, False),
        ({"any": [asks("thumbs", "ge", 10), asks("step", "gt", 0)]}, True),
        ({"all": [{"any": [asks("pinned", "eq", True), asks("thumbs", "ge", 10)]}]}, True),
    ],
)
def test_conditions_compare_facts(predicate: dict[str, Any], holds: bool) -> None:
    assert predicate_check(predicate) == []
    assert predicate_holds(predicate, facts()) is holds


@pytest.mark.parametrize("name", ["likes", "step"])
def test_what_is_not_known_is_neither_so_nor_otherwise(name: str) -> None:
    unknown, less = facts(step=None), asks(name, "lt", 5)
    assert not predicate_holds(less, unknown)
    assert not predicate_holds({"not": less}, unknown)
    assert not predicate_holds({"all": [less, asks("thumbs", "ge", 10)]}, unknown)
    assert predicate_holds({"any": [less, asks("thumbs", "ge", 10)]}, unknown)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ([], "a condition is an object"),
        ({}, "a condition is `all`"),
        ({"all": []}, "1 to 20 conditions"),
        ({"any": [asks("thumbs", "ge", 1)] * (PARTS_MAX + 1)}, "1 to 20 conditions"),
        ({"not": None}, "the condition, `not`"),
        (asks("mood", "eq", "good"), "no such fact"),
        (asks("thumbs", "about", 3), "`op` must be one of"),
        (asks("thumbs", "ge", "3"), "must be a number"),
        (asks("thumbs", "ge", True), "must be a number"),
        (asks("thumbs", "ge", float("nan")), "must be a number"),
        (asks("thumbs", "ge", 10**400), "must be a number"),
        (asks("pinned", "eq", 1), "must be true or false"),
        (asks("target", "lt", "b"), "compares numbers"),
        (asks("tool", "in", []), "must be a list"),
        (asks("tool", "in", ["a", 1]), "must be a list"),
        ({**asks("tool", "eq", "a"), "note": 1}, "a condition is `all`"),
        ({"all": [asks("thumbs", "ge", 1), asks("x", "eq", 1)]}, "`all` 2"),
    ],
)
def test_what_is_no_condition_is_explained_and_never_holds(raw: Any, said: str) -> None:
    assert any(said in problem for problem in predicate_check(raw))
    assert not predicate_holds(raw, facts())
    assert not predicate_holds({"not": raw}, facts())


def test_conditions_nest_so_far_and_no_further() -> None:
    nested: Any = asks("thumbs", "ge", 1)
    for _ in range(DEPTH_MAX - 1):
        nested = {"all": [nested]}
    deeper = {"all": [nested]}
    assert predicate_holds(nested, facts()) and predicate_check(nested) == []
    assert "inside one another" in predicate_check(deeper)[0]
    assert predicate_holds(deeper, facts()) and predicate_check(deeper, whole=True) == []
    assert not predicate_holds({"all": [deeper]}, facts())
    assert "inside one another" in predicate_check({"all": [deeper]}, whole=True)[0]


@given(JSON)
def test_any_json_is_answered_and_what_is_refused_never_holds(raw: Any) -> None:
    holds = predicate_holds(raw, facts())
    assert not (holds and predicate_holds({"not": raw}, facts()))
    if predicate_check(raw):
        assert not (isinstance(raw, dict) and "fact" in raw and holds)
    else:
        stored = json.loads(json.dumps(raw))
        assert predicate_holds(stored, facts()) is holds


@given(st.dictionaries(st.sampled_from([*FACTS]), JSON, max_size=6))
def test_facts_of_any_shape_raise_nothing(values: dict[str, Any]) -> None:
    rules = [memory(1, predicate=asks("thumbs", "ge", 10))]
    assert predicate_holds(rules[0].predicate, values) in (True, False)


def test_the_first_rule_that_holds_blocks() -> None:
    many, few = memory(1, predicate=asks("thumbs", "ge", 10)), memory(2, predicate=asks("thumbs", "ge", 1))
    assert block_of(CallFacts(call(), FREE), (many, few)).rule == "rule-1"  # type: ignore[union-attr]
    assert block_of(CallFacts(call(), facts(thumbs=5)), (many, few)).rule == "rule-2"  # type: ignore[union-attr]
