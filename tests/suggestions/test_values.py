"""Weights in hundredths and topics on one line, at their edges."""

import pytest

from ranking.common.text import topic_key
from suggestions.changes.topics import topic_clean, topic_in_config
from suggestions.changes.weights import step_share, weight_bounds, weight_clamp, weight_parse, weight_text


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (" 1.3 ", 1.3),
        ("+1", 1.0),
        ("-0.5", -0.5),
        ("9" * 12, 999_999_999_999.0),
        ("9" * 13, None),
        ("1.", None),
        (".5", None),
        ("1.3x", None),
        (2, 2.0),
        (True, None),
        (10**400, None),
    ],
)
def test_a_weight_is_read_from_a_number_or_a_plain_decimal(value, number):
    assert weight_parse(value) == number
    assert isinstance(weight_parse(value), float | None)


def test_a_weight_is_written_with_one_decimal_or_two():
    assert [weight_text(w) for w in (1.0, 1.2, 1.25, 1.299, 0.1)] == ["1.0", "1.2", "1.25", "1.3", "0.1"]


def test_a_chosen_step_is_a_share_of_the_proposed_one():
    assert step_share("1.15", "1.0", "1.3") == pytest.approx(0.5)
    assert step_share("0.9", "1.0", "1.3") == pytest.approx(-1 / 3)
    assert step_share("0.2", "0.0", "0.1") == pytest.approx(2), "a weight of nothing is a weight"
    for values in (("x", "1.0", "1.3"), ("1.1", "", "1.3"), ("1.1", "1.0", "rust"), ("1.1", "1.3", "1.3")):
        assert step_share(*values) is None


def test_the_reach_of_a_step_ends_at_the_bounds_of_all_weights():
    assert weight_bounds(1.0) == pytest.approx((0.7, 1.3))
    assert weight_bounds(0.2) == pytest.approx((0.1, 0.5))
    assert weight_bounds(1.9) == pytest.approx((1.6, 2.0))
    assert weight_bounds(1.0, "boost_source") == pytest.approx((1.0, 1.3))
    assert weight_bounds(1.0, "reduce_source") == pytest.approx((0.7, 1.0))


@pytest.mark.parametrize(
    ("wanted", "current", "weight"),
    [
        (1.234, 1.0, 1.23),
        (9, 1.0, 1.3),
        (-9, 1.0, 0.7),
        (9, 1.007, 1.3),  # 1.31 would be beyond 1.307
        (-9, 1.004, 0.71),  # 0.70 would be beyond 0.704
        (9, 0.85, 1.15),  # the reach itself, though 1.15 × 100 is a hair below 115
        (-9, 0.87, 0.57),
        (9, 1.9, 2.0),
        (0, 0.2, 0.1),
    ],
)
def test_a_weight_is_held_within_reach_in_hundredths(wanted, current, weight):
    assert weight_clamp(wanted, current) == weight


@pytest.mark.parametrize(
    ("typed", "topic"),
    [
        (" Electric   cars ", "Electric cars"),
        ("ﬁne", "fine"),
        ("a" + " " * 254 + "b", "a b"),
        ("a" + " " * 255 + "b", None),  # longer than any topic could be typed
        ("x" * 64, "x" * 64),
        ("x" * 65, None),
        ("\trust", None),
        ("C++", "C++"),
        ("X and Xerox", "X and Xerox"),
        ("+ +", None),
        ("", None),
        (7, None),
    ],
)
def test_a_topic_is_one_short_line_that_says_something(typed, topic):
    assert topic_clean(typed) == topic


def test_a_topic_of_the_config_goes_by_its_own_spelling():
    topics = ("Rust", "Electric cars")
    assert topic_in_config(topic_key("ELECTRIC CAR"), topics) == "Electric cars"
    assert topic_in_config("go", topics) == ""
