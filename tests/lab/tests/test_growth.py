"""The cost of growth: the exponent of a sum is 1, of a square 2, and one more query misses a target."""

from tests.lab.bench.growth import exponent, found, targets
from tests.lab.load import growth as load_growth

SIZES = (10, 100, 1_000)


def row(work: str, ms: list[float], queries: list[int], *, may_grow: bool = False) -> dict:
    """Return a benchmark's row for three sizes."""
    slope = exponent(SIZES, ms)
    return {
        "work": work,
        "grows": "items",
        "exponent": slope,
        "queries": queries,
        "queries_may_grow": may_grow,
    }


def test_the_exponent_tells_a_constant_a_sum_and_a_square_apart():
    assert exponent(SIZES, [7, 7, 7]) == 0
    assert exponent(SIZES, [3, 30, 300]) == 1
    assert exponent(SIZES, [1, 100, 10_000]) == 2


def test_a_square_and_a_query_more_are_missed_and_a_round_may_ask_more():
    fine = row("a page", [5, 6, 7], [9, 9, 9])
    assert [
        target["met"] for target in targets([fine, row("a round", [1, 10, 100], [9, 20, 90], may_grow=True)])
    ] == [
        True,
        True,
    ]
    time, queries = targets([fine, row("a list", [1, 100, 10_000], [9, 9, 10])])
    assert (time["value"], time["met"]) == (2, False) and (queries["value"], queries["met"]) == (1, False)


def test_a_figure_is_found_by_place_and_by_what_its_row_says():
    report = {"alone": [{"page": "item", "ms": 3}, {"page": "all, best", "ms": 5}]}
    assert (found(report, "alone.0.ms"), found(report, "alone.page=all, best.ms")) == (3.0, 5.0)


def test_ten_times_the_installation_that_takes_as_long_has_no_exponent_and_a_sum_has_one():
    assert [load_growth.row("a page", ms)["exponent"] for ms in ([20.0, 20.0], [20.0, 200.0])] == [0.0, 1.0]
