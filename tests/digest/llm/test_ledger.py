"""The spend ledger: no number of concurrent calls passes a cap."""

import threading
import uuid
from datetime import timedelta, timezone
from decimal import Decimal

import pytest
from django.db import connections, transaction

from digest.llm.entities import BudgetRefusal, Caps, DeadlineExceeded, ModelUnavailable, Usage
from digest.llm.ledger import (
    SpendAccount,
    advisor_account,
    ingest_account,
    spend_release,
    spend_reserve,
    spend_settle,
    spend_settle_failed,
    spend_settle_worst,
)
from digest.models import Spend, SpendRefusal
from tests.support.concurrency import database_on_disk
from tests.support.factories import ReaderFactory

WIDE = Decimal(1000)
CENT = Decimal("0.01")


def caps(day: Decimal = WIDE, run: Decimal = WIDE, reader_day: Decimal = WIDE) -> Caps:
    return Caps(day=day, run=run, reader_day=reader_day)


@pytest.fixture
def reserve(ada, now):
    """Reserve a cent for Ada's run, unless told otherwise."""
    run_id = uuid.uuid4()

    def reserved(model="openai:gpt-6-luna", worst_case=CENT, **changed):
        account = {
            "surface": Spend.Surface.ADVISOR,
            "reader_id": ada.pk,
            "run_id": run_id,
            "caps": caps(),
            "now": now,
        }
        return spend_reserve(account=SpendAccount(**account | changed), model=model, worst_case=worst_case)

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


def test_a_call_and_a_refusal_say_whose_they_were_when_and_what_was_asked(reserve, ada, now):
    run_id, east = uuid.uuid4(), now.astimezone(timezone(timedelta(hours=14)))
    call = {"run_id": run_id, "model": "m" * 81, "now": east, "purpose": "review"}
    spend = reserve(worst_case=Decimal("0.0100001"), **call)
    assert isinstance(reserve(worst_case=Decimal("0.0200001"), caps=caps(day=CENT), **call), BudgetRefusal)
    refused = SpendRefusal.objects.get()
    for row in (Spend.objects.get(pk=spend.pk), refused):
        assert (row.surface, row.reader, row.run_id, row.purpose) == ("advisor", ada, run_id, "review")
        assert (row.model, row.day, row.created_at) == ("m" * 80, now.date(), now)
    assert (spend.reserved_usd, spend.settled_usd) == (Decimal("0.010001"), None)
    assert (refused.code, refused.asked_usd) == ("budget_day", Decimal("0.020001"))


@pytest.mark.parametrize(
    ("error", "cost"), [(DeadlineExceeded("cut off"), CENT), (ModelUnavailable("429"), Decimal(0))]
)
def test_a_call_without_an_answer_is_booked_in_full_if_it_may_be_billed(reserve, error, cost):
    first, second = reserve(), reserve()
    assert spend_settle_failed(first.pk, CENT, error) == cost
    assert spend_settle_failed(None, CENT, error) == 0, "what was not reserved cost nothing"
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.settled_usd, second.settled_usd) == (cost, None)


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
    assert spend.saved_usd == Decimal("0.000000"), "five tokens from the cache are too few to count"


def test_the_first_booking_stands(reserve):
    spend = reserve()
    assert spend_settle_worst(spend_id=spend.pk)
    assert not spend_settle(spend_id=spend.pk, usage=Usage(), cost=Decimal(0))
    assert not spend_release(spend_id=spend.pk)
    free = reserve()
    assert spend_release(spend_id=free.pk) and not spend_settle_worst(spend_id=free.pk)
    rows = Spend.objects.order_by("pk").values_list("settled_usd", flat=True)
    assert list(rows) == [CENT, 0]


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


def test_an_account_passes_on_who_spends_and_all_three_caps(settings, ada, now):
    settings.ADVISOR_DAILY_CAP_USD = settings.ADVISOR_RUN_CAP_USD = 9
    settings.ADVISOR_READER_DAILY_CAP_USD, settings.LLM_DAILY_CAP_USD = 0.02, 0.01
    run_id = uuid.uuid4()
    account = advisor_account(reader_id=ada.pk, run_id=run_id, now=now, purpose="review")
    assert account.reserve(model="m", worst_case=3 * CENT).code == "budget_reader"
    account.reserve(model="m", worst_case=CENT)
    feeds = ingest_account(run_id=run_id, now=now)
    assert feeds.caps == Caps(CENT, CENT, CENT)
    assert isinstance(feeds.reserve(model="n", worst_case=CENT), int)
    assert ingest_account(run_id=run_id, now=now, purpose="reasons").purpose == "reasons"
    rows = Spend.objects.order_by("pk").values_list("surface", "reader", "run_id", "purpose", "model")
    assert list(rows) == [
        ("advisor", ada.pk, run_id, "review", "m"),
        ("ingest", None, run_id, "summary", "n"),
    ]


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
