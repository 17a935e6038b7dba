"""Memories earn trust only by readers' answers: once, and only if guidance showed them."""

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from advisor.guidance.events import Fate, borne_out, guidance_credit, outcome_of
from advisor.models import GuidanceEvent, Memory
from suggestions.models import Suggestion
from tests.advisor.guidance.lives import DAY, SOURCE, answered, ran, remember, suggestion, told
from tests.support.concurrency import at_once, database_on_disk, seen_by_writers
from tests.support.factories import CLOCK

NOTHING = {"events": 0, "helpful": 0, "unhelpful": 0}
LATER = CLOCK + 20 * DAY


def written(run, **given) -> Suggestion:
    """Return a stored suggestion of the run about the source."""
    row = suggestion(run.reader, run_id=run.pk, created_at=run.created_at, **given)
    row.save()
    return row


def counts(memory: Memory) -> tuple[int, int]:
    memory.refresh_from_db()
    return memory.helpful, memory.unhelpful


# --- The meaning of an answer -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fates", "outcome"),
    [
        ([Fate("accepted", CLOCK)], "accepted"),
        ([Fate("accepted", LATER - 13 * DAY)], ""),
        ([Fate("accepted", CLOCK, CLOCK + DAY)], "reverted"),
        ([Fate("rejected", LATER)], "rejected"),
        ([Fate("expired", CLOCK)], "unanswered"),
        ([Fate("", waits=True)], ""),
        ([Fate("expired", CLOCK), Fate("", waits=True)], ""),
        ([Fate("rejected", CLOCK), Fate("accepted", CLOCK + DAY)], "accepted"),
    ],
)
def test_only_an_answer_that_stands_is_an_outcome(fates, outcome):
    assert outcome_of(fates, run_over=True, now=LATER) == outcome


def test_what_was_never_written_is_withheld_once_the_run_is_over():
    assert outcome_of([], run_over=False, now=LATER) == ""
    assert outcome_of([], run_over=True, now=LATER) == "withheld"


@pytest.mark.parametrize(
    ("polarity", "outcome", "good"),
    [
        (1, "accepted", True),
        (0, "accepted", True),
        (-1, "accepted", False),
        (1, "rejected", False),
        (-1, "rejected", True),
        (1, "reverted", False),
        (-1, "reverted", True),
        (1, "withheld", None),
        (-1, "unanswered", None),
    ],
)
def test_advice_is_borne_out_by_a_yes_and_a_caution_by_a_no(polarity, outcome, good):
    assert borne_out(polarity, outcome) is good


CALLS = st.lists(st.tuples(st.lists(st.integers(0, 2), max_size=2, unique=True), st.booleans()), max_size=4)


@pytest.mark.django_db
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CALLS, st.sampled_from(["accepted", "rejected", "expired"]))
def test_each_memory_is_credited_at_most_once_for_a_change_and_never_for_control_calls(ada, calls, answer):
    with transaction.atomic():
        run, rows = ran(ada), [remember(ada, f"m{n}", polarity=1 - n) for n in range(3)]
        for n, (ids, holdout) in enumerate(calls, 1):
            told(run, *(rows[one] for one in ids), n=n, holdout=holdout)
        answered(written(run), answer, CLOCK)
        guidance_credit(now=LATER)
        heard = {one for ids, holdout in calls if not holdout for one in ids}
        for n, row in enumerate(rows):
            assert sum(counts(row)) == (n in heard and answer != "expired")
        transaction.set_rollback(True)


# --- Over the rows ----------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_no_credits_at_once_and_a_yes_once_it_has_stood_for_two_weeks(ada):
    run, advice = ran(ada), remember(ada, "advice")
    caution = remember(ada, "caution", polarity=-1)
    event = told(run, advice, caution)
    row = written(run)
    assert guidance_credit(now=CLOCK) == NOTHING
    answered(row, "accepted", CLOCK)
    assert guidance_credit(now=CLOCK + 13 * DAY) == NOTHING
    assert guidance_credit(now=CLOCK + 14 * DAY) == {"events": 1, "helpful": 1, "unhelpful": 1}
    assert (counts(advice), counts(caution)) == ((1, 0), (0, 1))
    event.refresh_from_db()
    assert (event.helpful, event.outcome, event.followed) == (True, "accepted", True)

    other = ran(ada, at=CLOCK)
    told(other, caution)
    answered(written(other), "rejected", CLOCK + DAY)
    assert guidance_credit(now=CLOCK + DAY) == {"events": 1, "helpful": 1, "unhelpful": 0}
    assert counts(caution) == (1, 1)


@pytest.mark.django_db
def test_a_change_taken_back_speaks_against_the_advice(ada):
    run, advice = ran(ada), remember(ada)
    told(run, advice)
    row = written(run)
    answered(row, "accepted", CLOCK)
    answered(row, "reverted", CLOCK + DAY, kind="revert")
    guidance_credit(now=CLOCK + DAY)
    assert counts(advice) == (0, 1)


@pytest.mark.django_db
def test_a_second_round_credits_nothing_twice(ada):
    run, advice = ran(ada), remember(ada)
    told(run, advice)
    told(run, advice, n=2)
    answered(written(run), "rejected", CLOCK)
    assert guidance_credit(now=CLOCK) == {"events": 2, "helpful": 0, "unhelpful": 1}
    assert guidance_credit(now=CLOCK) == NOTHING
    assert counts(advice) == (0, 1)


@pytest.mark.django_db
def test_what_was_held_out_gets_its_outcome_and_no_memory_any_credit(ada):
    run, advice = ran(ada), remember(ada)
    event = told(run, advice, holdout=True)
    answered(written(run), "rejected", CLOCK)
    assert guidance_credit(now=CLOCK) == {"events": 1, "helpful": 0, "unhelpful": 0}
    event.refresh_from_db()
    assert (event.outcome, event.helpful) == ("rejected", None)
    assert counts(advice) == (0, 0)


@pytest.mark.django_db
def test_a_caution_that_was_heeded_or_a_suggestion_nobody_answered_teaches_nothing(ada):
    caution = remember(ada, polarity=-1)
    heeded, ignored = ran(ada), ran(ada)
    told(heeded, caution)
    told(ignored, caution)
    answered(written(ignored), "expired", CLOCK)
    guidance_credit(now=CLOCK)
    assert counts(caution) == (0, 0)
    outcomes = GuidanceEvent.objects.order_by("pk").values_list("outcome", "helpful")
    assert list(outcomes) == [("withheld", None), ("unanswered", None)]


@pytest.mark.django_db
def test_a_run_that_goes_on_and_an_answer_taken_back_at_once_are_waited_for(ada):
    advice = remember(ada)
    on, slip = ran(ada, over=False), ran(ada)
    told(on, advice)
    told(slip, advice)
    taken_back = written(slip)
    answered(taken_back, "accepted", CLOCK)
    answered(taken_back, "reverted", CLOCK, kind="revert")
    Suggestion.objects.filter(pk=taken_back.pk).update(status=Suggestion.Status.TAKEN_BACK)
    copy = written(slip)
    assert guidance_credit(now=CLOCK) == NOTHING
    answered(copy, "rejected", CLOCK)
    guidance_credit(now=CLOCK)
    assert counts(advice) == (0, 1)
    assert GuidanceEvent.objects.get(run=on).outcome == ""


@pytest.mark.django_db
def test_only_the_suggestion_of_the_same_run_type_and_target_counts(ada, ben):
    advice = remember(None, kind="insight")
    run = ran(ada)
    told(run, advice)
    strangers = [
        written(run, suggestion_type="reduce_source"),
        written(run, target_key="other.example"),
        written(ran(ben)),
    ]
    Suggestion.objects.filter(reader=ben).update(run_id=run.pk)
    for stranger in strangers:
        answered(stranger, "rejected", CLOCK)
    assert guidance_credit(now=CLOCK) == {"events": 1, "helpful": 0, "unhelpful": 0}
    assert (counts(advice), GuidanceEvent.objects.get().outcome) == ((0, 0), "withheld")


@pytest.mark.django_db
def test_events_about_nothing_in_particular_are_left_alone(ada):
    run, advice = ran(ada), remember(ada)
    told(run, advice, n=0, tool="", suggestion_type="", target_key="")
    told(run, n=1)
    told(run, advice, n=2, at=CLOCK - 100 * DAY)
    assert guidance_credit(now=CLOCK) == NOTHING


@pytest.mark.django_db
def test_what_readers_decided_meanwhile_is_added_to_and_not_written_over(ada):
    run, advice = ran(ada), remember(ada, helpful=3, unhelpful=4)
    told(run, advice)
    answered(written(run), "rejected", CLOCK)
    guidance_credit(now=CLOCK)
    assert counts(advice) == (3, 5)


@pytest.mark.django_db
def test_the_number_of_queries_does_not_grow_with_the_events(ada):
    def queries(runs: int) -> int:
        for n in range(runs):
            run = ran(ada, at=CLOCK - timedelta(minutes=n))
            told(run, remember(ada, f"{runs}-{n}"))
            answered(written(run, target_key=SOURCE, status="rejected"), "rejected", CLOCK)
        with CaptureQueriesContext(connection) as caught:
            assert guidance_credit(now=CLOCK)["events"] == runs
        return len(caught)

    assert queries(2) == queries(40) <= 10


@pytest.mark.django_db(transaction=True)
def test_rounds_at_once_credit_once(ada, tmp_path):
    run, advice = ran(ada), remember(ada)
    told(run, advice)
    answered(written(run), "rejected", CLOCK)
    with database_on_disk(tmp_path / "shared.sqlite3"):
        rounds = at_once(lambda n: guidance_credit(now=CLOCK), writers=4)
        stored = seen_by_writers(lambda: counts(advice))
    assert sum(one["unhelpful"] for one in rounds) == 1
    assert stored == (0, 1)
