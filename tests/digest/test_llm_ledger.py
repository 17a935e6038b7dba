"""The spend ledger: no number of concurrent calls passes a cap."""

import threading
import uuid
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connections, transaction

from digest.llm.entities import BudgetRefusal, Caps, Usage
from digest.llm.ledger import (
    advisor_account,
    spend_release,
    spend_reserve,
    spend_settle,
    spend_settle_worst,
)
from digest.models import Spend
from tests.at_once import database_on_disk
from tests.factories import ReaderFactory

WIDE = Decimal(1000)
CENT = Decimal("0.01")


def caps(day: Decimal = WIDE, run: Decimal = WIDE, reader_day: Decimal = WIDE) -> Caps:
    return Caps(day=day, run=run, reader_day=reader_day)


@pytest.fixture
def reserve(ada, now):
    """Reserve a cent for Ada's run, unless told otherwise."""
    run_id = uuid.uuid4()

    def reserved(**changed):
        call = {
            "surface": Spend.Surface.ADVISOR,
            "reader_id": ada.pk,
            "run_id": run_id,
            "model": "openai:gpt-6-luna",
            "worst_case": CENT,
            "caps": caps(),
            "now": now,
        }
        return spend_reserve(**call | changed)

    return reserved


@pytest.mark.parametrize(
    ("cap", "code"), [("day", "budget_day"), ("run", "budget_run"), ("reader_day", "budget_reader")]
)
def test_each_cap_refuses_the_call_that_would_pass_it(reserve, cap, code):
    tight = caps(**{cap: 2 * CENT})
    assert isinstance(reserve(caps=tight), Spend)
    assert isinstance(reserve(caps=tight), Spend), "a cap may be reached exactly"
    refused = reserve(caps=tight, worst_case=Decimal("0.000001"))
    assert isinstance(refused, BudgetRefusal) and refused.code == code
    assert Spend.objects.count() == 2


def test_caps_count_only_what_is_theirs(reserve, now, ben):
    tight = caps(day=CENT, run=CENT, reader_day=CENT)
    reserve(caps=tight)
    other = {"reader_id": ben.pk, "run_id": uuid.uuid4()}
    assert isinstance(reserve(caps=caps(run=CENT, reader_day=CENT), **other), Spend)
    assert isinstance(reserve(caps=tight, surface=Spend.Surface.INGEST, reader_id=None, run_id=None), Spend)
    tomorrow = now + timedelta(hours=12)
    assert isinstance(reserve(caps=caps(day=CENT, reader_day=CENT), now=tomorrow), Spend)
    assert reserve(caps=caps(run=2 * CENT), now=tomorrow).code == "budget_run", "a run goes on past midnight"


def test_calls_of_no_run_and_no_reader_share_only_the_day(reserve):
    nobodys = {"run_id": None, "reader_id": None, "surface": Spend.Surface.INGEST}
    for _ in range(3):
        assert isinstance(reserve(caps=caps(run=CENT, reader_day=CENT), **nobodys), Spend)
    assert reserve(caps=caps(day=3 * CENT), **nobodys).code == "budget_day"


def test_settling_gives_back_what_was_not_spent(reserve):
    tight = caps(day=CENT)
    spend = reserve(caps=tight)
    assert isinstance(reserve(caps=tight), BudgetRefusal)
    usage = Usage(input_tokens=10, cached_tokens=5, output_tokens=2)
    assert spend_settle(spend_id=spend.pk, usage=usage, cost=Decimal("0.0040000001"))
    assert isinstance(reserve(caps=tight, worst_case=Decimal("0.005999")), Spend)
    spend.refresh_from_db()
    assert spend.settled_usd == Decimal("0.004001"), "a fraction counts as a whole micro-dollar"
    assert (spend.input_tokens, spend.cached_tokens, spend.output_tokens) == (10, 5, 2)


def test_the_first_booking_stands(reserve):
    spend = reserve()
    assert spend_settle_worst(spend_id=spend.pk)
    assert not spend_settle(spend_id=spend.pk, usage=Usage(), cost=Decimal(0))
    assert not spend_release(spend_id=spend.pk)
    spend.refresh_from_db()
    assert spend.settled_usd == CENT


def test_a_call_that_was_turned_away_is_free_and_stays_on_record(reserve):
    spend = reserve()
    assert spend_release(spend_id=spend.pk)
    assert Spend.objects.get().settled_usd == 0


def test_sums_of_many_small_amounts_are_exact(reserve):
    tight = caps(day=Decimal("0.3"))
    for _ in range(3):
        assert isinstance(reserve(caps=tight, worst_case=Decimal("0.1")), Spend)
    assert isinstance(reserve(caps=tight, worst_case=Decimal("0.000001")), BudgetRefusal)


def test_a_reservation_costs_a_constant_number_of_queries(reserve, django_assert_max_num_queries):
    for _ in range(5):
        reserve()
    with django_assert_max_num_queries(5):  # savepoint or begin, lock, sums, insert, release
        reserve()


def test_a_reservation_refuses_to_be_part_of_a_longer_transaction(reserve):
    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        reserve()


def test_a_runs_account_carries_the_caps_of_the_settings(settings, ada, now):
    settings.ADVISOR_DAILY_CAP_USD, settings.ADVISOR_RUN_CAP_USD = 1.1, 0.02
    account = advisor_account(reader_id=ada.pk, run_id=uuid.uuid4(), now=now)
    assert isinstance(account.reserve(model="m", worst_case=2 * CENT), int)
    assert account.reserve(model="m", worst_case=CENT).code == "budget_run"
    assert account.caps.day == Decimal("1.1")
    spend = Spend.objects.get()
    assert (spend.surface, spend.reader, spend.day) == ("advisor", ada, now.date())


@pytest.mark.django_db(transaction=True)
def test_32_calls_at_once_on_a_cap_for_five_get_exactly_five(tmp_path, now):
    reader_id, run_id, start = ReaderFactory().pk, uuid.uuid4(), threading.Barrier(32)
    results: list[object] = []

    def call() -> None:
        start.wait()
        try:
            account = advisor_account(reader_id=reader_id, run_id=run_id, now=now)
            results.append(account.reserve(model="m", worst_case=Decimal("0.1")))
        finally:
            connections.close_all()

    with database_on_disk(tmp_path / "shared.sqlite3"):
        threads = [threading.Thread(target=call) for _ in range(32)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    assert len(results) == 32
    assert sum(isinstance(result, int) for result in results) == 5
    assert {r.code for r in results if isinstance(r, BudgetRefusal)} == {"budget_run"}
