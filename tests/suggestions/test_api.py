"""The suggestion doors over HTTP: bodies as promised, refusals with code and status, own rows only."""

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from digest.models import Reader
from ranking.entities import WeightChange
from ranking.selectors import config_effective
from ranking.services import weights_learn
from suggestions.models import Outcome, Suggestion
from suggestions.sentences import teaching_of
from tests.support.suggestion_worlds import LOVED, boost_waiting, proposed, reduce, unread

pytestmark = pytest.mark.django_db

VERBS = ["accept", "reject", "snooze", "never", "revert"]


@pytest.fixture(scope="module")
def stage(staged) -> int:
    return staged(boost_waiting)


@pytest.fixture
def ada(stage, db) -> Reader:
    return Reader.objects.get(username="ada")


@pytest.fixture
def waiting(stage, db, live_now) -> Suggestion:
    """Return the suggestion, made just now by the wall clock the doors read."""
    Suggestion.objects.filter(pk=stage).update(created_at=live_now)
    return Suggestion.objects.get(pk=stage)


@pytest.fixture
def live_now():
    return timezone.now()


@pytest.fixture
def as_ada(ada, client: Client) -> Client:
    client.force_login(ada)
    return client


def learned_down(reader, now) -> None:
    """The learning loop takes the loved source out of the suggestion's reach."""
    change = WeightChange(LOVED, 1.0, 0.8, p_better=0.1, n=20, reason="liked_less_than_usual")
    weights_learn(changes={reader.pk: [change]}, now=now)


def post(client: Client, path: str, **body):
    return client.post(f"/api/suggestions/{path}", json.dumps(body), content_type="application/json")


def test_the_list_shows_what_waits_with_its_evidence_and_forecast(as_ada, waiting):
    body = as_ada.get("/api/suggestions").json()
    assert body["count"] == 1
    row = body["suggestions"][0]
    assert row["suggestion_id"] == waiting.pk
    assert (row["current_value"], row["suggested_value"], row["status"]) == ("1.0", "1.3", "pending")
    assert row["evidence_count"] == len(row["evidence"]) == 4
    assert set(row["forecast"]) >= {"p_helpful", "ndcg_gain", "ndcg_low", "ndcg_high", "enters", "leaves"}


def test_a_new_topic_comes_with_its_other_names(as_ada, waiting):
    Suggestion.objects.filter(pk=waiting.pk).update(
        suggestion_type="add_topic", field="topics", other_names=["Wimbledon"]
    )
    assert as_ada.get("/api/suggestions").json()["suggestions"][0]["other_names"] == ["Wimbledon"]


def test_accepting_needs_no_body_and_says_what_happened(as_ada, ada, waiting):
    response = as_ada.post(f"/api/suggestions/{waiting.pk}/accept", content_type="application/json")
    assert response.status_code == 200
    body = response.json()
    assert body["success"] and body["config_updated"]
    assert (body["suggestion_id"], body["outcome_id"]) == (waiting.pk, Outcome.objects.get().pk)
    assert config_effective(reader_id=ada.pk).weight(LOVED) == 1.3


@pytest.mark.parametrize("value", ["1.2", 1.2])
def test_a_chosen_value_may_be_a_number_or_a_string(as_ada, ada, waiting, value):
    assert post(as_ada, f"{waiting.pk}/accept", value=value, user_reason="less").status_code == 200
    assert config_effective(reader_id=ada.pk).weight(LOVED) == 1.2


@pytest.mark.parametrize("value", ["١", "NaN", "lots", "9", True, [1]])
def test_a_value_that_is_no_weight_is_refused(as_ada, waiting, value):
    response = post(as_ada, f"{waiting.pk}/accept", value=value)
    assert response.status_code == 422
    assert set(response.json()) >= {"error", "message"}
    assert not Outcome.objects.exists()


@pytest.mark.parametrize("verb", ["accept", "reject"])
def test_a_reason_with_control_characters_is_cleaned_and_kept(as_ada, waiting, verb):
    response = post(as_ada, f"{waiting.pk}/{verb}", user_reason="not\x00 my\x1b\n cup\u202e of tea")
    assert response.status_code == 200
    assert Outcome.objects.get().user_reason == "not my cup of tea"


@pytest.mark.parametrize("verb", ["accept", "reject"])
@pytest.mark.parametrize(
    "body", ["[]", '"{}"', "1", '[{"value": 1.1}]', '{"vlaue": 1.1}', '{"value": NaN', "{"]
)
def test_a_body_that_is_no_answer_is_never_taken_for_one(as_ada, waiting, verb, body):
    address = f"/api/suggestions/{waiting.pk}/{verb}"
    assert as_ada.post(address, body, content_type="application/json").status_code in {400, 422}
    waiting.refresh_from_db()
    assert waiting.status == "pending"


def test_a_second_answer_conflicts(as_ada, waiting):
    assert post(as_ada, f"{waiting.pk}/reject", user_reason="no").status_code == 200
    response = post(as_ada, f"{waiting.pk}/accept")
    assert (response.status_code, response.json()["error"]) == (409, "already_resolved")


def test_a_config_that_moved_on_conflicts(as_ada, ada, waiting, live_now):
    learned_down(ada, live_now)
    response = post(as_ada, f"{waiting.pk}/accept")
    assert (response.status_code, response.json()["error"]) == (409, "config_changed")


@pytest.mark.parametrize("verb", VERBS)
def test_somebody_elses_suggestion_does_not_exist(ben, client, waiting, verb):
    client.force_login(ben)
    response = post(client, f"{waiting.pk}/{verb}")
    assert (response.status_code, response.json()["error"]) == (404, "not_found")
    assert client.get("/api/suggestions").json() == {"suggestions": [], "count": 0}


@pytest.mark.parametrize("verb", VERBS)
def test_nobody_answers_without_a_session_or_a_token(ada, client, waiting, verb):
    assert post(client, f"{waiting.pk}/{verb}").status_code == 401
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ada)
    assert post(strict, f"{waiting.pk}/{verb}").status_code == 403
    assert Suggestion.objects.get().status == "pending"


def test_accept_all_answers_for_each(as_ada, ada, waiting, live_now):
    draft = reduce(ada)
    other = proposed(ada, draft)
    Suggestion.objects.update(created_at=live_now)
    learned_down(ada, live_now)
    body = post(as_ada, "accept-all").json()
    assert (body["success"], body["accepted_count"]) == (True, 1)
    results = {row["suggestion_id"]: row for row in body["results"]}
    assert results[waiting.pk]["error"] == "config_changed"
    assert results[other.pk] == {
        "suggestion_id": other.pk,
        "status": "accepted",
        "teaches": teaching_of("accept"),
        "error": None,
        "message": None,
    }


def test_not_now_never_and_revert_have_doors(as_ada, ada, waiting):
    assert post(as_ada, f"{waiting.pk}/snooze").json()["status"] == "snoozed"
    Suggestion.objects.update(status="pending")
    assert post(as_ada, f"{waiting.pk}/accept").status_code == 200
    assert post(as_ada, f"{waiting.pk}/revert").json()["config_updated"] is True
    assert config_effective(reader_id=ada.pk).weight(LOVED) == 1.0


def test_taking_an_answer_back_says_what_is_learnt_from_that(as_ada, waiting):
    """A change put back is a no; an answer that is forgotten is neither."""
    post(as_ada, f"{waiting.pk}/snooze")
    assert "That answer counts no more" in post(as_ada, f"{waiting.pk}/undo").json()["teaches"]
    post(as_ada, f"{waiting.pk}/accept")
    at_once = post(as_ada, f"{waiting.pk}/undo").json()
    assert "That answer counts no more" in at_once["teaches"] and at_once["status"] == "pending"
    post(as_ada, f"{at_once['suggestion_id']}/accept")
    Suggestion.objects.filter(status="accepted").update(resolved_at=timezone.now() - timedelta(minutes=11))
    later = post(as_ada, f"{at_once['suggestion_id']}/undo").json()
    assert "We count this as a no" in later["teaches"] and later["status"] == "accepted"


def test_an_expired_suggestion_is_no_longer_listed(as_ada, waiting):
    Suggestion.objects.update(created_at="2026-01-01T00:00:00Z")
    assert as_ada.get("/api/suggestions").json()["count"] == 0
    assert Outcome.objects.get().outcome == "expired"


def test_listing_more_suggestions_costs_no_more_queries(
    as_ada, ada, waiting, live_now, django_assert_max_num_queries
):
    with django_assert_max_num_queries(15):
        as_ada.get("/api/suggestions")
    draft = reduce(ada)
    proposed(ada, draft)
    Suggestion.objects.update(created_at=live_now)
    with django_assert_max_num_queries(15):
        assert as_ada.get("/api/suggestions").json()["count"] == 2


def test_a_check_asks_headlines_without_sources_and_says_what_it_found(as_ada, waiting, live_now):
    unread(at=live_now)
    base = f"/api/suggestions/{waiting.pk}/check"
    asked = as_ada.get(base).json()
    assert len(asked["headlines"]) == 8 and set(asked["headlines"][0]) == {"item_id", "title"}
    answers = [{"item_id": one["item_id"], "useful": True} for one in asked["headlines"]]
    done = post(as_ada, f"{waiting.pk}/check", answers=answers).json()
    assert (done["status"], done["liked"], done["rated"]) == ("pending", 6, 6)
    (row,) = as_ada.get("/api/suggestions").json()["suggestions"]
    assert row["checked"]["p_after"] == done["p_after"] == row["forecast"]["p_helpful"]
    again = post(as_ada, f"{waiting.pk}/check", answers=answers)
    assert (again.status_code, again.json()["error"]) == (409, "already_checked")


def test_a_check_with_too_few_answers_or_too_many_is_refused_and_changes_nothing(as_ada, waiting):
    few = post(as_ada, f"{waiting.pk}/check", answers=[])
    assert (few.status_code, few.json()["error"]) == (422, "too_few_answers")
    many = [{"item_id": n, "useful": True} for n in range(1, 10)]
    assert post(as_ada, f"{waiting.pk}/check", answers=many).status_code == 422
    (row,) = as_ada.get("/api/suggestions").json()["suggestions"]
    assert row["checked"] is None
