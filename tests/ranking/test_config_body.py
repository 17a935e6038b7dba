"""A config's body is checked before it is stored, and differences are described in a reader's words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.config_body import (
    Body,
    body_changes,
    body_default,
    body_delta,
    body_effective,
    body_keys,
    body_keys_current,
    body_of,
    body_pin,
    body_source_rename,
    body_take_back,
    body_validate,
    changes_in_force,
    term_searchable,
    term_visible,
)
from ranking.entities import Config, InvalidSetting

TOPIC = st.text(alphabet="abcdefg XYZ", min_size=1, max_size=10)
BODIES = st.builds(
    lambda topics, weights, learned, half_life: {
        **body_default(),
        "topics": topics,
        "keyword_boosts": dict.fromkeys(topics[:2], 0.5),
        "locked": topics[:1],
        "avoided": topics[1:2],
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
        ("keyword_boosts", {"y" * 65: 1.0}),
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
        ("keyword_boosts", {"hype": -5.0, "y" * 64: 1.0}),
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


def test_a_refusal_names_the_value_and_its_bounds():
    for given_body, words in (
        (body(source_weights={"a": 2.5}), "How much from a must lie between 0.1 and 2; you gave 2.5."),
        (body(source_weights={"a": "x"}), "How much from a must be a number."),
        (body(keyword_boosts={"hype": 6}), "The boost of “hype” must lie between −5 and 5; you gave 6."),
        (
            body(recency_half_life_hours=2161),
            "hours until an article counts half must lie between 1 and 2160; you gave 2161.",
        ),
        (body(ai_score_alpha=-1), "The similarity share must lie between 0 and 1; you gave −1."),
        (body(keyword_boosts={"y" * 65: 1.0}), f"keyword may have 64 characters; “{'y' * 20}…” has 65."),
        (body(topics=["y" * 65]), f"may have 64 characters; “{'y' * 20}…” has 65."),
        (body(topics=[f"topic{n}x" for n in range(101)]), "At most 100 topics; you gave 101."),
    ):
        with pytest.raises(InvalidSetting) as refused:
            body_validate(given_body)
        assert words in refused.value.message


def test_the_largest_values_are_fine():
    largest = body(
        topics=[f"topic{n}x" for n in range(100)],
        keyword_boosts={f"word {n}": 5.0 for n in range(100)},
        recency_half_life_hours=2160.0,
        ai_score_alpha=1.0,
    )
    given = {**largest}
    body_validate(largest)
    assert largest == given


def test_nothing_learned_is_the_same_whether_it_is_said_or_not():
    assert body_changes(body(learned={"a": 0.0}), body()) == []


def test_every_kind_of_change_is_a_row_of_its_own():
    before = body(topics=["rust"], keyword_boosts={"a": 1.0, "b": 1.0}, locked=["x"])
    after = body(
        topics=["go"], keyword_boosts={"b": 2.0}, ai_score_alpha=0.5, avoided=["x"], learned={"s": 0.1}
    )
    rows = [(c["field"], c["target"], c["before"], c["after"]) for c in body_changes(before, after)]
    assert rows == [
        ("topics", "rust", True, False),
        ("topics", "go", False, True),
        ("source_weights", "s", 1.0, 1.1),
        ("keyword_boosts", "a", 1.0, None),
        ("keyword_boosts", "b", 1.0, 2.0),
        ("ai_score_alpha", "", 0.1, 0.5),
        ("locked", "x", True, False),
        ("avoided", "x", False, True),
    ]


def test_a_pin_goes_to_the_end_of_its_list_and_off_the_other():
    pinned = body(locked=["a", "b"], avoided=["c"])
    body_pin(pinned, "a", "avoided")
    body_pin(pinned, "b", "locked")
    assert (pinned["locked"], pinned["avoided"]) == (["b"], ["c", "a"])
    body_pin(pinned, "c", "")
    assert (pinned["locked"], pinned["avoided"]) == (["b"], ["a"])


def test_a_renamed_source_takes_its_weight_and_pins_along_unless_the_new_one_has_them():
    both = body(source_weights={"old": 1.4, "new": 0.6}, locked=["x", "old", "new"], avoided=["old"])
    body_source_rename(both, "old", "new")
    assert both["source_weights"] == {"new": 0.6}
    assert (both["locked"], both["avoided"]) == (["x", "new"], ["new"])
    assert body_keys(both) == {"x", "new"}
    assert body_keys(body(learned={"l": 0.1}, source_weights={"s": 1})) == {"l", "s"}


@pytest.mark.parametrize(
    ("weights", "learned", "read"),
    [
        ({}, {"old": 0.1}, ({}, {"new": 0.1})),
        ({}, {"old": 0.1, "new": 0.2}, ({}, {"new": 0.2})),
        ({"new": 1.5}, {"old": 0.1}, ({"new": 1.5}, {})),
        ({"old": 1.5}, {"old": 0.1}, ({"new": 1.5}, {"new": 0.1})),
    ],
)
def test_what_was_learned_goes_with_the_weight_it_was_learned_on(weights, learned, read):
    now = body_keys_current(body(source_weights=weights, learned=learned), {"old": "new"})
    assert (now["source_weights"], now["learned"]) == read
    assert body_delta(now, "new") == read[1].get("new", 0.0)


def test_what_nobody_sees_is_dropped_and_what_no_text_has_cannot_be_looked_for():
    assert term_visible("  ru\u200bst \n C++\u202e ") == "rust C++"
    assert [term_searchable(word) for word in ("rust", "7", "+", "🚲", "…!?", " ", "\u200b")] == (
        [True, True, True, True, False, False, False]
    )


MADE = {
    "topics": ["chess"],
    "source_weights": {"a": 1.4},
    "learned": {"b": 0.15},
    "keyword_boosts": {"rust": 0.8},
    "recency_half_life_hours": 12.0,
    "recency_by_day": False,
    "ai_score_alpha": 0.2,
    "taste": "on",
    "locked": ["a"],
    "avoided": ["b"],
    "literal": ["chess"],
    "by_meaning": ["rust"],
    "other_names": {"chess": ["Elo"]},
    "mutes": [{"kind": "word", "value": "war", "until": None, "within": "a/b"}],
    "shelf_lives": {"a": 24},
    "daily_limits": {"a": 2},
    "never_missed": ["b"],
}


def test_every_setting_that_a_write_changed_can_be_taken_back_and_what_came_later_stays():
    earlier = body_default()
    written = {**body_default(), **MADE}
    body_validate(written)
    assert written.keys() == earlier.keys() == MADE.keys(), "a new setting belongs into MADE"
    changes = body_changes(earlier, written)
    assert {change["field"] for change in changes} == {*MADE} - {"learned"}
    later = {**written, "topics": ["chess", "harbour"], "daily_limits": {"a": 5}}
    held = changes_in_force(later, earlier, changes)
    assert [change["field"] for change in changes if change not in held] == ["daily_limits"]
    body_take_back(later, earlier, held)
    body_validate(later)
    assert later == {**earlier, "topics": ["harbour"], "daily_limits": {"a": 5}}
    assert changes_in_force(later, earlier, changes) == []


def test_what_a_write_removed_comes_back():
    earlier, written = {**body_default(), **MADE}, body_default()
    body_validate(earlier)
    changes = body_changes(earlier, written)
    body_take_back(written, earlier, changes_in_force(written, earlier, changes))
    assert written == earlier
