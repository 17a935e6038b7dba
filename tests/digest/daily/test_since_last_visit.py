"""A rated item keeps the score of its day. If settings changed since, the page shows both scores."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from digest.daily.item_words import settings_changes
from digest.feedback.services import feedback_set
from digest.models import Impression, Reader
from digest.summaries.services import extracts_make
from ranking.entities import WeightChange
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit, weights_learn
from tests.support.browser import fresh_item

LINES = st.fixed_dictionaries(
    {
        "topics": st.lists(st.sampled_from(["climate", "chips", "rail"]), unique=True),
        "boosts": st.dictionaries(st.sampled_from(["ev", "ai"]), st.sampled_from([-0.5, 0.5])),
        "source_weight": st.sampled_from([0.5, 1.0, 1.4]),
    }
)


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Signed in as Ada."""
    client.force_login(ada)
    return client


def rated(page: Client, reader: Reader):
    """Return an item of today's digest that its reader rated, before anything was set."""
    item = fresh_item(reader, title="Climate talks end")
    fresh_item(reader, title="Climate money is short")
    page.get("/")
    feedback_set(reader=reader, item_id=item.pk, useful=True, now=timezone.now())
    return item


def wish(reader: Reader, *topics: str) -> None:
    version = config_effective(reader_id=reader.pk).config.version
    edit = ConfigEdit(topics=list(topics))
    config_edit(reader_id=reader.pk, edit=edit, expected_version=version, now=timezone.now())


def article(page: Client, item) -> str:
    """Return the item's part of today's page."""
    body = page.get("/").content.decode()
    return re.search(rf'<article[^>]+id="item-{item.pk}".*?</article>', body, re.DOTALL)[0]


def test_the_paper_shows_the_sum_of_then_and_that_of_today(page: Client, ada: Reader):
    item = rated(page, ada)
    assert "now your topic" not in article(page, item)
    wish(ada, "climate")
    page_text = article(page, item)
    assert '<span class="chip since">now your topic: climate</span>' in page_text
    then, today = page_text.split("With today’s settings")
    assert "When you rated it" in then and "is one of yours" not in then
    assert "“climate” is one of yours" in today


def test_what_was_ranked_anew_has_one_sum(page: Client, ada: Reader):
    item = rated(page, ada)
    wish(ada, "climate")
    body = page.get("/").content.decode()
    assert body.count('class="sum"') == 3 and body.count("With today’s settings") == 1
    wish(ada)
    assert "since" not in re.findall(r'class="chip ?(\w*)"', article(page, item))


def test_the_item_shows_both_and_says_what_changed(page: Client, ada: Reader):
    item = rated(page, ada)
    assert page.get(f"/ui/item/{item.pk}").content.decode().count('class="sum"') == 1
    wish(ada, "climate")
    body = page.get(f"/ui/item/{item.pk}").content.decode()
    assert "since that digest: now your topic: climate." in body
    today, then = body.split("As stored in that digest")
    assert "“climate” is one of yours" in today and "“climate” is one of yours" not in then


def test_a_score_that_is_another_since_the_digest_is_told_beside_that_of_the_digest(
    page: Client, ada: Reader
):
    item = fresh_item(ada, title="Climate talks end")
    page.get("/")
    address, words = f"/ui/item/{item.pk}", "In that digest its score was 1.60; right now it is "
    assert "In that digest its score" not in page.get(address).content.decode()
    Impression.objects.filter(item=item).update(score=1.6)
    assert words in page.get(address).content.decode()


def test_what_thumbs_have_taught_is_not_laid_to_the_settings(page: Client, ada: Reader):
    item = rated(page, ada)
    learned = WeightChange("gazette.example", 1.0, 1.3, 0.9, 8.0, "liked_more_than_usual")
    weights_learn(changes={ada.pk: [learned]}, now=timezone.now())
    body = page.get(f"/ui/item/{item.pk}").content.decode()
    assert "What was learned from your ratings has changed since that digest: now more from Gazette." in body
    assert "Your settings have changed since that digest" not in body


def test_a_text_that_is_told_whole_is_told_once(page: Client, ada: Reader):
    short = "The harbour closes on Monday after the storm took the pier away."
    items = [fresh_item(ada, text=text) for text in (short, f"{short} " + "The town waits for news. " * 40)]
    assert extracts_make(now=timezone.now()) == 2
    whole, cut = (page.get(f"/ui/item/{item.pk}").content.decode() for item in items)
    assert "In short" not in whole and whole.count(short) == 1
    assert "In short" not in cut and cut.count("The town waits for news.") > 30


def test_the_name_a_topic_was_found_by_is_told(page: Client, ada: Reader):
    wish(ada, "AI", "climate")
    item = fresh_item(ada, title="What artificial intelligence costs the climate")
    page_text = article(page, item)
    assert "“AI” is one of yours, matched as “artificial intelligence”" in page_text
    assert "<td>“climate” is one of yours</td>" in page_text
    assert f"/ui/item/{item.pk}#why" in page.get("/ui/search?q=costs").content.decode()


def test_a_topic_that_left_is_told_as_well(page: Client, ada: Reader):
    wish(ada, "climate")
    item = rated(page, ada)
    wish(ada)
    assert "no longer your topic: climate" in article(page, item)


def test_a_past_day_is_told_by_its_own_sums_alone(page: Client, ada: Reader):
    item = rated(page, ada)
    wish(ada, "climate")
    page.get("/")
    digest = ada.digests.get()
    digest.date = digest.date.replace(year=digest.date.year - 1)
    digest.save()
    body = page.get(f"/ui/date/{digest.date}").content.decode()
    assert f'id="item-{item.pk}"' in body and "now your topic" not in body


def test_the_page_costs_the_same_however_many_were_rated(page: Client, ada: Reader):
    items = [fresh_item(ada, title=f"Climate talks {n}") for n in range(20)]
    page.get("/")
    for n, item in enumerate(items):
        if n % 10 == 0:
            feedback_set(reader=ada, item_id=item.pk, useful=True, now=timezone.now())
    wish(ada, "climate")
    page.get("/")
    with CaptureQueriesContext(connection) as few:
        page.get("/")
    for item in items:
        feedback_set(reader=ada, item_id=item.pk, useful=True, now=timezone.now())
    wish(ada, "climate", "talks")
    page.get("/")
    with CaptureQueriesContext(connection) as many:
        page.get("/")
    assert len(many) == len(few)


@given(then=LINES, now=LINES)
def test_nothing_is_said_where_nothing_changed_and_each_change_once(then: dict, now: dict):
    assert settings_changes(then, then, "Gazette") == ()
    chips = settings_changes(then, now, "Gazette")
    back = settings_changes(now, then, "Gazette")
    assert len(set(chips)) == len(chips) == len(back)
    assert {_turned(words) for words in chips} == set(back)
    assert bool(chips) == (_set(then) != _set(now))


def _turned(words: str) -> str:
    gone = words.startswith("no longer ")
    return f"now {words.removeprefix('no longer ')}" if gone else f"no longer {words.removeprefix('now ')}"


def _set(parts: dict) -> tuple:
    return set(parts["topics"]), parts["boosts"], parts["source_weight"]
