"""What a page promises after an answer, seen in the planner's next run."""

from datetime import timedelta

import pytest

from advisor.models import Run
from advisor.run.request import run_request
from digest.models import Reader
from suggestions.explain import teaching_of
from suggestions.models import Suggestion
from suggestions.services.resolve import (
    suggestion_accept,
    suggestion_never,
    suggestion_reject,
    suggestion_revert,
    suggestion_snooze,
)
from tests.support.browser import suggested
from tests.support.factories import CLOCK, ReaderFactory
from tests.support.histories import opinionated

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
LOVED, LOATHED = "loved.example", "loathed.example"


def run_targets(reader: Reader, now) -> dict[str, Suggestion]:
    """The pending suggestions that a run of the planner leaves, by target; earlier runs are forgotten."""
    Run.objects.all().delete()
    run_request(reader=reader, trigger=Run.Trigger.UI, now=now, inline=True)
    return {row.target_key: row for row in Suggestion.objects.filter(reader=reader, status="pending")}


def offered(reader: Reader, key: str, at, kind="boost_source", value="1.3") -> int:
    more = {"target_key": key, "suggestion_type": kind, "suggested_value": value, "created_at": at}
    return suggested(reader, evidence=0, **more).pk


def _both() -> None:
    """Ada, to whom a run suggests more of one source and less of another."""
    ada = ReaderFactory(username="ada", time_zone="Europe/Berlin")
    opinionated(ada)
    targets = run_targets(ada, CLOCK)
    assert {LOVED, LOATHED} <= targets.keys() and targets[LOVED].suggested_value == "1.3"
    Suggestion.objects.all().delete()


@pytest.fixture(scope="module")
def stage(staged) -> None:
    staged(_both)


@pytest.fixture
def both(stage, db) -> Reader:
    return Reader.objects.get(username="ada")


@pytest.mark.parametrize("guided", [True, False])
def test_the_step_that_was_chosen_twice_is_the_next_one_offered(both: Reader, now, settings, guided: bool):
    settings.ADVISOR_GUIDANCE = guided
    assert "We will remember how large a step you like" in teaching_of("edit")
    for n in range(2):
        at = now - (20 + n) * DAY
        pk = offered(both, f"t{n}.example", at)
        suggestion_accept(reader_id=both.pk, suggestion_id=pk, now=at, value=1.15)
    targets = run_targets(both, now)
    assert (targets[LOVED].suggested_value, targets[LOATHED].suggested_value) == ("1.15", "0.85")


@pytest.mark.parametrize(("times", "asked"), [(2, True), (6, False)])
def test_a_type_that_was_always_turned_down_is_asked_no_more(both: Reader, now, times: int, asked: bool):
    for n in range(times):
        at = now - (20 + n) * DAY
        pk = offered(both, f"t{n}.example", at, "reduce_source", "0.7")
        suggestion_reject(reader_id=both.pk, suggestion_id=pk, now=at)
    targets = run_targets(both, now)
    assert (LOATHED in targets) is asked and LOVED in targets


@pytest.mark.parametrize(("days", "asked"), [(2, False), (11, True)])
def test_what_was_turned_down_is_left_alone_for_a_while(both: Reader, now, days: int, asked: bool):
    assert "leave this one alone for a while" in teaching_of("reject")
    pk = offered(both, LOVED, now - days * DAY)
    suggestion_reject(reader_id=both.pk, suggestion_id=pk, now=now - days * DAY)
    assert (LOVED in run_targets(both, now)) is asked


def test_what_is_never_to_be_suggested_never_is(both: Reader, now):
    assert teaching_of("never") == "We will not suggest this again."
    pk = offered(both, LOVED, now - 13 * DAY)
    suggestion_never(reader_id=both.pk, suggestion_id=pk, now=now - 13 * DAY)
    assert LOVED not in run_targets(both, now)


def test_what_was_put_off_comes_back_after_a_week_and_not_before(both: Reader, now):
    assert "We will ask again in a week" in teaching_of("snooze")
    pk = offered(both, LOVED, now)
    suggestion_snooze(reader_id=both.pk, suggestion_id=pk, now=now)
    assert LOVED not in run_targets(both, now + DAY)
    Suggestion.objects.filter(status="pending").delete()
    assert run_targets(both, now + 7 * DAY)[LOVED].pk == pk


def test_what_was_taken_back_is_left_alone_too(both: Reader, now):
    assert "be more careful" in teaching_of("revert")
    pk = offered(both, LOVED, now - 13 * DAY)
    suggestion_accept(reader_id=both.pk, suggestion_id=pk, now=now - 13 * DAY)
    suggestion_revert(reader_id=both.pk, suggestion_id=pk, now=now - DAY)
    assert LOVED not in run_targets(both, now)
