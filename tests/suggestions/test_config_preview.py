"""Manual settings are previewed like a suggestion: today before and after, and nothing is written."""

import pytest
from django.test import Client

from digest.models import Reader
from ranking.selectors import config_effective, config_versions
from tests.support.browser import fresh_item, subscribe

PREVIEW, WEIGHTS = "/ui/config/preview", "/ui/sources/preview"
FORM = {
    "version": "0",
    "topics": "",
    "keyword_boosts": "",
    "recency_half_life_hours": "24",
    "ai_score_alpha": "0.1",
}


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Ada's browser, signed in; her digest has two sources, the older item in the second."""
    client.force_login(ada)
    fresh_item(ada, hours=1, title="Harbour news")
    fresh_item(ada, hours=9, key="herald.example", title="Ferries of the north")
    return client


def test_a_setting_is_previewed_and_nothing_saved(page: Client, ada: Reader):
    shown = page.post(PREVIEW, FORM | {"topics": "ferries"})
    body = shown.content.decode()
    assert shown.status_code == 200 and config_versions(reader_id=ada.pk) == []
    assert "“ferries” joined your interests" in body
    assert "2 would change places" in body and body.count("<line ") == 2
    first = shown.context["pairs"][0]
    assert (first.before.item.title, first.after.item.title) == ("Harbour news", "Ferries of the north")
    assert '<input type="hidden" name="topics" value="ferries">' in body and "csrfmiddlewaretoken" in body
    typed = dict(shown.context["typed"])
    assert page.post("/ui/config", typed).status_code == 302
    assert config_effective(reader_id=ada.pk).config.topics == ("ferries",)


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_preview_of_settings_leads_back_to_what_was_typed_in_every_language(
    page: Client, ada: Reader, language: str
):
    body = page.post(PREVIEW, FORM | {"topics": "ferries"}, headers={"accept-language": language})
    assert 'name="again"' in body.content.decode()


def test_one_goes_back_from_a_preview_with_what_was_typed(page: Client, ada: Reader):
    shown = page.post("/ui/config", FORM | {"topics": "ferries", "again": "1"})
    assert shown.status_code == 200 and 'name="topic:ferries"' in shown.content.decode()
    assert config_versions(reader_id=ada.pk) == []


@pytest.mark.parametrize("wrong", [{"keyword_boosts": "gossip"}, {"pin:nowhere.example": "loved"}])
def test_what_cannot_be_saved_is_refused_by_its_preview_and_kept(page: Client, wrong: dict[str, str]):
    shown = page.post(PREVIEW, FORM | {"topics": "ferries"} | wrong)
    assert shown.status_code == 422
    assert "Nothing was saved yet." in shown.content.decode()
    assert 'name="topic:ferries"' in shown.content.decode()


def test_a_topic_that_is_too_long_is_refused_by_its_preview(page: Client):
    shown = page.post(PREVIEW, FORM | {"topics": "t" * 65})
    assert shown.status_code == 422 and "A topic may have 64 characters" in shown.content.decode()


def test_a_weight_is_previewed_for_the_chosen_sources_and_then_saved(page: Client, ada: Reader):
    feed = subscribe(ada, "third.example").feed_id
    gazette = ada.subscriptions.get(feed__source_id="gazette.example").feed_id
    shown = page.post(WEIGHTS, {"feeds": f"{gazette},{feed}", "level": "less"})
    assert "as usual → less than usual" in shown.content.decode()
    assert shown.context["pairs"][0].after.item.title == "Ferries of the north"
    assert config_versions(reader_id=ada.pk) == []
    assert page.post("/ui/sources/change", dict(shown.context["typed"])).status_code == 302
    weights = config_effective(reader_id=ada.pk).weights()
    assert weights == {"gazette.example": 0.5, "third.example": 0.5}


def test_a_weight_that_cannot_be_set_leads_to_its_source_and_says_why(page: Client, ada: Reader):
    feed = subscribe(ada, "third.example").feed_id
    shown = page.post(WEIGHTS, {"feed": feed, "level": "7"}, follow=True)
    assert "number between 0.1 and 2.0; you gave 7" in shown.content.decode()


def test_others_sources_are_in_no_preview(page: Client, ben: Reader):
    theirs = subscribe(ben, "bens.example", "Bens Secret").feed_id
    shown = page.post(WEIGHTS, {"feed": theirs, "level": "less"}, follow=True)
    assert "Nothing was chosen" in shown.content.decode() and "Bens Secret" not in shown.content.decode()


@pytest.mark.parametrize("number", [3, 60])
def test_a_preview_costs_the_same_for_few_and_many_sources(
    page: Client, ada: Reader, number: int, django_assert_max_num_queries
):
    for n in range(number):
        fresh_item(ada, hours=2, key=f"s{n}.example")
    with django_assert_max_num_queries(30):  # three for the items of new topics
        page.post(PREVIEW, FORM | {"topics": "ferries"})
