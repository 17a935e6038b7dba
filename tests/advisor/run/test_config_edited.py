"""A config that changes after a suggestion was made, from the run that made it to the reader's answer."""

import pytest
from django.utils import timezone

from advisor.run.request import run_request
from digest.models import Reader
from ranking.entities import WeightChange
from ranking.models import ConfigVersion
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit, weights_learn
from suggestions.models import Outcome, Suggestion
from tests.advisor.tools.test_tools import answer, context_for
from tests.support.factories import ReaderFactory
from tests.support.histories import opinionated

pytestmark = pytest.mark.django_db
LOVED = "loved.example"


def _proposed() -> None:
    """Store a real run's proposal about the source Ada loves."""
    ada, now = ReaderFactory(username="ada", time_zone="Europe/Berlin"), timezone.now()
    opinionated(ada, now=now)
    run_request(reader=ada, trigger="ui", now=now, inline=True)


@pytest.fixture(scope="module")
def stage(staged) -> None:
    staged(_proposed)


@pytest.fixture
def ada(stage, db) -> Reader:
    return Reader.objects.get(username="ada")


@pytest.fixture
def waiting(ada, client) -> Suggestion:
    """Sign in Ada and return the run's proposal."""
    client.force_login(ada)
    return Suggestion.objects.get(reader=ada, target_key=LOVED, status="pending")


def accept(client, suggestion):
    return client.post(f"/api/suggestions/{suggestion.pk}/accept", {}, content_type="application/json")


def weight(reader) -> float:
    return config_effective(reader_id=reader.pk).weight(LOVED)


def edit(reader, version=0, **fields):
    config_edit(reader_id=reader.pk, edit=ConfigEdit(**fields), expected_version=version, now=timezone.now())


def learned(reader, after: float) -> None:
    change = WeightChange(LOVED, 1.0, after, 0.1, 9.0, "liked_1_of_9")
    weights_learn(changes={reader.pk: [change]}, now=timezone.now())


def test_an_edit_elsewhere_leaves_the_agreement_as_it_was(ada, client, waiting):
    edit(ada, topics=["Tides"], source_weights={"loathed.example": 0.9})
    assert accept(client, waiting).status_code == 200
    assert weight(ada) == pytest.approx(float(waiting.suggested_value))
    assert config_effective(reader_id=ada.pk).config.topics == ("Tides",)


def test_an_edit_of_the_same_target_overtakes_it(ada, client, waiting):
    edit(ada, source_weights={LOVED: 1.1})
    response = accept(client, waiting)
    assert (response.status_code, response.json()["error"]) == (409, "already_resolved")
    waiting.refresh_from_db()
    assert waiting.status == Outcome.objects.get(suggestion=waiting).outcome == "superseded"
    assert weight(ada) == 1.1
    history = answer(context_for(ada, now=timezone.now()), "get_acceptance_history")
    assert history["by_type"]["boost_source"] == {"superseded": 1}


def test_a_weight_that_drifted_out_of_reach_comes_back_with_a_fresh_preview(ada, client, waiting):
    learned(ada, 0.9)
    response = accept(client, waiting)
    body = response.json()
    assert (response.status_code, body["error"]) == (409, "config_changed")
    assert (body["current_value"], body["nearest_value"]) == ("0.9", "1.2")
    assert set(body["preview"]) == {"enters", "leaves"}
    waiting.refresh_from_db()
    assert waiting.status == "pending" and weight(ada) == pytest.approx(0.9)
    assert not ConfigVersion.objects.exists() and not Outcome.objects.exists()


def test_going_back_to_an_older_version_counts_as_a_hand_edit(ada, client, waiting):
    edit(ada, source_weights={LOVED: 1.2})
    edit(ada, version=1, source_weights={LOVED: 1.0})
    client.get("/ui/suggestions")
    waiting.refresh_from_db()
    assert waiting.status == "superseded"
