"""The stored versions of a reader's changes: at most 500 a day, and manual ones are merged at night."""

from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from config.retention import retention_days
from digest.models import Reader
from ranking import services
from ranking.entities import Mute, TooManyChanges
from ranking.models import ConfigVersion
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit, config_revert, mute_set, versions_merge, versions_prune

pytestmark = pytest.mark.django_db
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)


def edit(reader: Reader, topic: str, at: datetime, **more: str) -> int:
    return config_edit(
        reader_id=reader.pk, edit=ConfigEdit(topics=[topic]), expected_version=None, now=at, **more
    )


def versions(reader: Reader) -> list[int]:
    return list(
        ConfigVersion.objects.filter(reader=reader).order_by("version").values_list("version", flat=True)
    )


def test_changes_within_a_minute_are_one_a_day_later_and_say_what_all_of_them_did(ada: Reader, now):
    for n in range(5):
        edit(ada, f"topic {n}", now + n * 30 * SECOND)
    edit(ada, "later", now + timedelta(minutes=10))
    assert versions_merge(now=now + timedelta(hours=23)) == 0, "pages may still undo each of them"
    before = config_effective(reader_id=ada.pk)
    assert versions_merge(now=now + 2 * DAY) == 4
    assert versions(ada) == [5, 6]
    first, second = ConfigVersion.objects.filter(reader=ada).order_by("version")
    assert [(c["field"], c["target"]) for c in first.changes] == [("topics", "topic 4")]
    assert {c["target"] for c in second.changes} == {"topic 4", "later"}
    assert versions_merge(now=now + 2 * DAY) == 0
    assert config_effective(reader_id=ada.pk) == before
    config_revert(reader_id=ada.pk, version=5, expected_version=6, now=now + 2 * DAY)
    assert config_effective(reader_id=ada.pk).config.topics == ("topic 4",)


def test_what_a_suggestion_or_words_of_the_reader_did_stays(ada: Reader, now):
    edit(ada, "a", now)
    edit(ada, "b", now + SECOND, note="more of b, please")
    edit(ada, "c", now + 2 * SECOND, cause=ConfigVersion.Cause.ACCEPT, ref="7")
    edit(ada, "d", now + 3 * SECOND)
    assert versions_merge(now=now + 40 * DAY) == 0 and versions(ada) == [1, 2, 3, 4]


def test_a_month_later_a_day_of_changes_by_hand_is_one(ada: Reader, ben: Reader, now):
    start = now.replace(hour=1)
    for hour in range(12):
        edit(ada, f"topic {hour}", start + timedelta(hours=hour))
    edit(ben, "his", start)
    assert versions_merge(now=start + 20 * DAY) == 0
    assert versions_merge(now=start + 32 * DAY) == 11
    assert versions(ada) == [12] and versions(ben) == [1]


def test_versions_made_by_hand_go_if_the_operator_says_so_and_the_one_in_force_stays(ada, now, settings):
    for n in range(3):
        edit(ada, f"topic {n}", now + n * DAY)
    assert versions_prune(now=now + 400 * DAY) == 0
    settings.KEEP_DAYS = retention_days({"settings": "60"})
    assert versions_prune(now=now + 400 * DAY) == 2
    assert versions(ada) == [3]


def test_more_changes_than_a_person_makes_in_a_day_are_refused(
    ada: Reader, ben: Reader, client: Client, now, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(services, "CHANGES_PER_DAY", 3)
    today = timezone.now()
    for n in range(3):
        edit(ada, f"topic {n}", today)
    with pytest.raises(TooManyChanges, match="3 times in a day"):
        mute_set(reader_id=ada.pk, mute=Mute("word", "x"), now=today)
    client.force_login(ada)
    mute = {"kind": "word", "value": "tennis"}
    api = client.post("/api/mutes", mute, content_type="application/json")
    assert (api.status_code, api.json()["error"]) == (429, "too_many_changes")
    assert client.post("/ui/mutes/add", mute).status_code == 429
    assert "3 times in a day" in client.post("/ui/mutes/add", mute).content.decode()
    assert versions(ada) == [1, 2, 3]
    assert edit(ben, "his own", today) == 1
    assert edit(ada, "tomorrow", today + DAY + SECOND) == 4
