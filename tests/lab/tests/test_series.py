"""The series behind the plots agree with the figures."""

import pytest

from tests.lab.advisor.metrics import row_of
from tests.lab.advisor.series import series_of
from tests.lab.tests.courses import asked, course


def test_uplift_by_week_starts_at_nothing_and_ends_at_the_rows_figure():
    courses = [course(1, 0.1), course(2, 0.3), course(3, 0.9, null=True)]
    weeks = series_of(courses)["uplift_by_week"]
    assert [row["week"] for row in weeks] == list(range(13))
    assert weeks[0]["uplift"] == 0
    assert weeks[-1]["uplift"] == row_of("ours", courses, [])["uplift"] == 0.2


def test_bins_weigh_up_to_the_rows_calibration_error():
    said = [asked(0.1, p=0.9), asked(0.1, p=0.95), asked(-0.1, p=0.92), asked(-0.1, p=0.41)]
    courses = [course(1, 0.1, *said[:3]), course(2, 0.1, said[3], null=True)]
    bins = series_of(courses)["calibration_bins"]
    assert [row["n"] for row in bins] == [1, 3]
    error = sum(row["n"] * abs(row["stated"] - row["true"]) for row in bins) / 4
    assert error == pytest.approx(row_of("ours", courses, [])["ece"], abs=1e-3)


def test_a_certain_probability_has_a_bin():
    assert series_of([course(1, 0.1, asked(0.1, p=1.0))])["calibration_bins"] == [
        {"n": 1, "stated": 1.0, "true": 1.0}
    ]


def test_a_higher_threshold_reaches_fewer_readers_and_keeps_the_surer():
    courses = [course(1, 0.1, asked(0.1, p=0.96)), course(2, 0.1, asked(-0.1, p=0.72)), course(3, 0.0)]
    rows = {row["at_least"]: row for row in series_of(courses)["by_threshold"]}
    assert (rows[0.0]["coverage"], rows[0.0]["precision"]) == (0.6667, 0.5)
    assert (rows[0.9]["coverage"], rows[0.9]["precision"]) == (0.3333, 1.0)
    assert 0.98 not in rows, "no suggestion is left to be right or wrong"


def test_rules_that_state_no_probability_have_no_curve():
    found = series_of([course(1, 0.1, asked(0.1))])
    assert (found["calibration_bins"], found["by_threshold"]) == ([], [])
