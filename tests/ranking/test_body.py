"""A config's body: checked before it is stored, compared in words a reader understands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.body import Body, body_changes, body_default, body_effective, body_of, body_validate
from ranking.entities import Config
from ranking.errors import InvalidSetting

TOPIC = st.text(alphabet="abcdefg XYZ", min_size=1, max_size=10)
BODIES = st.builds(
    lambda topics, weights, learned, half_life: {
        **body_default(),
        "topics": topics,
        "source_weights": weights,
        "learned": learned,
        "recency_half_life_hours": half_life,
    },
    st.lists(TOPIC, max_size=4, unique=True),
    st.dictionaries(st.sampled_from("abc"), st.floats(0.1, 2.0), max_size=3),
    st.dictionaries(st.sampled_from("abc"), st.sampled_from([-0.3, 0.15, 0.3]), max_size=3),
    st.floats(1, 100),
)


def body(**fields: object) -> Body:
    return {**body_default(), **fields}


@given(BODIES)
def test_a_body_holds_everything_that_ranks(given_body):
    effective = body_effective(given_body)
    assert body_of(effective.config, effective.deltas) == given_body


@given(BODIES)
def test_a_body_differs_in_nothing_from_itself(given_body):
    assert body_changes(given_body, body_of(*_parts(given_body))) == []


def _parts(given_body: Body) -> tuple[Config, dict[str, float]]:
    effective = body_effective(given_body)
    return effective.config, dict(effective.deltas)


@given(BODIES, BODIES)
def test_every_change_names_what_differs_and_reads_the_same_backwards(before, after):
    forth = body_changes(before, after)
    back = body_changes(after, before)
    assert {(c["field"], c["target"]) for c in forth} == {(c["field"], c["target"]) for c in back}
    assert {c["target"] for c in forth if c["field"] == "topics"} == {*before["topics"]} ^ {*after["topics"]}
    swapped = {(c["target"], str(c["after"]), str(c["before"])) for c in back}
    assert {(c["target"], str(c["before"]), str(c["after"])) for c in forth} == swapped


def test_changes_speak_in_effective_weights():
    before = body(source_weights={"a": 1.0}, learned={"a": 0.15})
    after = body(source_weights={"a": 1.15})
    assert body_changes(before, after) == [
        {"field": "source_weights", "target": "a", "before": 1.15, "after": 1.15}
    ]


def test_a_body_made_of_a_config_can_be_changed_without_changing_the_config():
    config = Config(topics=("rust",), source_weights={"a": 1.0})
    changed = body_of(config, {})
    changed["topics"].append("go")
    changed["source_weights"]["a"] = 2.0
    assert config == Config(topics=("rust",), source_weights={"a": 1.0})


def test_topics_are_kept_once_in_their_first_spelling_without_loose_spaces():
    given_body = body(topics=["  Electric   cars ", "electric car", "", "Rust", "RUST"])
    body_validate(given_body)
    assert given_body["topics"] == ["Electric cars", "Rust"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("source_weights", {"a": 0.05}),
        ("source_weights", {"a": 2.01}),
        ("source_weights", {"a": float("nan")}),
        ("source_weights", {"a": True}),
        ("source_weights", {"a": "1.0"}),
        ("keyword_boosts", {"hype": -5.5}),
        ("keyword_boosts", {"hype": float("inf")}),
        ("recency_half_life_hours", 0.0),
        ("recency_half_life_hours", float("nan")),
        ("ai_score_alpha", 1.5),
        ("topics", ["x" * 65]),
        ("topics", [f"topic{n}x" for n in range(101)]),
    ],
)
def test_what_ranking_cannot_work_with_is_refused(field, value):
    with pytest.raises(InvalidSetting):
        body_validate(body(**{field: value}))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("source_weights", {"a": 0.1, "b": 2}),
        ("keyword_boosts", {"hype": -5.0}),
        ("recency_half_life_hours", 1.0),
        ("ai_score_alpha", 0),
        ("topics", ["x" * 64]),
    ],
)
def test_the_bounds_themselves_are_fine(field, value):
    checked = body(**{field: value})
    body_validate(checked)
    assert checked[field] == value


def test_a_hundred_boosts_are_enough():
    body = body_default() | {"keyword_boosts": {f"word {n}": 0.5 for n in range(101)}}
    with pytest.raises(InvalidSetting, match="At most 100 boosts; you gave 101"):
        body_validate(body)
