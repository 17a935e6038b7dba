"""The costs of models: every sum, for operators only, in a constant number of queries."""

import uuid
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from digest.feeds.identity import fingerprint
from digest.llm.entities import BudgetRefusal, Usage
from digest.llm.ledger import REVIEW, advisor_account, ingest_account, spend_settle
from digest.models import Spend, SpendRefusal, Summary
from digest.web.pages.costs import costs_of_month, costs_page, estimates_at, usd_words
from tests.support.factories import ItemFactory
from tests.support.summaries import carry

pytestmark = pytest.mark.django_db
LUNA = "openai:gpt-6-luna"
CENT = Decimal("0.01")


def spend(now, *, usd="0.010000", surface="advisor", purpose="advisor", **fields) -> Spend:
    """Return one settled call."""
    given = {"model": LUNA, "reserved_usd": CENT, "settled_usd": Decimal(usd), "day": now.date()}
    return Spend.objects.create(surface=surface, purpose=purpose, created_at=now, **{**given, **fields})


def test_the_month_is_summed_by_surface_purpose_model_reader_run_and_day(ada, ben, now):
    run = uuid.uuid4()
    spend(now, reader=ada, run_id=run)
    spend(now, usd="0.020000", purpose="review", reader=ada, run_id=run, model="openai:gpt-4o")
    spend(now - timedelta(days=1), usd="0.003000", surface="ingest", purpose="summary", run_id=uuid.uuid4())
    spend(now, reader=ben, settled_usd=None, reserved_usd=Decimal("0.5"))
    spend(now - timedelta(days=20), usd="9", reader=ben)  # last month
    costs = costs_of_month(now=now)
    assert (costs.total.calls, costs.total.usd, costs.total.open) == (4, Decimal("0.533"), Decimal("0.5"))
    assert {line.name: line.usd for line in costs.surfaces} == {
        "advisor · advisor": Decimal("0.51"),
        "advisor · review": Decimal("0.02"),
        "ingest · summary": Decimal("0.003"),
    }
    assert [line.name for line in costs.models] == [LUNA, "openai:gpt-4o"]
    assert [(line.name, line.usd) for line in costs.readers] == [("ben", Decimal("0.5")), ("ada", 3 * CENT)]
    assert {line.name: line.usd for line in costs.runs}[f"advisor · {run}"] == 3 * CENT
    assert len(costs.days) == 30 and costs.days[-1].day == now.date()
    assert (costs.days[-1].advisor, costs.days[-2].ingest) == (Decimal("0.53"), Decimal("0.003"))
    assert costs.days[-21].advisor == 9, "the chart goes back beyond the month"


def test_sums_of_many_small_amounts_are_exact(now):
    for _ in range(30):
        spend(now, usd="0.000001")
    assert costs_of_month(now=now).total.usd == Decimal("0.000030")


def test_what_is_left_of_each_cap_today_is_told(now, settings):
    settings.ADVISOR_DAILY_CAP_USD = 1.0
    spend(now, usd="0.25")
    spend(now - timedelta(days=1), usd="0.7")
    ingest, advisor = costs_of_month(now=now).caps
    assert (advisor.left, ingest.left) == (Decimal("0.75"), Decimal("5"))


@pytest.mark.parametrize(
    ("model", "cached", "saved"),
    [
        (LUNA, 100_000, "0.009000"),
        (LUNA, 0, "0"),
        ("local:m", 100_000, "0"),
        ("nobody:m", 100_000, "0"),
    ],
)
def test_what_a_provider_s_cache_saved_is_booked_with_the_call(ada, now, model, cached, saved):
    account = advisor_account(reader_id=ada.pk, run_id=uuid.uuid4(), now=now, purpose=REVIEW)
    reserved = account.reserve(model=model, worst_case=CENT)
    usage = Usage(input_tokens=100_000, cached_tokens=cached, output_tokens=10)
    assert spend_settle(spend_id=reserved, usage=usage, cost=CENT, model=model)
    row = Spend.objects.get()
    assert (row.saved_usd, row.purpose) == (Decimal(saved), "review")


def test_what_a_cap_refused_is_on_record(ada, now, settings):
    settings.LLM_DAILY_CAP_USD = 0.01
    account = ingest_account(run_id=uuid.uuid4(), now=now)
    assert isinstance(account.reserve(model=LUNA, worst_case=CENT), int)
    assert isinstance(account.reserve(model=LUNA, worst_case=CENT), BudgetRefusal)
    row = SpendRefusal.objects.get()
    assert (row.code, row.asked_usd, row.day, row.purpose) == ("budget_day", CENT, now.date(), "summary")
    (line,) = costs_of_month(now=now).refused
    assert (line.code, line.calls, line.asked, line.last_at) == ("budget_day", 1, CENT, now)
    assert Spend.objects.count() == 1


def test_summaries_that_items_share_are_money_saved(ada, now):
    item = carry(ada, "gulls")
    for _ in range(2):
        ItemFactory(fingerprint=item.fingerprint)
    Summary.objects.create(fingerprint=item.fingerprint, model=LUNA, cost_usd=CENT, created_at=now)
    Summary.objects.create(fingerprint=item.fingerprint, model="offline", created_at=now)
    Summary.objects.create(fingerprint=fingerprint("a", "b"), model=LUNA, cost_usd=CENT, created_at=now)
    assert (costs_of_month(now=now).reused.items, costs_of_month(now=now).reused.usd) == (2, 2 * CENT)


# --- Before a run -------------------------------------------------------------------------------------


def test_without_a_provider_nothing_is_expected_to_cost_anything(ada, now):
    carry(ada, "gulls")
    assert [estimate.usd for estimate in estimates_at(now=now)] == [0, 0]


def test_before_the_first_run_the_worst_case_is_told(ada, now, settings):
    settings.OPENAI_API_KEY, settings.LLM_CHAIN = "k", [LUNA]
    carry(ada, "gulls")
    advisor, summaries = estimates_at(now=now)
    assert advisor.usd == Decimal("0.5") and "cap" in advisor.basis
    assert Decimal("0.0001") < summaries.usd < Decimal("0.001") and "1 texts" in summaries.basis


def test_afterwards_the_runs_on_record_are_what_is_expected(ada, now, settings):
    settings.OPENAI_API_KEY, settings.LLM_CHAIN = "k", [LUNA]
    for word in ("gulls", "terns"):
        carry(ada, word)
    Summary.objects.create(fingerprint="f", model=LUNA, cost_usd=Decimal("0.002"), created_at=now)
    for usd in ("0.01", "0.03"):
        run = uuid.uuid4()
        spend(now, usd=usd, run_id=run)
        spend(now, usd="0.01", run_id=run)
    advisor, summaries = estimates_at(now=now)
    assert advisor.usd == Decimal("0.03") and "2 paid runs" in advisor.basis
    assert summaries.usd == Decimal("0.004")


def test_no_estimate_goes_beyond_the_cap(ada, now, settings):
    settings.OPENAI_API_KEY, settings.LLM_CHAIN, settings.LLM_DAILY_CAP_USD = "k", [LUNA], 0.001
    for word in ("gulls", "terns"):
        carry(ada, word)
    Summary.objects.create(fingerprint="f", model=LUNA, cost_usd=Decimal("0.002"), created_at=now)
    assert estimates_at(now=now)[1].usd == Decimal("0.001")


# --- The doors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["/debug/costs", "/api/costs"])
def test_only_operators_see_the_costs(url, ada, operator, client: Client):
    assert client.get(url).status_code in {302, 401}
    client.force_login(ada)
    assert client.get(url).status_code == 403
    client.force_login(operator)
    assert client.get(url).status_code == 200


def test_a_page_without_any_spend_says_so(operator, client: Client):
    client.force_login(operator)
    body = client.get("/debug/costs").content.decode()
    assert "Nothing was spent in the last 30 days." in body and "<svg" not in body.split("<main")[1]


def test_page_and_api_tell_the_same(ada, operator, client: Client):
    now = timezone.now()
    spend(now, usd="0.0123", reader=ada, run_id=uuid.uuid4())
    client.force_login(operator)
    body = client.get("/debug/costs").content.decode()
    assert "$0.01" in body and "<svg" in body and 'title="ada">ada</span>' in body
    assert "style=" not in body
    answer = client.get("/api/costs").json()
    assert answer["total"]["usd"] == "0.012300" and answer["readers"][0]["name"] == "ada"
    assert answer["days"][-1]["total"] == "0.012300" and len(answer["days"]) == 30
    assert [cap["surface"] for cap in answer["caps"]] == ["ingest", "advisor"]


def test_the_queries_do_not_grow_with_the_ledger(ada, now, settings):
    settings.OPENAI_API_KEY, settings.LLM_CHAIN = "k", [LUNA]

    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            costs_page(now)
        return len(captured)

    spend(now, reader=ada, run_id=uuid.uuid4())
    few = queries()
    Spend.objects.bulk_create(
        Spend(
            surface="advisor",
            reader=ada,
            run_id=uuid.UUID(int=n % 700),
            model=f"openai:m{n % 7}",
            reserved_usd=CENT,
            settled_usd=CENT,
            day=now.date() - timedelta(days=n % 15),
            created_at=now,
        )
        for n in range(10_000)
    )
    assert queries() == few <= 13
    assert len(costs_of_month(now=now).runs) == 20


# --- Amounts in words ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amount", "words"), [("0", "0.00"), ("1.2", "1.20"), ("0.0031", "0.0031"), ("0.000001", "0.000001")]
)
def test_small_amounts_are_told_to_the_digit_that_counts(amount, words):
    assert usd_words(Decimal(amount)) == words


@pytest.mark.parametrize("name", ["summary", "suggestedreasons", "spendrefusal", "spend"])
def test_operators_find_the_records_in_the_admin_and_change_none(name, ada, operator, client: Client, now):
    spend(now)
    Summary.objects.create(fingerprint="f", model=LUNA, text="Said", created_at=now)
    client.force_login(operator)
    assert client.get(f"/admin/digest/{name}/").status_code == 200
    assert client.get(f"/admin/digest/{name}/add/").status_code == 403
