"""The effect of guidance has an interval, and is left out if too few notes were held out."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from advisor.guidance.events import CASES_MIN, Arm, difference_of, newcombe, uplift_report
from tests.advisor.guidance.lives import DAY, ran, remember, told, wrote
from tests.support.factories import CLOCK

SINCE = CLOCK - 30 * DAY


# --- The arithmetic ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        # Newcombe (1998), table II, method 10: examples a, b, f and h.
        (Arm(56, 70), Arm(48, 80), 0.0524, 0.3339),
        (Arm(9, 10), Arm(3, 10), 0.1705, 0.8090),
        (Arm(10, 10), Arm(0, 20), 0.6791, 1.0),
        (Arm(0, 10), Arm(0, 20), -0.1611, 0.2775),
    ],
)
def test_the_interval_is_the_published_one(first, second, low, high):
    assert newcombe(first, second) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


ARMS = st.integers(1, 400).flatmap(lambda n: st.builds(Arm, st.integers(0, n), st.just(n)))


@given(ARMS, ARMS)
def test_the_interval_holds_the_difference_and_turns_with_its_sides(first, second):
    low, high = newcombe(first, second)
    assert -1 - 1e-9 <= low <= first.hits / first.total - second.hits / second.total <= high <= 1 + 1e-9
    assert newcombe(second, first) == (pytest.approx(-high), pytest.approx(-low))


def test_nothing_is_concluded_from_few_however_clear_they_look():
    found = difference_of(Arm(CASES_MIN - 1, CASES_MIN - 1), Arm(0, CASES_MIN - 1))
    assert found.low > 0 and found.verdict == "too_few"
    assert difference_of(Arm(CASES_MIN, CASES_MIN), Arm(0, CASES_MIN)).verdict == "higher"
    assert difference_of(Arm(0, CASES_MIN), Arm(CASES_MIN, CASES_MIN)).verdict == "lower"


def test_without_a_side_there_is_no_difference_to_tell():
    found = difference_of(Arm(3, 4), Arm(0, 0))
    assert (found.difference, found.low, found.verdict) == (None, None, "too_few")
    assert found.words.startswith("Nothing to compare yet")


# --- Over the rows ----------------------------------------------------------------------------------------


def report():
    return uplift_report(since=SINCE, now=CLOCK)


@pytest.mark.django_db
def test_answers_count_once_for_each_change_of_a_run_by_what_it_was_told(ada):
    memory = remember(ada)
    for outcome, holdout in [
        ("accepted", False),
        ("reverted", False),
        ("rejected", True),
        ("accepted", True),
    ]:
        run = ran(ada)
        told(run, memory, holdout=holdout, outcome=outcome)
        told(run, memory, n=2, holdout=holdout, outcome=outcome)
    for outcome in ("withheld", "unanswered", ""):
        told(ran(ada), memory, outcome=outcome)
    both = ran(ada)
    told(both, memory, outcome="accepted")
    told(both, memory, n=2, holdout=True, outcome="accepted")
    found = report()
    assert (found.treated, found.control) == (Arm(1, 2), Arm(1, 2))
    assert found.verdict == "too_few"


@pytest.mark.django_db
def test_what_told_nothing_what_opened_a_run_and_what_is_older_is_in_no_figure(ada):
    memory, run = remember(ada), ran(ada)
    told(run, memory, n=0, outcome="accepted")
    told(run, outcome="accepted")
    told(run, memory, n=2, outcome="accepted", at=SINCE - DAY)
    wrote(run, 3)
    assert report().treated.total == 0


@pytest.mark.django_db
def test_the_report_takes_one_query_however_many_events(ada):
    memory = remember(ada)

    def queries() -> int:
        with CaptureQueriesContext(connection) as caught:
            report()
        return len(caught)

    for count in (1, 30):
        for _ in range(count):
            run = ran(ada)
            told(run, memory, outcome="accepted")
            wrote(run, 2)
        assert queries() == 1
