"""The choice of readers if money does not cover everyone: by documented weights, and nobody waits for
ever."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from advisor.models import Decision, Run
from advisor.run.request import runs_claim
from advisor.run.scheduling import (
    Ration,
    RunCandidate,
    budget_left,
    priority_score,
    readers_advise,
    readers_choose,
    readers_ration,
    run_candidates,
    run_cost_expected,
    runs_affordable,
)
from digest.llm.client import chain_configured
from digest.models import Feedback, Reader, Spend
from suggestions.models import Outcome
from tests.support.browser import suggested
from tests.support.factories import ReaderFactory, SubscriptionFactory
from tests.support.histories import opinionated, thumbs

LUNA = "openai:gpt-6-luna"


def standing(n=1, fresh=0, days=7.0, accepted=0, decided=0):
    return RunCandidate(UUID(int=n), fresh, days, accepted, decided)


STANDINGS = st.builds(
    RunCandidate, st.uuids(), st.integers(0, 500), st.floats(0, 400), st.integers(0, 20), st.integers(20, 40)
)


# --- The arithmetic -------------------------------------------------------------------------------------


def test_fresh_ratings_waiting_and_acceptance_each_speak_for_a_reader():
    plain = standing(fresh=5, days=7, accepted=1, decided=2)
    for change in ({"fresh_ratings": 6}, {"days_waited": 8}, {"accepted": 2}):
        assert priority_score(replace(plain, **change)) > priority_score(plain)


def test_more_thumbs_than_twenty_say_no_more_than_twenty():
    assert priority_score(standing(fresh=20)) == priority_score(standing(fresh=2000))


def test_the_written_weights_are_the_ones_used():
    assert priority_score(standing(fresh=10, days=14, accepted=2, decided=2)) == 0.5 + 2 + 0.5 * 3 / 4


@given(STANDINGS, STANDINGS)
def test_a_week_and_a_half_more_of_waiting_outweighs_everything_else(one, other):
    later = replace(one, days_waited=other.days_waited + 10.51)
    assert priority_score(later) > priority_score(other)


@given(st.lists(STANDINGS, max_size=8, unique_by=lambda one: one.reader_id), st.integers(0, 10))
def test_the_best_run_and_the_order_they_came_in_does_not_matter(asked, places):
    choices = readers_choose(asked, places)
    assert choices == readers_choose(asked[::-1], places)
    assert [choice.runs for choice in choices] == [n < places for n in range(len(asked))]
    assert [choice.score for choice in choices] == sorted((c.score for c in choices), reverse=True)


def test_a_tie_goes_to_who_waited_longest_and_then_to_the_id():
    equal = [standing(n=3), standing(n=2), standing(n=1)]
    assert [choice.reader_id.int for choice in readers_choose(equal, 1)] == [1, 2, 3]


def test_a_reason_says_place_money_and_facts():
    first, last = readers_choose([standing(n=1, fresh=12, days=9, accepted=1, decided=3), standing(n=2)], 1)
    assert first.reason == (
        "Runs: place 1 of 2, and today's money covers 1. 12 ratings since the last run, 9 days ago; "
        "1 of 3 suggestions accepted."
    )
    assert last.reason.startswith("Runs without a model: place 2 of 2")


@pytest.mark.parametrize(
    ("left", "cost", "places"),
    [("0.95", "0.30", 3), ("0.29", "0.30", 0), ("-0.10", "0.30", 0), ("0.30", "0.30", 1), ("1", "0", None)],
)
def test_places_are_whole_runs(left, cost, places):
    assert runs_affordable(budget_left=Decimal(left), cost_per_run=Decimal(cost), cap=Decimal(1)) == places


def test_a_whole_days_money_serves_one_run_however_dear_it_looks():
    assert runs_affordable(budget_left=Decimal(1), cost_per_run=Decimal(5), cap=Decimal(1)) == 1
    assert runs_affordable(budget_left=Decimal(0), cost_per_run=Decimal(5), cap=Decimal(0)) == 0


# --- Its inputs -----------------------------------------------------------------------------------------


@pytest.fixture
def paid(settings, httpserver):
    """Use a chain that costs money. No server answers, because choosing asks no model."""
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "k", httpserver.url_for("/v1")
    settings.LLM_CHAIN = [LUNA]
    return settings


def past_run(reader, at, status="completed", **more):
    return Run.objects.create(
        reader=reader,
        day=at.date(),
        trigger="scheduled",
        status=status,
        created_at=at,
        finished_at=at,
        **more,
    )


@pytest.mark.django_db
def test_thumbs_count_since_the_last_completed_run_and_waiting_since_the_last_try(ada, ben, now):
    thumbs(ada, "loved.example", 20, days=20, now=now)
    past_run(ada, now - timedelta(days=10))
    past_run(ada, now - timedelta(days=2), status="agent_error")
    past_run(ben, now - timedelta(days=1))
    Run.objects.create(reader=ada, day=now.date(), trigger="mcp", status="completed", created_at=now)
    found = {row.reader_id: row for row in run_candidates(readers=[ada, ben], now=now)}
    assert (
        found[ada.pk].fresh_ratings == Feedback.objects.filter(at__gt=now - timedelta(days=10)).count() == 10
    )
    assert found[ada.pk].days_waited == 2.0
    assert (found[ben.pk].fresh_ratings, found[ben.pk].days_waited) == (0, 1.0)


@pytest.mark.django_db
def test_a_reader_who_never_ran_has_waited_since_joining(ada, now):
    ada.date_joined = now - timedelta(days=30)
    ada.save()
    thumbs(ada, "loved.example", 7, now=now)
    assert run_candidates(readers=[ada], now=now) == [RunCandidate(ada.pk, 7, 30.0, 0, 0)]


@pytest.mark.django_db
def test_decisions_count_and_what_ran_out_does_not(ada, now):
    for n, outcome in enumerate(["accepted", "rejected", "rejected", "expired", "superseded"]):
        row = suggested(ada, evidence=0, target_key=f"{n}.example", status=outcome)
        Outcome.objects.create(
            suggestion=row,
            reader=ada,
            kind="decision",
            outcome=outcome,
            suggestion_type=row.suggestion_type,
            target_key=row.target_key,
            config_before={},
            created_at=now,
            decided_at=now,
        )
    found = run_candidates(readers=[ada], now=now)[0]
    assert (found.accepted, found.decided) == (1, 3)


@pytest.mark.django_db
def test_a_run_is_expected_to_cost_what_that_models_runs_did(ada, now, paid):
    unknown = run_cost_expected(models=chain_configured(), now=now)
    assert 0 < unknown <= Decimal("0.50")
    for n in range(5):
        past_run(
            ada, now - timedelta(days=n), model=LUNA, cost_usd=Decimal("0.02") * (n + 1), status="agent_error"
        )
    past_run(ada, now - timedelta(days=1), model="openai:gpt-4o", cost_usd=9, status="agent_error")
    past_run(ada, now - timedelta(days=40), model=LUNA, cost_usd=9, status="agent_error")
    assert run_cost_expected(models=chain_configured(), now=now) == pytest.approx(Decimal("0.06"))


@pytest.mark.django_db
def test_a_model_without_a_price_is_passed_over_as_a_run_would(now, paid):
    paid.LLM_CHAIN = ["openai:no-such-model"]
    assert run_cost_expected(models=chain_configured(), now=now) == 0
    paid.LLM_CHAIN = ["openai:no-such-model", LUNA]
    assert run_cost_expected(models=chain_configured(), now=now) > 0


@pytest.mark.django_db
def test_money_is_what_is_neither_spent_nor_promised(ada, ben, now, paid):
    paid.ADVISOR_DAILY_CAP_USD = 1.0
    common = {"surface": "advisor", "model": LUNA, "created_at": now, "day": now.date()}
    Spend.objects.create(**common, reserved_usd="0.40", settled_usd="0.10")
    Spend.objects.create(**common, reserved_usd="0.20")
    Spend.objects.create(**common | {"day": now.date() - timedelta(days=1)}, reserved_usd="0.90")
    Run.objects.create(reader=ada, day=now.date(), trigger="scheduled", created_at=now)
    Run.objects.create(reader=ben, day=now.date(), trigger="mcp", status="running", created_at=now)
    assert budget_left(cost_per_run=Decimal("0.05"), now=now) == pytest.approx(Decimal("0.65"))


# --- The choice -----------------------------------------------------------------------------------------


@pytest.fixture
def due(ada, ben, now):
    """Ada waited a month, Ben a week; both have said enough."""
    for reader, days in ((ada, 30), (ben, 8)):
        opinionated(reader)
        past_run(reader, now - timedelta(days=days))
    return [ben, ada]


def costs(reader, now, usd):
    """Store five earlier runs with the cost of a run."""
    for n in range(5):
        past_run(reader, now - timedelta(days=9 + n), model=LUNA, cost_usd=usd, status="agent_error")


def test_with_money_for_all_everyone_runs_and_one_row_says_so(due, now, paid):
    assert readers_ration(readers=due, now=now) == Ration(due[::-1])
    row = Decision.objects.get()
    assert (row.actor, row.action, row.data["readers"]) == ("decision_maker", "run_all", 2)


def test_with_money_for_one_the_first_runs_and_the_other_is_put_off_with_a_reason(due, now, paid, operator):
    costs(operator, now, Decimal("0.60"))
    ben, ada = due
    assert readers_ration(readers=due, now=now) == Ration([ada, ben], frozenset({ben.pk}))
    rows = {row.reader_id: row for row in Decision.objects.filter(actor="decision_maker")}
    assert (rows[ada.pk].action, rows[ben.pk].action) == ("run", "deferred")
    assert "place 2 of 2" in rows[ben.pk].reason and rows[ben.pk].data["score"] < rows[ada.pk].data["score"]
    assert rows[ben.pk].data["cost_per_run_usd"] == "0.600000"


def test_whoever_is_put_off_comes_first_in_the_end(due, now, paid, operator):
    costs(operator, now, Decimal("0.60"))
    ada = due[1]
    past_run(ada, now)
    for week in (1, 2):
        later = now + timedelta(days=7 * week)
        past_run(
            operator, later - timedelta(days=1), model=LUNA, cost_usd=Decimal("0.60"), status="agent_error"
        )
    assert readers_ration(readers=due, now=later).deferred == {ada.pk}


def test_readers_who_cost_nothing_never_compete(due, now, paid):
    paid.ADVISOR_DAILY_CAP_USD = 0.0
    ben, ada = due
    SubscriptionFactory(reader=ada, ai_enabled=False)
    assert readers_ration(readers=due, now=now) == Ration([ada, ben], frozenset({ben.pk}))
    assert [row.reader for row in Decision.objects.all()] == [ben]


def test_without_a_model_there_is_nothing_to_choose(due, now):
    assert readers_ration(readers=due, now=now) == Ration(due)
    assert not Decision.objects.exists()


def test_the_schedule_leaves_to_the_planner_whom_the_money_does_not_cover(due, now, paid, operator):
    costs(operator, now, Decimal("0.60"))
    for reader in due:
        reader.runs.update(status="agent_error")
    Decision.objects.all().delete()
    paid.ADVISOR_DAILY_CAP_USD = 0.0
    assert [result.status for result in readers_advise(now=now)] == ["completed"] * 2
    assert set(Decision.objects.values_list("reader__username", "action")) == {
        ("ada", "deferred"),
        ("ben", "deferred"),
    }
    assert [run.meta["deferred"] for run in Run.objects.filter(created_at=now)] == [True] * 2


@pytest.mark.django_db
def test_many_readers_are_claimed_with_as_many_queries_as_one(now, django_assert_num_queries):
    for count in (1, 4):
        readers = [ReaderFactory() for _ in range(count)]
        with django_assert_num_queries(4):
            claimed = runs_claim(readers=readers, now=now)
        assert claimed.keys() == {reader.pk for reader in readers}
        assert (
            Run.objects.filter(pk__in=[run.pk for run in claimed.values()], trigger="scheduled").count()
            == count
        )


@pytest.mark.django_db
@pytest.mark.parametrize("days_ago", [0, 7])
def test_a_run_of_today_keeps_a_reader_from_being_claimed_and_one_of_last_week_does_not(
    now, ada, ben, days_ago
):
    past_run(ada, now - timedelta(days=days_ago))
    assert runs_claim(readers=[ada, ben], now=now).keys() == ({ada.pk, ben.pk} if days_ago else {ben.pk})


@pytest.mark.django_db
def test_a_suggestion_that_waits_keeps_a_reader_from_being_claimed(now, ada, ben):
    suggested(ada)
    assert runs_claim(readers=[ada, ben], now=now).keys() == {ben.pk}


@pytest.mark.django_db
def test_many_readers_cost_no_more_reads_than_two(now, paid, ada):
    def reads(readers):
        with CaptureQueriesContext(connection) as seen:
            readers_ration(readers=readers, now=now)
        return len([query for query in seen if query["sql"].startswith("SELECT")])

    paid.ADVISOR_DAILY_CAP_USD = 0.0
    few = [ReaderFactory(username=f"few{n}") for n in range(2)]
    many = Reader.objects.bulk_create(Reader(username=f"many{n}", date_joined=now) for n in range(1500))
    assert reads(few) == reads(many) <= 6
    assert Decision.objects.filter(action="deferred").count() == 1502
