"""The figures of an evaluation, on courses made by hand."""

import pytest

from tests.lab.advisor.metrics import calibration, coverage, difference, null_rate, row_of
from tests.lab.advisor.targets import targets_hold
from tests.lab.tests.courses import asked, course
from tests.lab.world.entities import course_of

ORACLE = [course(n, 0.2) for n in range(4)]


def test_precision_counts_what_was_accepted_and_truly_helped():
    mine = [course(0, 0.1, asked(0.01), asked(-0.01), asked(-0.001, accepted=False)), course(1, 0.1)]
    row = row_of("mine", mine, ORACLE)
    assert row["precision_accepted"] == 0.5
    assert row["precision_all"] == pytest.approx(1 / 3, abs=1e-4)
    assert row["harmful_accepted"] == 0.5
    assert row["suggestions_per_reader"] == 1.5


def test_a_change_nobody_could_notice_is_not_harmful():
    assert row_of("mine", [course(0, 0.0, asked(-0.0019))], ORACLE)["harmful_accepted"] == 0


def test_the_share_captured_is_the_oracles_on_the_same_readers():
    row = row_of("mine", [course(0, 0.1), course(1, 0.1), course(9, 5.0, null=True)], ORACLE)
    assert row["captured"] == 0.5
    assert row["captured_95"] == [0.5, 0.5]


def test_readers_without_preferences_count_for_silence_alone():
    quiet, pestered = course(5, 0.0, null=True), course(11, 0.0, asked(-1.0), null=True)
    row = row_of("mine", [course(0, 0.1), quiet, pestered], ORACLE)
    assert row["precision_accepted"] is None
    assert row["null_rate"] == pytest.approx(1 / 24, abs=1e-4) == null_rate([quiet, pestered])


def test_coverage_asks_only_readers_with_fifty_thumbs_by_week_six():
    early, late = course(0, 0, asked(0.1, week=6)), course(1, 0, asked(0.1, week=7))
    assert coverage([early, late, course(2, 0, thumbs=8)]) == 0.5


def test_calibration_compares_what_was_stated_with_what_came_true():
    honest = [asked(0.1, p=0.75, confidence="medium")] * 3 + [asked(-0.1, p=0.75, confidence="medium")]
    boastful = [asked(-0.1, p=0.95, confidence="high")] * 4
    assert calibration(honest)["ece"] == 0
    assert calibration(boastful)["ece"] == 0.95
    assert calibration(honest)["by_confidence"] == {"medium": {"n": 4, "stated": 0.75, "true": 0.75}}
    assert calibration([asked(0.1)])["ece"] is None


def test_rows_are_compared_reader_by_reader():
    found = difference([course(0, 0.3), course(1, 0.5)], [course(0, 0.1), course(1, 0.3), course(2, 9.0)])
    assert found == {"mean": 0.2, "interval_95": [0.2, 0.2], "readers": 2}


def test_intervals_widen_with_what_readers_differ_in():
    same = row_of("same", [course(n, 0.1) for n in range(10)], ORACLE)["uplift_95"]
    apart = row_of("apart", [course(n, 0.2 * (n % 2)) for n in range(10)], ORACLE)["uplift_95"]
    assert same == [0.1, 0.1] and apart[0] < 0.1 < apart[1]


def test_a_course_travels_between_processes_whole():
    one = course(3, 0.1, asked(0.2, p=0.9, confidence="high"))
    assert course_of(one.as_dict()) == one


def test_targets_are_met_or_missed_and_a_missing_figure_is_a_miss():
    good = [course(n, 0.15, asked(0.1, p=0.97, week=3)) for n in range(4)] + [course(5, 0.0, null=True)]
    held = {t["metric"]: t["met"] for t in targets_hold([row_of("good", good, ORACLE)], "good")}
    assert len(held) == 6 and all(held.values())
    silent = [course(n, 0.0) for n in range(4)]
    missed = {t["metric"]: t["met"] for t in targets_hold([row_of("silent", silent, ORACLE)], "silent")}
    assert (
        not missed["accepted suggestions that truly help"]
        and not missed["share of the honest oracle's uplift"]
    )


def test_controls_are_held_to_their_own_targets():
    rows = [
        {"name": "spam", "followed": 1},
        {"name": "null", "advised_share": 0.0, "nothing_to_find": True},
        {"name": "agreement", "same_thumbs": 1.0},
        {"name": "backtest", "naive_gain": 0.0, "later_gain": 0.0},
        {"name": "gone", "skipped": "no data"},
    ]
    assert [t["met"] for t in targets_hold(rows, "nobody")] == [False, True, True, False, True]
