"""Readers who had the default half-life get freshness by whole days in a version, and can go back."""

from importlib import import_module

import pytest
from django.apps import apps
from django.test import Client

from digest.models import Reader
from ranking.config_body import ConfigEdit
from ranking.models import ConfigVersion, RankConfig
from ranking.selectors import config_effective
from ranking.services import config_edit, config_revert

pytestmark = [pytest.mark.django_db, pytest.mark.services]
migration = import_module("ranking.migrations.0003_freshness_by_day")


def upgrade() -> None:
    """Run the migration on settings as the release before left them: by the hour, without a word of it."""
    RankConfig.objects.update(recency_by_day=False)
    for row in ConfigVersion.objects.all():
        row.body.pop("recency_by_day", None)
        row.save()
    RankConfig.objects.filter(recency_half_life_hours=24).update(recency_by_day=True)  # as `db_default` did
    migration.by_day(apps, None)


def is_by_day(reader: Reader) -> bool:
    return config_effective(reader_id=reader.pk).config.recency_by_day


def test_a_reader_with_own_settings_gets_one_version_that_undo_takes_back(ada, now):
    config_edit(
        reader_id=ada.pk,
        edit=ConfigEdit(topics=["rust"], source_weights={"a": 1.4}),
        expected_version=0,
        now=now,
    )
    upgrade()
    effective = config_effective(reader_id=ada.pk)
    assert (effective.config.version, effective.config.recency_by_day) == (2, True)
    assert effective.config.topics == ("rust",) and effective.weight("a") == 1.4
    config_revert(reader_id=ada.pk, version=1, expected_version=2, now=now)
    assert not is_by_day(ada) and config_effective(reader_id=ada.pk).config.topics == ("rust",)


def test_a_reader_who_never_changed_anything_can_go_back_too(ada, now):
    upgrade()
    assert config_effective(reader_id=ada.pk).config.version == 2 and is_by_day(ada)
    config_revert(reader_id=ada.pk, version=1, expected_version=2, now=now)
    assert not is_by_day(ada)


def test_a_half_life_that_a_reader_chose_goes_on_by_the_hour_without_a_version(ada, now):
    config_edit(reader_id=ada.pk, edit=ConfigEdit(recency_half_life_hours=12.0), expected_version=0, now=now)
    upgrade()
    assert config_effective(reader_id=ada.pk).config.version == 1 and not is_by_day(ada)


def test_the_settings_page_says_what_the_update_changed(ada, client: Client, now):
    upgrade()
    client.force_login(ada)
    page = client.get("/ui/history/settings").content.decode()
    assert "An update of Tidings changed it" in page
    assert "How articles age: by the hour → by whole days" in page


def test_the_choice_is_in_settings_and_a_form_without_it_changes_nothing(ada, client: Client):
    client.force_login(ada)
    form = {"version": "0", "topics": "", "recency_half_life_hours": "72", "ai_score_alpha": "0.1"}
    client.post("/ui/config", form)
    assert is_by_day(ada)
    client.post("/ui/config", form | {"version": "1", "recency_by_day": "hour"})
    assert not is_by_day(ada)
    assert '<option value="hour" selected>' in client.get("/ui/config").content.decode()
