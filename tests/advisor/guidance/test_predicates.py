"""Rules block for certain reasons only; the language they are written in never fails, and explains itself."""

import json
from dataclasses import replace
from datetime import UTC, datetime
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
from advisor.guidance.entities import CallFacts, Level
from digest.entities import RatedItem
from ranking.entities import Config, EffectiveConfig
from suggestions.entities import FIELD_OF_TYPE, SOURCE_WEIGHTS, Refusal
from suggestions.entities import Draft as SuggestionDraft
from suggestions.rules import Accepted, Facts, check
from tests.advisor.guidance.memories import call, memory

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


KEY = "reuters.com"
RULES = Facts(EffectiveConfig(Config()), frozenset({KEY}))
LATER = datetime(2026, 4, 1, tzinfo=UTC)
REST: dict[str, Any] = {"text": "", "tags": (), "other_reasons": (), "dated_at": LATER}


def write(evidence: int | None = 3, values: dict[str, Any] | None = None, **changed: Any) -> CallFacts:
    """A write about a source, with these facts of the rules."""
    return CallFacts(
        call(),
        {**FREE, **(values or {})},
        replace(RULES, **changed),
        (SOURCE_WEIGHTS, KEY),
        evidence,
    )


@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        (write(declined=frozenset({"reduce_source"})), "type_declined"),
        (write(effective=EffectiveConfig(Config(locked=(KEY,)))), "pinned"),
        (write(waiting=frozenset({(SOURCE_WEIGHTS, KEY)})), "duplicate_pending"),
        (write(cooling={(SOURCE_WEIGHTS, KEY): LATER}), "on_cooldown"),
        (write(written=("topics", "topics", "source_weights")), "run_cap"),
        (write(written=("source_weights", "source_weights")), "run_cap"),
        (write(evidence=2), "insufficient_evidence"),
        (write(values={"money_left_usd": 0.0}), "money_spent"),
        (CallFacts(call(tool="test_suggestion"), {"money_left_usd": 0.0}), "money_spent"),
    ],
)
def test_each_built_in_rule_blocks_what_it_is_for(asked: CallFacts, rule: str) -> None:
    blocked = block_of(asked, ())
    assert blocked is not None and (blocked.level, blocked.rule) == (Level.BLOCK, rule)
    assert blocked.until == (LATER if rule == "on_cooldown" else None)


@pytest.mark.parametrize(
    "asked",
    [
        write(),
        write(evidence=None),
        write(written=("topics", "source_weights")),
        write(values={"money_left_usd": 0.4}),
        CallFacts(call(tool="test_suggestion"), FREE),
    ],
)
def test_nothing_else_is_blocked(asked: CallFacts) -> None:
    assert block_of(asked, ()) is None


@given(
    st.sets(st.sampled_from([*FIELD_OF_TYPE])),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.lists(st.sampled_from(["topics", "source_weights"]), max_size=4),
    st.integers(0, 5),
)
def test_a_blocking_condition_is_the_rule_of_suggestions_itself(
    declined: set[str], pinned: bool, waits: bool, cools: bool, written: list[str], evidence: int
) -> None:
    target = (SOURCE_WEIGHTS, KEY)
    facts = replace(
        RULES,
        effective=EffectiveConfig(Config(locked=(KEY,) if pinned else ())),
        declined=frozenset(declined),
        waiting=frozenset({target} if waits else ()),
        cooling={target: LATER} if cools else {},
        written=tuple(written),
        rated={
            url: RatedItem(item_id=n, url=url, title="A title", source=KEY, useful=False, at=LATER, **REST)
            for n, url in enumerate(f"https://{KEY}/{n}" for n in range(evidence))
        },
    )
    draft = SuggestionDraft("reduce_source", SOURCE_WEIGHTS, KEY, "0.7", tuple(facts.rated), "Too loud.")
    refused = check(draft, facts)
    blocked = block_of(CallFacts(call(), {}, facts, target, evidence), ())
    assert (blocked is None) is isinstance(refused, Accepted)
    if blocked is not None and isinstance(refused, Refusal):
        assert (blocked.rule, blocked.text) == (refused.code, refused.message)


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
    assert block_of(write(), (many, few)).rule == "rule-1"  # type: ignore[union-attr]
    assert block_of(write(values={"thumbs": 5}), (many, few)).rule == "rule-2"  # type: ignore[union-attr]
