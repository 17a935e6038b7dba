"""Operators see a run as a timeline, escaped, and cannot change it."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from advisor.admin.runs import STATUS_WORDS, STOP_WORDS, TRIGGER_WORDS
from advisor.audit.makers import MakerRow, makers_compared
from advisor.models import Decision, GuidanceEvent, Heartbeat, Judgment, Memory, PanelVote, Run, Step
from advisor.run_values import StopReason
from digest.models import Reader
from ranking.common.admin import money_words
from suggestions.models import Outcome
from suggestions.planner.hypotheses import SILENCE_SENTENCES
from tests.support.browser import suggested
from tests.support.factories import SourceFactory
from tests.support.suggestion_worlds import tastes

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(ada, now):
    made = Run.objects.create(reader=ada, day=now.date(), trigger="ui", created_at=now)
    hostile = "<script>alert(1)</script>"
    Step.objects.create(run=made, n=2, kind="model", model="offline:planner", reasoning=hostile, at=now)
    Step.objects.create(
        run=made,
        n=1,
        kind="tool",
        tool="write_suggestion",
        arguments={"reason": hostile},
        error_code="pinned",
        at=now,
    )
    return made


@pytest.fixture
def as_operator(operator, client):
    client.force_login(operator)
    return client


def page(client, row):
    return client.get(reverse(f"admin:advisor_{row._meta.model_name}_change", args=[row.pk]))


def test_a_run_is_shown_step_by_step_in_order(run, as_operator):
    text = page(as_operator, run).content.decode()
    assert text.index("tool: write_suggestion") < text.index("model: offline:planner")
    assert "pinned" in text


def test_what_a_model_wrote_is_shown_and_not_run(run, as_operator):
    text = page(as_operator, run).content.decode()
    assert "<script>alert" not in text and "&lt;script&gt;alert(1)" in text


def test_a_run_without_steps_says_so(ada, now, as_operator):
    run = Run.objects.create(reader=ada, day=now.date(), trigger="ui", created_at=now)
    assert "No step yet." in page(as_operator, run).content.decode()


def vote(run, now, **more):
    fields = {"suggestion_type": "boost_source", "target_key": "x.example", "round": 1, "reviewer": "trust"}
    fields |= {"verdict": "improve", "confidence": 0.8, "model": "rules:trust", "at": now}
    return PanelVote.objects.create(run=run, **fields | more)


def judgment(run, now, **more):
    fields = {"suggestion_type": "boost_source", "target_key": "x.example", "round": 2, "flipped": True}
    fields |= {"helps": False, "accepts": True, "confidence": 0.7, "p_helpful": 0.4, "model": "m", "at": now}
    return Judgment.objects.create(run=run, **fields | more)


def guided(run, now, **more):
    fields = {"n": 1, "tool": "write_suggestion", "level": "warning", "why": "held", "at": now}
    return GuidanceEvent.objects.create(run=run, reader=run.reader, **fields | more)


def test_guidance_is_listed_before_the_call_that_it_was_for(run, now, as_operator):
    candidates = [
        {"kind": "pattern", "title": "<i>Small</i> steps", "score": 0.8, "level": "note", "why": "shown"}
    ]
    guided(run, now, text="Go <b>slowly</b>.", candidates=candidates, followed=True, ms=12)
    guided(run, now, level="block", why="blocked", rule="pinned")
    guided(run, now, level="silent", why="failed", error_code="ValueError", n=0, tool="")
    guided(run, now, level="silent", why="below_floor", n=2)
    text = page(as_operator, run).content.decode()
    assert text.index("warning before write_suggestion: held, followed") < text.index(
        "tool: write_suggestion"
    )
    assert (
        "Go &lt;b&gt;slowly&lt;/b&gt;." in text
        and "&lt;i&gt;Small&lt;/i&gt; steps (0.8, note) shown before" in text
    )
    assert "block before write_suggestion: a rule forbids the call" in text
    assert "silent before the first call: guidance failed" in text
    assert "12 ms, 0 tokens" in text and "3 guidance events" in text
    assert "no memory is close enough" not in text, "a call that got nothing is no event of the run"


def test_all_that_happened_in_a_run_stands_in_one_line_of_time(ada, now, as_operator):
    run = Run.objects.create(reader=ada, day=now.date(), trigger="ui", created_at=now)
    second = [now + timedelta(seconds=n) for n in range(8)]
    Step.objects.create(run=run, n=1, kind="model", model="openai:m", cost_usd="0.0125", at=second[0])
    judgment(run, second[1])
    vote(
        run,
        second[2],
        model="openai:m",
        issues=["<b>too vague</b>"],
        suggestions=["Name it"],
        cost_usd="0.0025",
    )
    Step.objects.create(
        run=run, n=2, kind="tool", tool="write_suggestion", error_code="review_improve", at=second[3]
    )
    vote(run, second[4], round=2, verdict="approve", reasoning="Better.")
    vote(run, second[4], round=2, verdict="approve", model="rules:figures")
    row = suggested(ada, evidence=0, run_id=run.pk, created_at=now, validation_notes=["Clamped"])
    written = f'{{"success":true,"suggestion_id":{row.pk}}}'
    Step.objects.create(run=run, n=3, kind="tool", tool="write_suggestion", result=written, at=second[5])
    Decision.objects.create(run=run, actor="runs", action="run_failed", reason="why", at=second[6])
    text = page(as_operator, run).content.decode().partition('id="timeline-title"')[2]
    order = [
        "1. model: openai:m",
        "reflector: does not help, would be accepted (70% sure, changed its mind)",
        "Reviewer trust: improve (80% sure)",
        "&lt;b&gt;too vague&lt;/b&gt;",
        "2. tool: write_suggestion",
        "review_improve",
        "2 of 2 checks passed: Show me more from x.example",
        "3. tool: write_suggestion",
        "Show me more from Gazette",
        "Clamped",
        "runs: run_failed",
    ]
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    assert "3 steps, 1 votes, 1 rounds of checks, 1 judgments, 1 suggestions, 1 decisions; $0.0150" in text


def test_a_run_of_two_hundred_steps_costs_no_query_a_step(ada, now, as_operator):
    def queries(steps):
        run = Run.objects.create(
            reader=ada, day=now.date(), trigger="ui", status="agent_error", created_at=now
        )
        Step.objects.bulk_create(
            Step(run=run, n=n, kind="tool", tool="query_user_config", at=now) for n in range(steps)
        )
        for n in range(1, steps // 20 + 1):
            vote(run, now, round=n)
            judgment(run, now, round=n)
            Decision.objects.create(run=run, reader=ada, actor="runs", action="x", reason="y", at=now)
            guided(run, now, n=n)
        with CaptureQueriesContext(connection) as seen:
            assert page(as_operator, run).status_code == 200
        return len(seen)

    assert queries(20) == queries(200) <= 15


@pytest.mark.parametrize("name", ["run", "decision", "heartbeat", "panelvote", "judgment", "memory"])
def test_lists_open_and_nothing_can_be_added(run, now, as_operator, name):
    vote(run, now)
    judgment(run, now)
    Memory.objects.create(kind="insight", key="k", title="t", text="t", valid_from=now, updated_at=now)
    Decision.objects.create(run=run, actor="runs", action="run_skipped", reason="thin", at=now)
    Heartbeat.objects.create(worker="w", at=now)
    assert as_operator.get(reverse(f"admin:advisor_{name}_changelist")).status_code == 200
    assert as_operator.get(reverse(f"admin:advisor_{name}_add")).status_code == 403


def test_an_audit_cannot_be_changed_or_deleted(run, as_operator):
    change = reverse("admin:advisor_run_change", args=[run.pk])
    assert as_operator.post(change, {"status": "completed"}).status_code == 403
    delete = reverse("admin:advisor_run_delete", args=[run.pk])
    assert as_operator.post(delete, {"post": "yes"}).status_code == 403
    run.refresh_from_db()
    assert run.status == "queued"


def test_readers_do_not_get_in(run, ada, client):
    client.force_login(ada)
    assert page(client, run).status_code == 302


def test_a_long_list_of_runs_costs_no_query_a_row(ada, now, as_operator, django_assert_max_num_queries):
    for _ in range(30):
        Run.objects.create(reader=ada, day=now.date(), trigger="ui", status="agent_error", created_at=now)
    with django_assert_max_num_queries(8):
        as_operator.get(reverse("admin:advisor_run_changelist"))


def test_checks_of_a_round_are_one_line_and_say_what_failed(run, now, as_operator):
    SourceFactory(key="x.example", title="The Xylophone")
    for name, failed in (("likely", []), ("named", ["The reason names <nothing>"])):
        verdict = "improve" if failed else "approve"
        vote(run, now, model=f"rules:{name}", reviewer="value", verdict=verdict, issues=failed)
    text = page(as_operator, run).content.decode()
    assert "1 of 2 checks passed: Show me more from The Xylophone" in text
    assert "Check “named” of value: improve" in text and "The reason names &lt;nothing&gt;" in text
    assert "Check “likely”" not in text and "boost_source x.example" not in text
    listed = as_operator.get("/admin/advisor/panelvote/").content.decode()
    assert "Show me more from The Xylophone" in listed


def test_the_list_of_runs_says_who_asked_and_how_each_ended(ada, run, as_operator):
    Run.objects.filter(pk=run.pk).update(trigger="ui", status="agent_error", stop_reason="model_refused")
    Run.objects.filter(pk=run.pk).update(turns=1, tool_calls=7)
    listed = as_operator.get("/admin/advisor/run/").content.decode()
    assert "the reader" in listed and "failed: the provider refused the request" in listed
    assert "1 turn, 7 calls" in listed and "By why it ended" in " ".join(listed.split())
    Run.objects.filter(pk=run.pk).update(status="completed", stop_reason="done")
    assert ">done</td>" in as_operator.get("/admin/advisor/run/?status=completed").content.decode()
    assert ">done</td>" not in as_operator.get("/admin/advisor/run/?status=queued").content.decode()


def test_a_run_leads_to_its_suggestions_and_back(ada, run, as_operator):
    row = suggested(ada, evidence=0, run_id=run.pk)
    assert f"/admin/suggestions/suggestion/{row.pk}/change/" in page(as_operator, run).content.decode()
    assert f"?run_id={run.pk}" in as_operator.get("/admin/advisor/run/").content.decode()
    found = as_operator.get(f"/admin/suggestions/suggestion/?run_id={run.pk}").content.decode()
    assert f"/admin/advisor/run/{run.pk}/change/" in found
    shown = as_operator.get(f"/admin/suggestions/suggestion/{row.pk}/change/").content.decode()
    assert "ikely to help" in shown and "P helpful" not in shown


def test_an_operator_runs_the_advisor_for_a_reader(ada, ben, as_operator):
    there = f"/admin/advisor/run/for/{ada.pk}/"
    assert there in as_operator.get(f"/admin/digest/reader/{ada.pk}/change/").content.decode()
    assert not Run.objects.filter(reader=ada).exists()
    assert "Run for this reader?" in as_operator.get(there).content.decode()
    tastes(ada)
    ran = as_operator.post(there)
    made = Run.objects.get(reader=ada)
    assert ran.url == f"/admin/advisor/run/{made.pk}/change/" and made.trigger == Run.Trigger.COMMAND
    assert made.status == "completed" and told(as_operator, made)["Asked by"] == "an operator"
    assert "an operator</td>" in as_operator.get("/admin/advisor/run/").content.decode()
    assert not Run.objects.filter(reader=ben).exists()
    suggested(ben)
    again = as_operator.post(f"/admin/advisor/run/for/{ben.pk}/", follow=True).content.decode()
    assert "because ben has suggestions to answer first" in again and "Please answer" not in again
    Reader.objects.filter(pk=ben.pk).update(is_active=False)
    assert as_operator.get(f"/admin/advisor/run/for/{ben.pk}/").status_code == 404


def told(client, row) -> dict[str, str]:
    """Return the facts on a run's page by name."""
    return {fact.name: fact.value for fact in page(client, row).context["facts"]}


def test_a_runs_page_says_its_outcome_and_suggestions_in_its_readers_words(ada, run, as_operator):
    fields = {"status": "completed", "stop_reason": "done", "trigger": "command"}
    Run.objects.filter(pk=run.pk).update(**fields, message=SILENCE_SENTENCES["all_decided"])
    facts = told(as_operator, run)
    assert (facts["Asked by"], facts["Status"]) == ("a command", "done") and "Suggests" not in facts
    assert facts["Its reader is told"].endswith(f"{SILENCE_SENTENCES['all_decided']}”")
    suggested(ada, evidence=0, run_id=run.pk, current_value="1.00", suggested_value="1.30")
    facts = told(as_operator, run)
    assert facts["Its reader is told"] == "“1 new suggestion.”"
    words = "Show me more from Gazette: as usual → more than usual"
    assert facts["Suggests"].startswith(words) and facts["Suggests"].endswith("It waits for its reader.")
    text = page(as_operator, run).content.decode()
    assert text.count(words) == 2 and "1.00 → 1.30" not in text
    fields = {"status": "agent_error", "stop_reason": "models_exhausted", "message": "401: no such key"}
    Run.objects.filter(pk=run.pk).update(**fields)
    facts = told(as_operator, run)
    assert facts["Status"] == "failed: no model answered" and facts["The error itself"] == "401: no such key"
    assert "401" not in facts["Its reader is told"]


def test_every_way_a_run_ends_has_words():
    assert set(STOP_WORDS) == set(StopReason) and set(STATUS_WORDS) == set(Run.Status)
    assert set(TRIGGER_WORDS) == set(Run.Trigger)


def test_who_may_only_look_runs_nothing(ada, client):
    looker = Reader.objects.create_user("look", password="x", is_staff=True)
    looker.user_permissions.add(Permission.objects.get(codename="view_run"))
    client.force_login(looker)
    there = f"/admin/advisor/run/for/{ada.pk}/"
    assert (client.get(there).status_code, client.post(there).status_code) == (403, 403)
    assert not Run.objects.exists()


def test_suggestions_of_models_are_compared_with_the_planners(ada, now, as_operator):
    def made(model: str, status: str, effect: str = "", **more: object) -> None:
        day = now.date() - timedelta(days=Run.objects.count())
        fields = {"reader": ada, "day": day, "trigger": "ui", "status": "completed", "created_at": now}
        run = Run.objects.create(model=model, **fields, **more)
        row = suggested(ada, evidence=0, run_id=run.pk, status=status, created_at=now)
        if effect:
            about = {"suggestion": row, "reader": ada, "created_at": now, "decided_at": now}
            Outcome.objects.create(kind="decision", outcome="accepted", config_before={}, **about)
            Outcome.objects.create(kind="effect", outcome=effect, config_before={}, **about)

    made("openai:m", "accepted", "helped")
    made("openai:m", "rejected")
    made("openai:m", "expired", meta={"finished_by": "planner"})
    made("offline:planner", "accepted", "harmed")
    made("offline:planner", "draft")
    made("offline:planner", "withdrawn")
    rows = {row.maker: row for row in makers_compared(now=now)}
    assert rows == {
        "a model": MakerRow("a model", 2, 1, 1, 0, 0, 1, 0, 0),
        "the planner": MakerRow("the planner", 3, 1, 0, 1, 1, 0, 0, 1),
    }
    assert "Models against the planner" in as_operator.get("/admin/advisor/run/autonomy/").content.decode()


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        ("0", "$0"),
        ("0.0000004", "under $0.0001"),
        ("0.0125", "$0.0125"),
        ("1234.5", "$1,234.5000"),
        (None, "–"),
    ],
)
def test_an_amount_of_dollars_reads_as_one(amount: str | None, words: str):
    assert money_words(None if amount is None else Decimal(amount)) == words


def test_a_run_that_cost_nothing_says_so_in_its_list_and_on_its_page(run, as_operator):
    for address in ("", f"{run.pk}/change/"):
        body = as_operator.get(f"/admin/advisor/run/{address}").content.decode()
        assert "$0" in body and "0.000000" not in body and "encing" not in body
