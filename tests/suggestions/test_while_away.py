"""Who comes back reads whether anything changed while they were away, and what waits for them."""

import re
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.html import strip_tags

from digest.models import Reader
from ranking.entities import WeightChange
from ranking.models import ConfigVersion
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit, weights_learn
from tests.support.browser import ago, fresh_item, suggested
from tests.support.suggestion_worlds import visit

pytestmark = pytest.mark.django_db
PAGE = "/ui/catch-up"


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Signed in as Ada, who was away for ten days."""
    fresh_item(ada, hours=30)
    visit(ada, ago(24 * 10))
    client.force_login(ada)
    return client


def told(page: Client) -> str:
    """Return the line about changes and suggestions."""
    body = page.get(PAGE).content.decode()
    found = re.search(r'<p class="small quiet sans">([^\n]*away[^\n]*)</p>', body)
    return strip_tags(found[1])


def topic_set(reader: Reader, topic: str, hours: float) -> None:
    version = config_effective(reader_id=reader.pk).config.version
    edit = ConfigEdit(topics=[topic])
    config_edit(reader_id=reader.pk, edit=edit, expected_version=version, now=timezone.now())
    ConfigVersion.objects.filter(version=version + 1).update(created_at=ago(hours))


def learned(reader: Reader, source: str, now: datetime) -> None:
    step = WeightChange(source, 1.0, 1.3, 0.9, 8.0, "liked_more_than_usual")
    weights_learn(changes={reader.pk: [step]}, now=now)


def test_nothing_that_changed_is_said(page: Client, ada: Reader):
    topic_set(ada, "rail", hours=24 * 11)
    learned(ada, "gazette.example", timezone.now() - timedelta(days=11))
    assert told(page) == "No setting changed by itself while you were away."


def test_what_was_learned_is_counted_and_leads_to_the_history(page: Client, ada: Reader):
    learned(ada, "gazette.example", timezone.now() - timedelta(days=6))
    assert told(page) == "1 change while you were away: History."
    learned(ada, "courier.example", timezone.now() - timedelta(days=3))
    assert told(page) == "2 changes while you were away: History."
    assert 'href="/ui/history">History</a>' in page.get(PAGE).content.decode()


def test_what_the_reader_decided_before_they_left_is_no_news_to_them(page: Client, ada: Reader):
    """A yes, its undo, a mute and a topic, minutes after their last page of Today."""
    page.post("/ui/mutes/add", {"kind": "word", "value": "tide"})
    accepted = suggested(ada, created_at=ago(24 * 11))
    page.post(f"/ui/suggestions/{accepted.pk}/accept")
    page.post(f"/ui/suggestions/{accepted.pk}/revert")
    topic_set(ada, "rail", hours=0)
    causes = ConfigVersion.objects.filter(reader=ada)
    assert {*causes.values_list("cause", flat=True)} == {"edit", "accept", "revert"}
    causes.update(created_at=ago(24 * 10) + timedelta(minutes=3))
    assert told(page) == "No setting changed by itself while you were away."
    Reader.objects.update(language="de")
    german = re.sub(r"\s+", " ", strip_tags(page.get(PAGE).content.decode()))
    assert "Während du weg warst, hat sich keine Einstellung von selbst geändert." in german


def test_what_is_learned_after_the_return_is_no_change_of_the_absence(page: Client, ada: Reader):
    page.get("/")
    learned(ada, "gazette.example", timezone.now() + timedelta(days=1))
    assert told(page) == "No setting changed by itself while you were away."


def test_what_waits_is_told_with_its_day(page: Client, ada: Reader):
    suggested(ada, created_at=ago(24 * 8))
    day = timezone.now().astimezone(ada.zone) + timedelta(days=14)
    assert told(page).endswith(f"away. One suggestion waits until {day.day} {day:%B}.")
    suggested(ada, created_at=ago(24 * 8), target_key="other.example")
    assert told(page).endswith(f"2 suggestions wait, the first until {day.day} {day:%B}.")
    Reader.objects.update(hide_counts=True)
    assert told(page).endswith(f"Suggestions wait, the first until {day.day} {day:%B}.")
    Reader.objects.update(suggestions_enabled=False)
    assert told(page) == "No setting changed by itself while you were away."


def test_the_line_costs_the_same_however_much_changed(page: Client, ada: Reader):
    costs = []
    for n in (1, 5):
        for k in range(n):
            suggested(ada, evidence=0, created_at=ago(24 * 8), target_key=f"s{n}-{k}.example")
            learned(ada, f"s{n}-{k}.example", timezone.now() - timedelta(days=n + k))
        with CaptureQueriesContext(connection) as caught:
            page.get(PAGE)
        costs.append(len(caught))
    assert costs[0] == costs[1]
