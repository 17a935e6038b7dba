"""Pages of versions show each version's changes, and the changes that going back would make."""

from datetime import datetime, time, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from digest.days import day_of
from ranking.config_body import body_default
from ranking.language import date_words
from ranking.models import ConfigVersion
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit
from tests.support.accepts import source_weight_set

# The settings that every stored version has. Each later one is missing in the versions stored before it.
FROM_THE_BEGINNING = frozenset(
    [
        "ai_score_alpha",
        "avoided",
        "keyword_boosts",
        "learned",
        "locked",
        "recency_half_life_hours",
        "source_weights",
        "topics",
    ]
)


@pytest.fixture
def three_versions(ada, now):
    """Make three versions: Ada adds chess, accepts more from the wire, and removes chess again."""
    config_edit(reader_id=ada.pk, edit=ConfigEdit(topics=["chess"]), expected_version=0, now=now)
    source_weight_set(reader_id=ada.pk, source="wire.example", weight=1.3, ref="7", now=now)
    config_edit(reader_id=ada.pk, edit=ConfigEdit(topics=[]), expected_version=2, now=now)


def text_of(client: Client, name: str, **ids: int) -> str:
    page = client.get(reverse(f"ranking:{name}", kwargs=ids))
    assert page.status_code == 200
    return page.content.decode()


def test_every_version_stands_there_newest_first_with_its_cause_and_changes(ada, client, three_versions):
    client.force_login(ada)
    page = text_of(client, "versions")

    assert page.index("Version 3") < page.index("Version 2") < page.index("Version 1")
    assert "You accepted a suggestion" in page and "“chess” joined your interests" in page
    assert page.count("In force") == 1


def test_versions_stand_by_week_the_latest_first(ada, client):
    today = day_of(timezone.now(), ada.zone)
    monday = today - timedelta(days=today.weekday())
    for n, days in enumerate((28, 21, 7, 6, 0)):  # days before this Monday
        at = datetime.combine(monday - timedelta(days=days), time(0, 30), ada.zone)
        edit = ConfigEdit(recency_half_life_hours=10.0 + n)
        config_edit(reader_id=ada.pk, edit=edit, expected_version=n, now=at)
    client.force_login(ada)
    weeks = client.get(reverse("ranking:versions")).context["weeks"]
    older = [f"Week of {date_words(monday - timedelta(days=days))}" for days in (21, 28)]
    assert [words for words, _ in weeks] == ["This week", "Last week", *older]
    assert [[row.version for row, _, _ in rows] for _, rows in weeks] == [[5], [4, 3], [2], [1]]


def test_a_version_says_what_going_back_to_it_would_change_today(ada, client, three_versions):
    client.force_login(ada)
    page = text_of(client, "version", version=1)

    assert "“chess” joined your interests" in page.split("Going back to it")[1]
    assert "wire.example: more than usual → as usual" in page.split("Going back to it")[1]


def test_going_back_from_a_versions_page_does_what_it_said(ada, client, three_versions):
    client.force_login(ada)
    client.post(reverse("ranking:revert", args=[1]), {"version": 3})

    config = config_effective(reader_id=ada.pk).config
    assert config.topics == ("chess",) and not config.source_weights and config.version == 4


@pytest.mark.parametrize("name", sorted(body_default().keys() - FROM_THE_BEGINNING))
def test_a_version_stored_before_a_setting_was_there_has_its_page_and_its_way_back(
    ada, client, three_versions, name: str
):
    row = ConfigVersion.objects.get(version=1)
    del row.body[name]
    ConfigVersion.objects.filter(pk=row.pk).update(body=row.body)
    client.force_login(ada)
    before = config_effective(reader_id=ada.pk).config

    assert "“chess” joined your interests" in text_of(client, "version", version=1)
    client.post(reverse("ranking:revert", args=[1]), {"version": 3})
    config = config_effective(reader_id=ada.pk).config
    assert config.version == 4 and config.topics == ("chess",)
    if name != "recency_by_day":  # there was another default once
        assert getattr(config, name) == getattr(before, name)


def test_the_version_in_force_offers_no_way_back_to_itself(ada, client, three_versions):
    client.force_login(ada)

    assert "Go back to this" not in text_of(client, "version", version=3)


def test_the_defaults_have_a_page_of_their_own(ada, client, three_versions):
    client.force_login(ada)

    assert "The defaults" in text_of(client, "version", version=0)


def test_nobody_sees_a_version_of_somebody_else(ben, client, three_versions):
    client.force_login(ben)

    assert client.get(reverse("ranking:version", args=[1])).status_code == 404
    assert "you have not changed anything yet" in text_of(client, "versions")


def test_many_versions_come_in_pages_at_the_same_cost(ada, client, now, django_assert_max_num_queries):
    for n in range(45):
        edit = ConfigEdit(recency_half_life_hours=10.0 + n)
        config_edit(reader_id=ada.pk, edit=edit, expected_version=n, now=now)
    client.force_login(ada)

    # Three for learned weights, and for those that going back would undo.
    with django_assert_max_num_queries(13):
        page = client.get(reverse("ranking:versions"), {"page": "3"}).content.decode()

    assert "Page 3 of 3" in page and "Version 5<" in page and "Version 6<" not in page
    assert "Page 1 of 3" in client.get(reverse("ranking:versions"), {"page": "nonsense"}).content.decode()
