"""A call repeated with the same key gets the first answer, byte for byte, and nothing happens twice."""

import json
from datetime import timedelta

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.api import idempotency
from config.api.idempotency import (
    CLAIM_TIME,
    KEY_LIFETIME,
    IdempotencyKeyError,
    KeyClaim,
    key_claim,
    response_store,
    responses_prune,
)
from config.models import IdempotentResponse
from digest.accounts.tokens import token_issue
from digest.errors import SignInNeeded
from digest.models import ApiToken, Reader
from suggestions.models import Outcome, Suggestion
from tests.support.concurrency import at_once, database_on_disk, seen_by_writers
from tests.support.suggestion_worlds import proposed, tastes

pytestmark = pytest.mark.django_db


@pytest.fixture
def waiting(ada) -> Suggestion:
    tastes(ada)
    suggestion = proposed(ada)
    Suggestion.objects.filter(pk=suggestion.pk).update(created_at=timezone.now())
    return suggestion


@pytest.fixture
def as_ada(ada, client: Client) -> Client:
    client.force_login(ada)
    return client


def accept(client: Client, suggestion: Suggestion, key: str = "", verb: str = "accept", **body):
    headers = {"Idempotency-Key": key} if key else {}
    path = f"/api/suggestions/{suggestion.pk}/{verb}"
    return client.post(path, json.dumps(body), content_type="application/json", headers=headers)


def test_a_repeated_accept_replays_the_first_answer_and_decides_nothing_again(as_ada, waiting):
    first, *repeats = [accept(as_ada, waiting, "k1") for _ in range(5)]
    assert first.status_code == 200 and "Idempotent-Replayed" not in first
    for repeat in repeats:
        assert (repeat.status_code, repeat.content) == (first.status_code, first.content)
        assert repeat["Idempotent-Replayed"] == "true" and repeat["Content-Type"] == first["Content-Type"]
    assert Outcome.objects.filter(suggestion=waiting).count() == 1


def test_without_a_key_or_with_another_the_second_accept_is_told_that_it_came_late(as_ada, waiting):
    assert accept(as_ada, waiting, "k1").status_code == 200
    for late in (accept(as_ada, waiting), accept(as_ada, waiting, "k2")):
        assert (late.status_code, late.json()["error"]) == (409, "already_resolved")
    assert accept(as_ada, waiting, "k2")["Idempotent-Replayed"] == "true", "refusals are answers too"


def test_a_key_that_comes_back_with_another_body_or_address_is_refused(as_ada, waiting):
    accept(as_ada, waiting, "k1")
    for other in (accept(as_ada, waiting, "k1", reason="because"), accept(as_ada, waiting, "k1", "reject")):
        assert (other.status_code, other.json()["error"]) == (422, "idempotency_key_reused")


@pytest.mark.django_db(transaction=True)
def test_a_key_of_an_account_that_was_deleted_meanwhile_is_refused_at_once():
    with CaptureQueriesContext(connection) as queries, pytest.raises(SignInNeeded):
        key_claim(reader_id=Reader().pk, key="k1", fingerprint="x", now=timezone.now())
    assert len(queries) < 10


def test_the_same_key_of_another_reader_is_another_key(as_ada, waiting, ben):
    theirs = Client()
    theirs.force_login(ben)
    accept(as_ada, waiting, "k1")
    answer = accept(theirs, waiting, "k1")
    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")


def test_a_key_works_with_a_personal_token_and_dies_with_it(ada, waiting, client):
    issued = token_issue(
        reader=ada, name="script", scope=ApiToken.Scope.FULL, expires_at=None, now=timezone.now()
    )
    headers = {"Authorization": f"Bearer {issued.secret}", "Idempotency-Key": "k1"}
    path = f"/api/suggestions/{waiting.pk}/accept"
    first, second = (
        client.post(path, "{}", content_type="application/json", headers=headers) for _ in range(2)
    )
    assert first.status_code == 200 and second.content == first.content
    issued.token.delete()
    third = client.post(path, "{}", content_type="application/json", headers=headers)
    assert third.status_code == 401


def test_a_replay_asks_for_the_csrf_token_like_the_call_itself(ada, waiting):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ada)
    assert accept(strict, waiting, "k1").status_code == 403
    assert not IdempotentResponse.objects.exists(), "what was refused before it began is not kept"


@pytest.mark.parametrize("key", ["", "k" * 256, "na\u00efve"])
def test_what_is_no_key_is_refused_with_its_own_code(as_ada, waiting, key):
    path = f"/api/suggestions/{waiting.pk}/accept"
    answer = as_ada.post(path, "{}", content_type="application/json", headers={"Idempotency-Key": key})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_idempotency_key")


def test_a_call_under_way_keeps_its_twin_out_until_it_must_have_died(ada, now):
    ask = {"reader_id": ada.pk, "key": "k1", "fingerprint": "f"}
    first = key_claim(**ask, now=now)
    with pytest.raises(IdempotencyKeyError) as refused:
        key_claim(**ask, now=now + CLAIM_TIME - timedelta(seconds=1))
    assert (refused.value.code, refused.value.status) == ("request_in_flight", 409)
    second = key_claim(**ask, now=now + CLAIM_TIME)
    assert isinstance(first, KeyClaim) and isinstance(second, KeyClaim) and second.turn > first.turn


def test_whoever_lost_its_claim_keeps_no_answer(ada, now):
    ask = {"reader_id": ada.pk, "key": "k1", "fingerprint": "f"}
    dead, living = key_claim(**ask, now=now), key_claim(**ask, now=now + CLAIM_TIME)
    response_store(claim=dead, response=HttpResponse("from the dead"))
    response_store(claim=living, response=HttpResponse("ok", status=201))
    replayed = key_claim(**ask, now=now + CLAIM_TIME)
    assert (replayed.status_code, replayed.content) == (201, b"ok")


def test_a_call_that_broke_may_be_made_again(ada, now):
    ask = {"reader_id": ada.pk, "key": "k1", "fingerprint": "f"}
    response_store(claim=key_claim(**ask, now=now), response=HttpResponse(status=500))
    assert isinstance(key_claim(**ask, now=now), KeyClaim)


def test_after_a_day_an_answer_is_forgotten_and_its_key_free(ada, now):
    ask = {"reader_id": ada.pk, "key": "k1", "fingerprint": "f"}
    key_claim(**ask, now=now)
    assert responses_prune(now=now + KEY_LIFETIME - timedelta(seconds=1)) == 0
    assert isinstance(key_claim(**ask | {"fingerprint": "other"}, now=now + KEY_LIFETIME), KeyClaim)
    assert responses_prune(now=now + 2 * KEY_LIFETIME) == 1


@pytest.mark.django_db(transaction=True)
def test_of_many_calls_at_once_one_is_let_through(ada, now, tmp_path):
    def claim(number: int) -> str:
        try:
            return type(key_claim(reader_id=ada.pk, key="k1", fingerprint="f", now=now)).__name__
        except IdempotencyKeyError as refused:
            return refused.code

    with database_on_disk(tmp_path / "copy.sqlite3"):
        answers = at_once(claim)
        assert seen_by_writers(IdempotentResponse.objects.count) == 1
    assert sorted(answers) == ["KeyClaim", *["request_in_flight"] * (len(answers) - 1)]


def test_stored_answers_of_a_day_have_a_bound(ada, ben, client, monkeypatch):
    """A reader's answers under new keys filled 15 GiB a day."""
    monkeypatch.setattr(idempotency, "ANSWERS_BYTES_MAX", 5_000)
    client.force_login(ada)

    def mute(n: int) -> int:
        return client.post(
            "/api/mutes",
            {"kind": "word", "value": f"tennis{n}"},
            content_type="application/json",
            headers={"Idempotency-Key": str(n)},
        ).status_code

    codes = [mute(n) for n in range(12)]
    assert codes[0] == 200 and codes[-1] == 429
    assert mute(0) == 200, "a repeat stores nothing"
    stored = IdempotentResponse.objects.filter(reader=ada)
    assert sum(len(row.body) + 512 for row in stored) < 5_000 + 2_000
    assert (
        client.post(
            "/api/mutes", {"kind": "word", "value": "golf"}, content_type="application/json"
        ).status_code
        == 200
    )
    client.force_login(ben)
    assert mute(0) == 200
