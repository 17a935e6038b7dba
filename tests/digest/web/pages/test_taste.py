"""Your taste: bars by source, topic, category and author, recent changes, and sparklines of weeks."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from digest.feedback.naming import article_name
from digest.feedback.portrait import SPARK_HEIGHT, shown_counts, spark_bars
from digest.models import Reader
from ranking.config_body import ConfigEdit
from ranking.language import times
from ranking.services import config_edit
from ranking.taste.entities import AUTHOR, CATEGORY, SOURCE, TOPIC
from tests.support.browser import fresh_item
from tests.support.factories import FeedbackFactory

TASTE = "/ui/taste"


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    client.force_login(ada)
    return client


def rated(reader: Reader, count: int, likes: int, **fields: object) -> None:
    for n in range(count):
        item = fresh_item(reader, hours=n + 1, title=f"Ferry no. {n}", **fields)
        FeedbackFactory(reader=reader, item=item, useful=n < likes, at=timezone.now() - timedelta(hours=n))


def edit(reader: Reader, **fields: object) -> None:
    config_edit(reader_id=reader.pk, edit=ConfigEdit(**fields), expected_version=0, now=timezone.now())


def test_a_new_reader_sees_no_empty_frames(page: Client):
    body = page.get(TASTE).content.decode()
    assert "Rate a few headlines" in body and "<table" not in body and "<svg" not in body


def test_each_kind_says_what_was_liked_and_what_that_does(page: Client, ada: Reader):
    rated(ada, 8, 8, categories=["Boats"], author="Mina Sole")
    rated(ada, 4, 0, author="Ned Rook")
    rated(ada, 6, 0, key="herald.example", categories=["Boats"])
    edit(ada, topics=["ferry"], taste="on", source_weights={"herald.example": 0.5})
    rows = page.get(TASTE).context["portrait"].rows
    by_source = {row.key: row for row in rows[SOURCE]}
    gazette, herald = by_source["gazette.example"], by_source["herald.example"]
    assert (gazette.likes, gazette.thumbs, herald.likes, herald.thumbs) == (8, 12, 0, 6)
    assert gazette.factor > 1, "the thumbs"
    assert herald.factor < 0.5, "its own weight, and the thumbs, which say less, too"
    assert rows[TOPIC][0].label == "ferry" and rows[CATEGORY][0].label == "Boats"
    mina, ned = rows[AUTHOR]
    assert (mina.label, ned.label) == ("Mina Sole", "Ned Rook") and mina.factor > 1 > ned.factor
    assert mina.words == f"your ratings: {times(f'{mina.factor:.2f}')}"
    edit_again = ConfigEdit(source_weights={"herald.example": 1.2})
    config_edit(reader_id=ada.pk, edit=edit_again, expected_version=1, now=timezone.now())
    raised = {row.key: row for row in page.get(TASTE).context["portrait"].rows[SOURCE]}["herald.example"]
    assert raised.factor == 1.2, "for two weeks no thumbs count against a decision"
    assert gazette.effect[0] == 50 and herald.effect[0] < 50
    body = page.get(TASTE).content.decode()
    assert "8 of 8" in body and "8 of 12" in body
    assert ">more than usual</span>" in body, "her setting alone: no thumbs count against it yet"
    assert body.count('class="spark"') == 2


def test_an_effect_names_the_readers_setting_and_their_thumbs_apart(
    page: Client, ada: Reader, monkeypatch: pytest.MonkeyPatch
):
    """A source that the reader left as usual is never called more than usual here, as Suggestions has it."""
    noon = timezone.now().replace(hour=12)  # all ratings are of one day
    monkeypatch.setattr(timezone, "now", lambda: noon)
    rated(ada, 12, 12, key="herald.example", categories=["Boats"], author="Mina Sole")
    rated(ada, 12, 0)
    edit(ada, topics=["ferry"], taste="strong")
    rows = page.get(TASTE).context["portrait"].rows
    herald = {row.key: row for row in rows[SOURCE]}["herald.example"]
    assert herald.thumbs_factor == herald.factor > 1.1
    assert herald.words == f"your setting: as usual; your ratings: {times(f'{herald.factor:.2f}')}"
    assert rows[TOPIC][0].words == "your topic", "half of its articles were liked"
    assert rows[AUTHOR][0].words == "no effect", "what is liked is the source"
    body = page.get(TASTE).content.decode()
    assert "than usual" not in body, "she set nothing"
    german = page.get(TASTE, headers={"accept-language": "de"}).content.decode()
    assert f"deine Einstellung: wie üblich; deine Bewertungen: {times('')}" in german


def test_an_article_that_one_wants_more_like_is_told_beside_the_ratings(page: Client, ada: Reader):
    rated(ada, 1, 0)
    rated(ada, 8, 0, key="herald.example")
    for n in range(2):
        wanted = fresh_item(ada, title=f"Sourdough no. {n}")
        article_name(reader=ada, item_id=wanted.pk, now=timezone.now())
    edit(ada, taste="on")
    row = {row.key: row for row in page.get(TASTE).context["portrait"].rows[SOURCE]}["gazette.example"]
    assert (row.likes, row.thumbs, row.named) == (0, 1, 2) and row.factor > 1.01
    assert row.words.endswith(f"{times(f'{row.factor:.2f}')}, with 2 articles you wanted more like")


def test_a_source_that_is_never_liked_leads_to_its_mute_and_a_muted_one_says_so(page: Client, ada: Reader):
    rated(ada, 10, 1, key="herald.example")
    rated(ada, 10, 2)
    body = page.get(TASTE).content.decode()
    herald, gazette = ("kind=source&amp;value=herald.example", "kind=source&amp;value=gazette.example")
    assert herald in body and gazette not in body
    preview = page.get("/ui/mutes?kind=source&value=herald.example&until=").content.decode()
    assert "Ferry no. 1" in preview
    page.post("/ui/mutes/add", {"kind": "source", "value": "herald.example", "until": ""})
    row = next(row for row in page.get(TASTE).context["portrait"].rows[SOURCE] if row.key == "herald.example")
    assert row.words == "muted" and not row.is_disliked


def test_thumbs_that_do_not_count_have_no_effect(page: Client, ada: Reader):
    rated(ada, 8, 8, author="Mina Sole")
    rows = page.get(TASTE).context["portrait"].rows
    assert {row.factor for kind in rows for row in rows[kind]} == {1.0}
    assert "let them order the page" in page.get(TASTE).content.decode()


def test_what_moved_this_month_says_why_and_leads_to_its_version(page: Client, ada: Reader):
    edit(ada, topics=["ferry"])
    body = page.get(TASTE).content.decode()
    moved = body.split('id="moved"')[1].split("</section>")[0]
    assert "“ferry” joined your interests" in moved and "You changed it here" in moved
    assert 'href="/ui/history/settings/1"' in moved


def test_nobody_sees_anothers_taste(page: Client, ben: Reader):
    rated(ben, 8, 8, key="bens.example", author="Bens Author")
    edit(ben, topics=["bens-topic"])
    body = page.get(TASTE).content.decode()
    assert not any(name in body for name in ("Bens", "bens-topic"))


def test_what_was_seen_is_counted_by_every_kind():
    items = [("a", "A ferry", ["Boats", "boats"], "Mina Sole"), ("a", "A lamp", [], "")]
    found = shown_counts(items, ["ferry", "boats"])
    assert found[(SOURCE, "a")] == 2 and found[(CATEGORY, "boat")] == found[(TOPIC, "ferry")] == 1
    assert found[(TOPIC, "boats")] == 1, "by its category"


def test_a_sparkline_has_likes_below_the_others():
    up, down = spark_bars([(0, 0), (1, 2)])
    assert (up.series, down.series) == (0, 1) and up.height == down.height == SPARK_HEIGHT / 2
    assert down.y == 0 and up.y == SPARK_HEIGHT / 2


@pytest.mark.parametrize("sources", [2, 20])
def test_the_page_costs_the_same_for_few_and_many_sources(
    page: Client, ada: Reader, sources: int, django_assert_max_num_queries
):
    for n in range(sources):
        rated(ada, 2, 1, key=f"s{n}.example")
    with django_assert_max_num_queries(24):
        page.get(TASTE)
