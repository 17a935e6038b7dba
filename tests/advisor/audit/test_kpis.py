"""The watched figures: counted in the database, judged by written thresholds, never guessed from nothing."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from advisor.audit.kpis import (
    HEIGHT,
    KPI_DEFINITIONS,
    NOT_FAILURES,
    WIDTH,
    Measured,
    State,
    kpis,
    kpis_with_state,
    sparkline,
    value_format,
)
from advisor.models import Run, Step
from digest.models import Feedback, Spend
from suggestions.models import Outcome, Suggestion
from tests.support.browser import suggested
from tests.support.factories import ReaderFactory
from tests.support.histories import thumbs


def judged(**measured):
    return {kpi.definition.key: kpi for kpi in kpis_with_state(measured)}


def at(now):
    return {kpi.definition.key: kpi for kpi in kpis(now=now)}


def run(reader, when, status="completed", trigger="ui", seconds=10, **more):
    return Run.objects.create(
        reader=reader,
        day=when.date(),
        trigger=trigger,
        status=status,
        created_at=when - timedelta(seconds=seconds),
        finished_at=when,
        **more,
    )


def answered(reader, when, outcome, kind="boost_source", n=0):
    row = suggested(reader, evidence=0, target_key=f"{kind}{n}", suggestion_type=kind, status=outcome)
    Outcome.objects.create(
        suggestion=row,
        reader=reader,
        kind="decision",
        outcome=outcome,
        suggestion_type=kind,
        target_key=row.target_key,
        config_before={},
        created_at=when,
        decided_at=when,
    )


# --- Thresholds -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "fine", "alarming"),
    [
        ("acceptance_rate", 0.30, 0.29),
        ("acceptance_add_topic", 0.20, 0.19),
        ("turns_per_run", 30, 30.1),
        ("validation_failure_rate", 0.50, 0.51),
        ("cost_per_run", 0.50, 0.51),
        ("cost_per_day", 1.00, 1.01),
        ("silent_readers", 0.20, 0.21),
    ],
)
def test_the_designs_thresholds_are_met_exactly_and_passed_just_beyond(key, fine, alarming):
    assert judged(**{key: Measured(fine, 1000)})[key].state is State.OK
    assert judged(**{key: Measured(alarming, 1000)})[key].state is State.ALERT


def test_suggestions_a_run_are_watched_and_never_alarm():
    assert judged(suggestions_per_run=Measured(0.0, 1000))["suggestions_per_run"].state is State.WATCHED


def test_a_figure_without_cases_says_so():
    assert {kpi.state for kpi in judged().values()} == {State.NO_DATA}
    few = judged(acceptance_rate=Measured(0.0, 9))["acceptance_rate"]
    assert (few.state, few.state_text, few.mark) == (State.NO_DATA, "too few yet", "–")
    assert few.basis_text == "9 decisions in 28 days"
    one = judged(turns_per_run=Measured(3.0, 1))["turns_per_run"]
    assert (one.basis_text, one.value_text) == ("1 run in 28 days", "3")


def test_a_days_threshold_is_the_cap_of_the_settings():
    (day,) = (
        kpi
        for kpi in kpis_with_state({"cost_per_day": Measured(3.0, 1)}, daily_cap_usd=5.0)
        if kpi.definition.key == "cost_per_day"
    )
    assert day.state is State.OK and day.threshold_text == "above $5.00"


def test_every_state_is_told_by_a_word_and_a_sign_of_its_own():
    shown = {
        (kpi.mark, kpi.state_text)
        for kpi in judged(
            acceptance_rate=Measured(0.1, 50), turns_per_run=Measured(3, 3), tokens_per_run=Measured(9, 3)
        ).values()
    }
    assert shown == {("▲", "alert"), ("✓", "ok"), ("·", "watched"), ("–", "no data yet")}


def test_figures_are_written_in_their_units():
    assert [
        value_format(0.256, "share"),
        value_format(0.004, "usd"),
        value_format(1.5, "usd"),
        value_format(0.0, "usd"),
    ] == [
        "26%",
        "$0.0040",
        "$1.50",
        "$0.00",
    ]
    assert [
        value_format(2.345, "seconds"),
        value_format(7.25, "number"),
        value_format(12345.6, "number"),
    ] == [
        "2.3 s",
        "7.2",
        "12,346",
    ]


@given(st.lists(st.none() | st.floats(0, 1e6), max_size=40))
def test_a_line_stays_within_its_box_and_shows_every_known_day(course):
    line = sparkline(course, lambda value: f"{value:.1f}")
    known = [value for value in course if value is not None]
    if len(known) < 2:
        assert line is None
        return
    points = [tuple(map(float, pair.split(","))) for points in line.lines for pair in points.split()]
    points += line.dots
    assert len(points) == len(known)
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)


def test_a_line_breaks_where_days_are_missing_and_says_itself_in_words():
    line = sparkline([0.0, 1.0, None, 3.0, None, 2.0, 1.0], lambda value: f"{value:.0f}")
    assert len(line.lines) == 2 and len(line.dots) == 1
    assert line.text == "5 of the last 7 days: from 0 to 3, last 1."


# --- Counting -------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_runs_are_counted_by_how_they_ended_and_sessions_and_old_ones_are_not(ada, now):
    run(ada, now - timedelta(days=1), turns=4, input_tokens=900, output_tokens=100, cost_usd=Decimal("0.02"))
    run(ada, now - timedelta(days=2), "agent_error", turns=8)
    run(ada, now - timedelta(days=3), "agent_timeout", turns=0, cost_usd=Decimal("0.04"))
    run(ada, now - timedelta(days=4), "budget_exceeded", turns=0)
    run(ada, now - timedelta(days=2), trigger="mcp", turns=99)
    run(ada, now - timedelta(days=29), turns=99)
    Run.objects.create(reader=ada, day=now.date(), trigger="ui", status="running", created_at=now, turns=99)
    found = at(now)
    value = {key: (kpi.measured.value, kpi.measured.n) for key, kpi in found.items()}
    assert value["turns_per_run"] == (3.0, 4) and value["tokens_per_run"] == (250.0, 4)
    assert value["run_failure_rate"] == (0.25, 4) and value["run_timeout_rate"] == (0.25, 4)
    assert value["cost_per_run"] == (pytest.approx(0.03), 2)
    course = found["turns_per_run"].measured.by_day
    assert len(course) == 28 and course[-5:] == [0.0, 0.0, 8.0, 4.0, None]


@pytest.mark.django_db
def test_the_95th_percentile_is_of_runs_somebody_waited_for(ada, now):
    for n in range(1, 21):
        run(ada, now - timedelta(hours=n), "agent_error", seconds=n)
    run(ada, now - timedelta(hours=1), "agent_error", trigger="scheduled", seconds=170)
    found = at(now)["latency_p95"]
    assert (found.measured.value, found.measured.n, found.state) == (20.0, 20, State.OK)


@pytest.mark.django_db
def test_answers_are_counted_by_type_and_what_ran_out_is_none(ada, now):
    for n in range(12):
        answered(ada, now - timedelta(days=1), "accepted" if n < 3 else "rejected", n=n)
    answered(ada, now - timedelta(days=1), "rejected", kind="add_topic")
    answered(ada, now - timedelta(days=1), "expired", n=99)
    found = at(now)
    assert (found["acceptance_rate"].measured.value, found["acceptance_rate"].measured.n) == (3 / 13, 13)
    assert found["acceptance_rate"].state is State.ALERT
    assert found["acceptance_boost_source"].measured.value == 0.25
    assert found["acceptance_add_topic"].state is State.NO_DATA


@pytest.mark.django_db
def test_rounds_of_review_are_no_failed_proposals(ada, now):
    done = run(ada, now)
    codes = ["", "", *["weak_evidence"] * 3, *NOT_FAILURES]
    for n, code in enumerate(codes):
        Step.objects.create(run=done, n=n, kind="tool", tool="write_suggestion", error_code=code, at=now)
    Step.objects.create(run=done, n=90, kind="tool", tool="query_user_config", error_code="x", at=now)
    measured = at(now)["validation_failure_rate"].measured
    assert (measured.value, measured.n) == (0.6, 5)


@pytest.mark.django_db
def test_the_dearest_day_is_read_from_the_ledger(now):
    for back, settled in ((0, "0.10"), (0, None), (3, "0.75"), (40, "9")):
        day = now.date() - timedelta(days=back)
        common = {"surface": "advisor", "model": "m", "created_at": now, "day": day}
        Spend.objects.create(**common, reserved_usd="0.20", settled_usd=settled)
    Spend.objects.create(surface="ingest", model="m", created_at=now, day=now.date(), reserved_usd="4")
    measured = at(now)["cost_per_day"].measured
    assert (measured.value, measured.n) == (0.75, 2)
    assert measured.by_day[-4:] == [0.75, None, None, pytest.approx(0.30)]


@pytest.mark.django_db
def test_a_reader_with_preferences_whom_nobody_asked_for_six_weeks_is_silent(now):
    def reader(name, thumbs_given=60, days=50, patterns=2, made=None, **more):
        one = ReaderFactory(username=name, **more)
        thumbs(one, "loved.example", thumbs_given, days=days, tagged=False, now=now)
        run(one, now - timedelta(days=3), meta={"patterns_found": patterns})
        if made is not None:
            row = suggested(one, evidence=0, status="rejected")
            Suggestion.objects.filter(pk=row.pk).update(created_at=now - timedelta(days=made))
        return one

    reader("silent")
    reader("asked-long-ago", made=43)
    reader("asked", made=41)
    reader("too-few", thumbs_given=49)
    reader("too-fresh", days=30)
    reader("of-two-minds", patterns=0)
    reader("gone", is_active=False)
    draft = reader("draft-only", made=1)
    Suggestion.objects.filter(reader=draft).update(status="draft")
    kpi = at(now)["silent_readers"]
    assert (kpi.measured.value, kpi.measured.n, kpi.state) == (0.75, 4, State.NO_DATA)
    reader("fifth", made=2)
    kpi = at(now)["silent_readers"]
    assert (kpi.measured.value, kpi.measured.n, kpi.state) == (0.6, 5, State.ALERT)


@pytest.mark.django_db
def test_ten_times_the_rows_cost_no_query_more(ada, now):
    def count(days):
        for n in range(days):
            run(ada, now - timedelta(days=n + 1), "agent_error")
            answered(ada, now - timedelta(days=n + 1), "accepted", n=n + days)
        with CaptureQueriesContext(connection) as seen:
            kpis(now=now)
        return len(seen)

    assert count(2) == count(20) <= 8
    assert Feedback.objects.count() == 0


# --- The page -------------------------------------------------------------------------------------------


@pytest.fixture
def page(operator, client):
    client.force_login(operator)
    return lambda: client.get(reverse("admin:advisor_kpis"))


def test_an_empty_installation_says_no_data_yet_on_every_line(page):
    text = page().content.decode()
    assert text.count("no data yet") == len(KPI_DEFINITIONS) and "alert</span>" not in text


def test_the_page_shows_value_threshold_state_and_a_line_with_its_words(page, ada):
    now = timezone.now()
    for n in range(10):
        run(ada, now - timedelta(days=n % 3, minutes=1), "agent_error", turns=n)
    text = page().content.decode()
    assert "▲</span> alert" in text and "above 10%, from 10 runs on" in text and "10 runs in 28 days" in text
    assert '<polyline points="' in text and 'aria-label="3 of the last 28 days: from' in text
    body = text[text.index('<div class="figures">') :]
    assert "style=" not in body and "<script" not in body


@pytest.mark.django_db
def test_readers_and_strangers_do_not_see_the_figures(ada, client):
    for name in ("advisor_kpis", "advisor_autonomy"):
        assert client.get(reverse(f"admin:{name}")).status_code == 302
    client.force_login(ada)
    for name in ("advisor_kpis", "advisor_autonomy"):
        assert client.get(reverse(f"admin:{name}")).status_code == 302


@pytest.mark.django_db
def test_staff_without_the_right_to_see_runs_are_refused(client):
    client.force_login(ReaderFactory(username="sam", is_staff=True))
    for name in ("advisor_kpis", "advisor_autonomy"):
        assert client.get(reverse(f"admin:{name}")).status_code == 403
