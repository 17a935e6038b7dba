"""A run of a dead process or a busy worker blocks nobody, with or without the embedded worker."""

from datetime import timedelta

import pytest
from django.utils import timezone

from advisor.models import Decision, Run
from advisor.run.request import run_request, run_wait
from advisor.run.workers import heartbeat
from advisor.selectors import run_suggestion_ids
from config.tasks import Worker
from tests.support.histories import opinionated

pytestmark = pytest.mark.django_db
LONG_AGO = timedelta(days=3)


def left(reader, now, status=Run.Status.RUNNING, **more):
    """Create an abandoned run, begun at `now`."""
    lease = now + timedelta(seconds=60) if status == Run.Status.RUNNING else None
    return Run.objects.create(
        **{"reader": reader, "day": now.date(), "trigger": "ui", "created_at": now, "status": status}
        | {"attempt": 1, "fence": 1, "lease_until": lease}
        | more
    )


def ask(reader, now):
    return run_request(reader=reader, trigger=Run.Trigger.UI, now=now)


def takes_no_credit(result, run):
    """Return whether the request was told of the other one's run, and of nothing that it made."""
    told = (result.status, result.run_id, result.began, result.suggestion_ids, result.suggestions_created)
    return told == ("in_progress", run.pk, False, (), 0)


def test_who_asks_again_days_after_a_crash_gets_the_run_carried_out_and_takes_no_credit(ada, now):
    opinionated(ada, now=now)
    run = left(ada, now - LONG_AGO)
    assert takes_no_credit(ask(ada, now), run)
    assert Decision.objects.get().action == "run_requeued"
    assert ends_well(run)


def ends_well(run):
    """Return whether the run was carried out."""
    run.refresh_from_db()
    return run.status == "completed" and len(run_suggestion_ids(run_id=run.pk)) >= 1


def test_a_run_that_crashed_twice_is_given_up_and_a_new_one_begun(ada, now):
    opinionated(ada, now=now)
    run = left(ada, now - LONG_AGO, attempt=2)
    result = ask(ada, now)
    assert result.status == "completed" and result.run_id != run.pk
    run.refresh_from_db()
    assert (run.status, run.stop_reason) == ("agent_error", "lease_expired")


def test_a_run_within_its_lease_is_left_to_its_worker(ada, now):
    opinionated(ada, now=now)
    run = left(ada, now)
    assert ask(ada, now + timedelta(seconds=59)).status == "in_progress"
    run.refresh_from_db()
    assert (run.status, run.fence) == ("running", 1)


def test_without_any_worker_a_queued_run_is_carried_out_when_asked_again_without_credit(ada, now):
    opinionated(ada, now=now)
    run = left(ada, now - LONG_AGO, Run.Status.QUEUED, attempt=0)
    assert takes_no_credit(ask(ada, now), run) and ends_well(run)
    assert ask(ada, now).status == "blocked_pending"


@pytest.mark.parametrize("attempt", [0, 1], ids=["never begun", "crashed once"])
def test_where_a_worker_is_there_a_second_request_leaves_the_queued_run_to_its_next_tick(ada, now, attempt):
    opinionated(ada, now=now)
    run = left(ada, now - LONG_AGO, Run.Status.QUEUED, attempt=attempt)
    heartbeat(worker="w", now=now)
    assert takes_no_credit(ask(ada, now), run)
    run.refresh_from_db()
    assert (run.status, run.attempt) == ("queued", attempt)
    Worker("w").tick(now=now, stopping=lambda: False)
    assert ends_well(run)


def test_where_a_worker_is_there_a_crashed_run_is_left_to_it_too(ada, now):
    opinionated(ada, now=now)
    run = left(ada, now - LONG_AGO)
    heartbeat(worker="w", now=now)
    assert takes_no_credit(ask(ada, now), run)
    run.refresh_from_db()
    assert (run.status, run.attempt) == ("queued", 1)


def test_a_run_queued_a_moment_ago_is_in_the_hands_of_who_queued_it(ada, now):
    opinionated(ada, now=now)
    left(ada, now - timedelta(seconds=1), Run.Status.QUEUED, attempt=0)
    assert ask(ada, now).status == "in_progress"
    assert Run.objects.get().status == "queued"


def test_with_a_broker_a_queued_run_waits_for_its_worker(ada, now, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    left(ada, now - LONG_AGO, Run.Status.QUEUED, attempt=0)
    assert ask(ada, now).status == "in_progress"
    assert Run.objects.get().status == "queued"


def test_who_waits_for_a_crashed_run_sees_its_end(ada, now):
    opinionated(ada, now=now)
    run = left(ada, now - LONG_AGO)
    assert run_wait(run_id=run.pk, now=now, timeout_s=30, sleep=lambda s: None).status == "completed"


@pytest.mark.parametrize("status", [Run.Status.QUEUED, Run.Status.RUNNING])
def test_watching_a_run_that_nobody_works_on_brings_it_to_its_end(ada, client, status):
    now = timezone.now()
    opinionated(ada, now=now)
    heartbeat(worker="busy", now=now)
    run = left(ada, now - timedelta(minutes=2), status)
    client.force_login(ada)
    body = client.get(f"/api/runs/{run.pk}").json()
    assert body["status"] == "completed" and body["suggestions_created"] >= 1


def test_watching_a_run_just_queued_leaves_it_to_the_worker(ada, client):
    now = timezone.now()
    heartbeat(worker="w", now=now)
    run = left(ada, now, Run.Status.QUEUED, attempt=0)
    client.force_login(ada)
    assert client.get(f"/api/runs/{run.pk}").json()["status"] == "queued"


def test_watching_anothers_run_does_nothing_for_it(ada, ben, client):
    run = left(ben, timezone.now() - LONG_AGO, Run.Status.QUEUED, attempt=0)
    client.force_login(ada)
    assert client.get(f"/api/runs/{run.pk}").status_code == 404
    run.refresh_from_db()
    assert run.status == "queued"
