"""A page's promises after an answer, checked in the planner's next run."""

from datetime import timedelta

import pytest

from advisor.models import Run
from advisor.run.request import run_request
from digest.models import Feedback, Reader
from suggestions.models import Outcome, Suggestion
from suggestions.selectors import answers_by_type
from suggestions.sentences import teaching_of
from suggestions.services.lifecycle import suggestions_sweep
from suggestions.services.resolve import (
    suggestion_accept,
    suggestion_never,
    suggestion_reject,
    suggestion_revert,
    suggestion_snooze,
)
from suggestions.wording import TOO_LARGE
from tests.support.browser import suggested
from tests.support.factories import CLOCK, ReaderFactory
from tests.support.histories import opinionated

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
LOVED, LOATHED = "loved.example", "loathed.example"


def run_targets(reader: Reader, now) -> dict[str, Suggestion]:
    """Run the planner and return the pending suggestions by target, first found first. Delete earlier
    runs."""
    Run.objects.all().delete()
    run_request(reader=reader, trigger=Run.Trigger.UI, now=now, inline=True)
    rows = Suggestion.objects.filter(reader=reader, status="pending").order_by("pk")
    return {row.target_key: row for row in rows}


def offered(reader: Reader, key: str, at, kind="boost_source", value="1.3") -> int:
    more = {"target_key": key, "suggestion_type": kind, "suggested_value": value, "created_at": at}
    return suggested(reader, evidence=0, **more).pk


def reduced(reader: Reader, key: str, at) -> int:
    return offered(reader, key, at, "reduce_source", "0.7")


def effect(pk: int, result: str, at) -> None:
    """The check, two weeks later, of an accepted suggestion."""
    row = Suggestion.objects.get(pk=pk)
    about = {"suggestion_type": row.suggestion_type, "target_key": row.target_key, "config_before": {}}
    dates = {"created_at": row.created_at, "decided_at": at}
    Outcome.objects.create(suggestion=row, reader=row.reader, kind="effect", outcome=result, **about, **dates)


def _both() -> None:
    """Create Ada and a run that suggests more of one source and less of another."""
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
        pk = reduced(both, f"t{n}.example", at)
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


@pytest.mark.parametrize(("times", "step"), [(1, "1.3"), (2, "1.15")])
def test_after_two_steps_too_large_a_smaller_one_is_offered(both: Reader, now, times: int, step: str):
    assert "After two steps that are too large" in teaching_of("reject_step")
    for n in range(times):
        at = now - (20 + n) * DAY
        pk = offered(both, f"t{n}.example", at)
        suggestion_reject(reader_id=both.pk, suggestion_id=pk, now=at, user_reason=TOO_LARGE)
    assert run_targets(both, now)[LOVED].suggested_value == step


def test_what_was_accepted_comes_before_what_was_turned_down(both: Reader, now):
    assert "more changes" in teaching_of("accept") and "fewer suggestions" in teaching_of("reject")
    first = {True: LOVED, False: LOATHED}
    for boosts in first:
        Suggestion.objects.all().delete()
        for n in range(3):
            at = now - (20 + n) * DAY
            boost, reduction = offered(both, f"b{n}.example", at), reduced(both, f"r{n}.example", at)
            yes, no = (boost, reduction) if boosts else (reduction, boost)
            suggestion_accept(reader_id=both.pk, suggestion_id=yes, now=at)
            suggestion_reject(reader_id=both.pk, suggestion_id=no, now=at)
        assert next(iter(run_targets(both, now))) == first[boosts]


def test_what_was_not_answered_is_left_alone_for_a_while(both: Reader, now):
    assert "leave it alone for a while" in teaching_of("expired")
    pk = offered(both, LOVED, now - 15 * DAY)
    suggestions_sweep(now=now)
    assert Suggestion.objects.get(pk=pk).status == "expired"
    assert LOVED not in run_targets(both, now + DAY)
    Suggestion.objects.filter(status="pending").delete()
    assert LOVED in run_targets(both, now + 11 * DAY)


@pytest.mark.parametrize("went", ["back", "harmful"])
def test_what_was_taken_back_or_harmed_counts_as_a_no(both: Reader, now, went: str):
    assert "a no to changes of this kind" in teaching_of("revert" if went == "back" else "harmed")
    for n in range(6):
        at = now - (20 + n) * DAY
        pk = offered(both, f"t{n}.example", at)
        suggestion_accept(reader_id=both.pk, suggestion_id=pk, now=at)
        if went == "back":
            suggestion_revert(reader_id=both.pk, suggestion_id=pk, now=at + DAY)
        else:
            effect(pk, "harmed", at + DAY)
    assert LOVED not in run_targets(both, now) and LOATHED in run_targets(both, now)


def test_what_helped_stays_a_yes(both: Reader, now):
    assert "stays a yes" in teaching_of("helped")
    at = now - 20 * DAY
    pk = offered(both, "t.example", at)
    suggestion_accept(reader_id=both.pk, suggestion_id=pk, now=at)
    effect(pk, "helped", at + DAY)
    assert answers_by_type(reader_id=both.pk) == {"boost_source": (1, 0)}


def test_after_going_back_a_target_needs_three_new_thumbs(both: Reader, now):
    pk = offered(both, LOVED, now - 40 * DAY)
    suggestion_accept(reader_id=both.pk, suggestion_id=pk, now=now - 40 * DAY)
    suggestion_revert(reader_id=both.pk, suggestion_id=pk, now=now - 11 * DAY)
    Feedback.objects.filter(item__source=LOVED).update(at=now - 12 * DAY)
    for news, asked in ((2, False), (3, True)):
        newest = Feedback.objects.filter(item__source=LOVED, useful=True).values("pk")[:news]
        Feedback.objects.filter(pk__in=[row["pk"] for row in newest]).update(at=now - DAY)
        assert (LOVED in run_targets(both, now)) is asked
        Suggestion.objects.filter(status="pending").delete()


def test_what_was_taken_back_is_left_alone_too(both: Reader, now):
    assert "leave this one alone for a while" in teaching_of("revert")
    pk = offered(both, LOVED, now - 13 * DAY)
    suggestion_accept(reader_id=both.pk, suggestion_id=pk, now=now - 13 * DAY)
    suggestion_revert(reader_id=both.pk, suggestion_id=pk, now=now - DAY)
    assert LOVED not in run_targets(both, now)
