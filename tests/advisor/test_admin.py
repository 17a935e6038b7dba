"""Operators see a run as a timeline, escaped, and can change nothing of it."""

import pytest
from django.urls import reverse

from advisor.models import Decision, Heartbeat, Run, Step

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


@pytest.mark.parametrize("name", ["run", "decision", "heartbeat"])
def test_lists_open_and_nothing_can_be_added(run, now, as_operator, name):
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
