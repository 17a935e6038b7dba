"""The advisor's API: one answer for every outcome, a run to watch, and no data of other readers."""

import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from advisor import api
from advisor.models import Run
from advisor.run.request import GenerateResult, run_wait
from advisor.run.workers import heartbeat
from digest.places import RUNS_AT_ONCE
from suggestions.models import Suggestion
from tests.support.histories import balanced, opinionated, thumbs

pytestmark = pytest.mark.django_db
GENERATE = "/api/suggestions/generate"


@pytest.fixture
def as_ada(ada, client):
    client.force_login(ada)
    return client


def generate(client, **headers):
    return client.post(GENERATE, data="{}", content_type="application/json", headers=headers)


def test_a_finished_run_answers_with_what_it_made(ada, as_ada):
    opinionated(ada, now=timezone.now())
    response = generate(as_ada)
    body = response.json()
    assert response.status_code == 200
    assert set(body) == {"status", "suggestions_created", "suggestion_ids", "reason", "run_id"}
    assert body["status"] == "completed" and body["suggestions_created"] == len(body["suggestion_ids"]) >= 1
    assert body["run_id"] == str(Run.objects.get().pk)


def test_silence_is_an_answer_too(ada, as_ada):
    balanced(ada, now=timezone.now())
    body = generate(as_ada).json()
    assert (body["status"], body["suggestions_created"], body["suggestion_ids"]) == ("completed", 0, [])
    assert "balanced" in body["reason"]


def test_pending_suggestions_are_counted(ada, as_ada):
    opinionated(ada, now=timezone.now())
    made = generate(as_ada).json()["suggestion_ids"]
    body = generate(as_ada).json()
    assert body["status"] == "blocked_pending" and body["suggestions_created"] == 0
    assert body["pending_count"] == len(made) and body["suggestion_ids"] == made


def test_a_second_request_of_the_day_is_told_so(ada, as_ada):
    opinionated(ada, now=timezone.now())
    made = generate(as_ada).json()["suggestion_ids"]
    Suggestion.objects.update(status="rejected")
    body = generate(as_ada, prefer="respond-async").json()
    assert (body["status"], body["suggestion_ids"]) == ("already_generated", made)


def test_too_little_feedback_is_no_error(ada, as_ada):
    thumbs(ada, "loved.example", 4, now=timezone.now())
    response = generate(as_ada)
    assert response.status_code == 200 and response.json()["status"] == "skipped"
    assert "(4 so far)" in response.json()["reason"]


def test_who_asks_for_it_gets_the_run_to_poll(ada, as_ada):
    now = timezone.now()
    opinionated(ada, now=now)
    heartbeat(worker="w", now=now + timedelta(minutes=1))
    response = generate(as_ada, prefer="respond-async")
    run = response.json()
    assert response.status_code == 202 and run["status"] == "queued" and run["steps"] == []
    again = generate(as_ada, prefer="respond-async")
    assert (again.status_code, again.json()["run_id"]) == (202, run["run_id"])


def test_a_second_request_is_answered_at_once_and_takes_no_credit(ada, as_ada, monkeypatch):
    now = timezone.now()
    opinionated(ada, now=now)
    heartbeat(worker="w", now=now + timedelta(minutes=1))
    first = generate(as_ada, prefer="respond-async").json()
    monkeypatch.setattr("advisor.api.run_wait", lambda **_: pytest.fail("It waited for another's run."))
    second = generate(as_ada).json()
    assert (second["status"], second["run_id"]) == ("in_progress", first["run_id"])
    assert (second["suggestions_created"], second["suggestion_ids"]) == (0, [])


def test_a_run_can_be_watched(ada, as_ada):
    opinionated(ada, now=timezone.now())
    run_id = generate(as_ada).json()["run_id"]
    body = as_ada.get(f"/api/runs/{run_id}").json()
    assert body["status"] == "completed" and body["model"] == "offline:planner"
    assert body["turns"] + body["tool_calls"] == len(body["steps"])
    assert {"n", "kind", "name", "error", "ms"} == set(body["steps"][0])


def test_anothers_run_and_no_run_look_the_same(ada, ben, now, as_ada):
    theirs = Run.objects.create(reader=ben, day=now.date(), trigger="ui", created_at=now)
    foreign, missing = as_ada.get(f"/api/runs/{theirs.pk}"), as_ada.get(f"/api/runs/{uuid4()}")
    assert foreign.status_code == missing.status_code == 404
    assert foreign.content == missing.content
    assert foreign.json()["error"] == "not_found"


def test_nobody_gets_in_without_a_session(client, db):
    assert generate(client).status_code == 401
    assert client.get(f"/api/runs/{uuid4()}").status_code == 401


def test_a_request_forged_from_elsewhere_is_turned_away(ada):
    forged = Client(enforce_csrf_checks=True)
    forged.force_login(ada)
    assert generate(forged).status_code == 403
    assert not Run.objects.exists()


def test_what_the_body_says_changes_nothing(ada, ben, as_ada):
    opinionated(ada, now=timezone.now())
    body = json.dumps({"user_id": str(ben.pk), "force": True})
    as_ada.post(GENERATE, data=body, content_type="application/json")
    assert Run.objects.get().reader == ada


def test_of_many_who_wait_for_a_run_some_are_answered_at_once(ada, as_ada, monkeypatch):
    """As many accounts as there are threads would hold all of a web process for half a minute."""
    now = timezone.now()
    opinionated(ada, now=now)
    heartbeat(worker="w", now=now + timedelta(minutes=1))
    waits = []

    def asked(**said: Any) -> GenerateResult:
        waits.append(said["timeout_s"])
        return run_wait(**said | {"timeout_s": 0})

    monkeypatch.setattr(api, "run_wait", asked)
    with api.RUNS.place("Ben"), api.RUNS.place("Cleo"):
        body = generate(as_ada).json()
    assert (body["status"], body["run_id"]) == ("in_progress", str(Run.objects.get().pk))
    for _ in range(RUNS_AT_ONCE + 1):  # a place is given back
        Run.objects.all().delete()
        generate(as_ada)
    assert waits == [0, *[api.WAIT_S] * (RUNS_AT_ONCE + 1)]
