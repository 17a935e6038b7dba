"""The language of pages and mails: the reader's choice, else the browser's; programs speak English."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import translation
from django.utils.formats import date_format

from advisor.models import Run
from digest.daily.item_words import feed_health
from digest.days import day_of
from digest.models import Feed, Reader, SuggestedReasons
from ranking.config_words import weight_words
from ranking.language import figure, percent, stored_text
from ranking.selectors import config_effective
from ranking.setting_scale import weight_read
from suggestions.sentences import reason_sentence, reason_shown
from tests.support.browser import ago, fresh_item, suggested
from tests.support.factories import FeedbackFactory

pytestmark = pytest.mark.django_db
GERMAN = {"HTTP_ACCEPT_LANGUAGE": "de-CH,de;q=0.9,en;q=0.5"}


@pytest.fixture
def page(ada: Reader) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def language_of(response) -> str:
    """Return the language that a page says it is in."""
    return re.search(r'<html lang="([a-z]+)"', response.content.decode())[1]


def test_a_page_is_in_the_language_that_the_browser_asks_for(page: Client):
    assert "Quellen" in page.get("/ui/sources", **GERMAN).content.decode()
    assert language_of(page.get("/ui/sources", **GERMAN)) == "de"
    assert language_of(page.get("/ui/sources", HTTP_ACCEPT_LANGUAGE="fr")) == "en"


def test_a_visitors_page_may_not_be_stored_for_whoever_asks_in_another_language():
    answer = Client().get("/accounts/login/", **GERMAN)
    assert "Anmelden" in answer.content.decode() and "Accept-Language" in answer["Vary"]


def test_what_a_reader_chose_wins_over_the_browser(page: Client, ada: Reader):
    Reader.objects.update(language="en")
    assert language_of(page.get("/ui/sources", **GERMAN)) == "en"
    Reader.objects.update(language="de")
    assert language_of(page.get("/ui/sources")) == "de"


def test_a_language_is_chosen_on_the_account_page_and_stored(page: Client, ada: Reader):
    given = {"time_zone": "Europe/Berlin", "language": "de", "ai_enabled": "on"}
    assert page.post("/ui/account", given).status_code == 302
    ada.refresh_from_db()
    assert ada.language == "de" and language_of(page.get("/ui/account")) == "de"
    assert page.post("/ui/account", given | {"language": "xx"}).status_code == 422
    ada.refresh_from_db()
    assert ada.language == "de"


def test_a_language_that_is_no_longer_offered_falls_back(page: Client, ada: Reader):
    Reader.objects.update(language="xx")
    assert language_of(page.get("/ui/sources")) == "en"
    ada.refresh_from_db()
    assert ada.language_of_mails == "en"


def test_programs_are_answered_in_english(page: Client, ada: Reader):
    Reader.objects.update(language="de")
    answer = page.post("/api/items/999999/feedback", {"useful": True}, content_type="application/json")
    assert answer.json()["message"] == "There is no such item among yours. Reload the page and try again."


def test_no_value_of_an_input_and_no_figure_of_a_script_is_written_for_people(page: Client, ada: Reader):
    Reader.objects.update(language="de")
    suggested(ada)
    body = page.get("/ui/suggestions").content.decode()
    assert 'value="1.2" min="1.00" max="1.30" step="0.01"' in body
    assert (
        "Von wie üblich (1,00) bis mehr als üblich (1,30)" in body
        and "Dann: <strong>mehr als üblich</strong>" in body
    )


def test_reasons_speak_the_language_of_the_page(page: Client, ada: Reader):
    fresh_item(ada, hours=3, first_seen_at=ago(2))
    body = page.get("/", **GERMAN).content.decode()
    assert "vor 3 Stunden" in body and "3 Stunden alt" in body
    assert "3 hours ago" in page.get("/").content.decode()


def test_what_is_stored_is_english_and_shown_in_the_readers_words():
    with translation.override("de"):
        stored = reason_sentence("boost_source", "Gazette", 8, 10, 5, 20)
        shown = reason_shown(stored)
    assert stored == "You liked 8 of 10 articles from Gazette, against 5 of 20 elsewhere."
    assert shown == "Du mochtest 8 von 10 Artikeln aus Gazette, gegenüber 5 von 20 anderswo."
    assert reason_shown(stored) == stored


def test_what_is_missing_for_suggestions_is_in_one_language(page: Client):
    body = page.get("/ui/suggestions", **GERMAN).content.decode()
    assert "Noch nicht genug Bewertungen" in body and "Not enough" not in body and "more ratings" not in body


def test_a_suggested_reason_is_in_the_readers_words(page: Client, ada: Reader):
    item = fresh_item(ada, text="Short.")
    reasons = [{"tag": "shallow", "text": "only a few lines"}]
    stored = {"fingerprint": item.fingerprint, "model": "offline", "created_at": ago(1)}
    SuggestedReasons.objects.create(reasons=reasons, **stored)
    FeedbackFactory(reader=ada, item=item, useful=False)
    body = page.get(f"/ui/item/{item.pk}", **GERMAN).content.decode()
    assert "Nur ein paar Zeilen" in body and "nly a few lines" not in body


def test_a_text_that_nobody_marked_stays_as_it_is():
    with translation.override("de"):
        assert stored_text("A model wrote this.", ["You liked {n}."]) == "A model wrote this."
        assert stored_text("", ["You liked {n}."]) == ""


def test_a_weight_may_be_typed_as_it_is_shown():
    with translation.override("de"):
        assert (weight_read("mehr"), weight_read("more"), weight_read("1,3")) == (1.5, 1.5, 1.3)
        assert (weight_words(1.3), figure(1.3)) == ("mehr als üblich", "1,30")


def test_a_run_that_a_german_page_waits_for_stores_english(page: Client, ada: Reader):
    page.post("/ui/suggestions/generate", **GERMAN)
    assert all("Noch nicht" not in str(value) for value in Run.objects.values_list())


def test_a_stored_problem_of_a_feed_is_put_into_the_readers_language(page: Client, ada: Reader):
    fresh_item(ada)
    Feed.objects.update(failures=2, error_message="The server answered with status 599.")
    body = page.get("/ui/sources", **GERMAN).content.decode()
    assert "Der Server hat mit Status 599 geantwortet." in body


@pytest.mark.parametrize(
    ("minutes", "when"), [(5, "in ein paar Minuten"), (49, "in etwa 49 Min."), (90, "in etwa 2 Std.")]
)
def test_a_sentence_about_a_feed_ends_once(now, minutes: int, when: str):
    with translation.override("de"):
        words = feed_health("active", "", 1, now, now, next_check=now + timedelta(minutes=minutes))
    assert words.endswith(f" Er wird {when} wieder gefragt.")


def test_the_notice_after_another_language_was_chosen_is_in_that_language(page: Client):
    given = {"time_zone": "Europe/Berlin", "ai_enabled": "on"}
    for language, said, other in (("de", "Gespeichert.", "Saved."), ("en", "Saved.", "Gespeichert.")):
        body = page.post("/ui/account", given | {"language": language}, follow=True).content.decode()
        assert said in body and other not in body
    body = page.post("/ui/account", given | {"language": ""}, follow=True, **GERMAN).content.decode()
    assert "Gespeichert." in body


@pytest.mark.parametrize(
    ("language", "less", "share"), [("en", "−0.50", "7%"), ("de", "−0,50", "7\N{NO-BREAK SPACE}%")]
)
def test_a_number_has_the_signs_of_its_language(language: str, less: str, share: str):
    with translation.override(language):
        assert (figure(-0.5), percent(0.07)) == (less, share)


def test_a_number_below_zero_may_be_typed_as_it_is_shown(page: Client, ada: Reader):
    page.get("/ui/config")
    given = {"topics": "", "recency_half_life_hours": "24", "ai_score_alpha": "0.2", "version": "0"}
    answer = page.post("/ui/config", given | {"keyword_boosts": "gossip: −0,7"}, follow=True, **GERMAN)
    assert config_effective(reader_id=ada.pk).config.keyword_boosts == {"gossip": -0.7}
    assert '<option value="−0,7" selected>−0,7' in answer.content.decode()


def test_weights_to_choose_between_have_the_decimal_sign_of_the_language(page: Client, ada: Reader):
    suggested(ada)
    assert "From as usual (1.00) to more than usual (1.30)" in page.get("/ui/suggestions").content.decode()
    assert (
        "Von wie üblich (1,00) bis mehr als üblich (1,30)"
        in page.get("/ui/suggestions", **GERMAN).content.decode()
    )


def test_days_that_have_digests_are_named_in_the_language(page: Client, ada: Reader):
    day = day_of(ago(0), ada.zone)
    today = date_format(day, "j F Y")
    assert today in page.get("/ui/date/2099-01-01").content.decode()
    with translation.override("de"):
        heute = date_format(day, "j. F Y")
    body = page.get("/ui/date/2099-01-01", **GERMAN).content.decode()
    assert heute in body and today not in body


@pytest.mark.parametrize("address", ["/accounts/signup/", "/ui/sources/private"])
def test_a_field_that_may_stay_empty_says_so_once_and_in_one_word(page: Client, address: str):
    client = Client() if "signup" in address else page
    for language, word in ((GERMAN, "optional"), ({}, "optional")):
        labels = re.findall(r"<label.*?</label>", client.get(address, **language).content.decode(), re.DOTALL)
        said = [label.count(word) for label in labels]
        assert 1 in said and max(said) == 1 and "freiwillig" not in "".join(labels)
        assert "Anmeldename" not in "".join(labels)
