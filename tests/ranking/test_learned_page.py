"""The page of versions says which learning steps are in force, and which ones going back would undo."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from digest.models import Reader
from ranking.config_words import steps_in_force
from ranking.entities import WeightChange
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit, config_revert, weights_learn
from tests.support.browser import subscribe

VERSIONS = "/ui/history/settings"


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Return Ada's signed-in browser. She reads the Gazette."""
    client.force_login(ada)
    subscribe(ada)
    return client


def learn(reader: Reader, before: float, after: float, *, days_ago: int = 0) -> None:
    change = WeightChange("gazette.example", before, after, 0.9, 8.0, "liked_more_than_usual")
    weights_learn(changes={reader.pk: [change]}, now=timezone.now() - timedelta(days=days_ago))


def topics(reader: Reader, version: int, *names: str) -> int:
    edit = ConfigEdit(topics=names)
    return config_edit(reader_id=reader.pk, edit=edit, expected_version=version, now=timezone.now())


def steps(page: Client) -> list[tuple[float, bool]]:
    return [(step.after, in_force) for step, in_force in page.get(VERSIONS).context["learned"]]


def test_learned_steps_are_in_force_until_the_settings_go_back_before_them(page: Client, ada: Reader):
    learn(ada, 1.0, 1.05, days_ago=14)
    topics(ada, 0, "rust")
    learn(ada, 1.05, 1.12)
    assert steps(page) == [(1.12, True), (1.05, True)]
    config_revert(reader_id=ada.pk, version=1, expected_version=1, now=timezone.now())
    assert steps(page) == [(1.12, False), (1.05, True)]
    assert "no longer in force" in page.get(VERSIONS).content.decode()
    config_revert(reader_id=ada.pk, version=0, expected_version=2, now=timezone.now())
    assert steps(page) == [(1.12, False), (1.05, False)]


def test_a_weight_of_ones_own_leaves_no_step_in_force(page: Client, ada: Reader):
    learn(ada, 1.0, 1.12)
    edit = ConfigEdit(source_weights={"gazette.example": 1.12})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=timezone.now())
    assert steps(page) == [(1.12, False)]


def test_steps_from_before_a_break_are_not_in_force():
    taken = [("a", 1.3, 1.4), ("b", 1.0, 1.1), ("a", 1.0, 1.05)]
    assert steps_in_force(taken, {"a": 1.4, "b": 1.0}, {"a": 0.1}) == [True, False, False]


def test_going_back_says_which_learned_weights_it_takes_away(page: Client, ada: Reader):
    topics(ada, 0, "rust")
    topics(ada, 1, "rust", "trains")
    assert "learned from your ratings. Gazette" not in page.get(VERSIONS).content.decode()
    learn(ada, 1.0, 1.12)
    lines = page.get(VERSIONS).content.decode().split("Every version")[1]
    told = "what was learned from your ratings. Gazette: a bit more than usual → as usual"
    assert lines.count(told) == 2  # version 1 and the defaults; version 2 is in force
    config_revert(reader_id=ada.pk, version=1, expected_version=2, now=timezone.now())
    assert config_effective(reader_id=ada.pk).deltas == {}


def test_going_back_from_a_stale_page_names_sources_by_their_titles(page: Client, ada: Reader):
    topics(ada, 0, "rust")
    edit = ConfigEdit(source_weights={"gazette.example": 1.3})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=1, now=timezone.now())
    answer = page.post("/ui/config/revert/0", {"version": "1"})
    notice = answer.content.decode().split('role="alert"')[1].split("</div>")[0]
    assert answer.status_code == 409
    assert "Gazette: as usual → more than usual" in notice and "gazette.example" not in notice
    assert config_effective(reader_id=ada.pk).config.topics == ("rust",)
