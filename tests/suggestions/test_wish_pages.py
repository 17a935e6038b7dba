"""Wishes on pages and by the API: shown, asked back, accepted one by one, with the words in Settings."""

import pytest
from django.test import Client

from digest.models import Reader
from ranking.selectors import config_effective, config_versions
from tests.support.browser import fresh_item

WISHES, ACCEPT, API = "/ui/wishes", "/ui/wishes/accept", "/api/suggestions/wishes"
WORDS = "Less crypto, more from Gazette"


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Ada's browser, signed in, with two sources."""
    client.force_login(ada)
    fresh_item(ada, hours=1, title="Crypto falls <b>again</b>")
    fresh_item(ada, hours=9, key="herald.example", title="Ferries of the north")
    return client


@pytest.mark.parametrize("place", ["/ui/suggestions", "/ui/config", WISHES])
def test_the_field_is_on_the_pages_of_suggestions_and_settings(page: Client, place: str):
    assert '<textarea id="wish-words" name="words"' in page.get(place).content.decode()


def test_drafts_are_shown_accepted_one_by_one_and_leave_their_words(page: Client, ada: Reader):
    shown = page.post(WISHES, {"words": WORDS})
    body = shown.content.decode()
    assert shown.status_code == 200 and config_versions(reader_id=ada.pk) == []
    assert "Less about “crypto”" in body and "Crypto falls &lt;b&gt;again" in body
    first, second = (card["draft"].signed for card in shown.context["cards"])
    after = page.post(ACCEPT, {"draft": first, "others": [second]})
    assert after.status_code == 200 and len(after.context["cards"]) == 1
    assert page.post(ACCEPT, {"draft": second}).headers["Location"] == "/ui/suggestions"
    config = config_effective(reader_id=ada.pk).config
    assert config.keyword_boosts == {"crypto": -0.5} and config.source_weights == {"gazette.example": 1.2}
    assert page.get("/ui/history/settings").content.decode().count(f"You asked: “{WORDS}”") == 2
    assert f"You asked: “{WORDS}”" in page.get("/ui/history/settings/1").content.decode()


def test_a_word_that_nothing_has_yet_holds_back_no_other_change(page: Client):
    shown = page.post(WISHES, {"words": "Less football until Friday, more from Gazette"})
    drafts = [card["draft"].change for card in shown.context["cards"]]
    assert [(one.field, one.target) for one in drafts] == [
        ("keyword_boosts", "football"), ("source_weights", "gazette.example"),
    ]  # fmt: skip
    assert "Only a mute ends by itself" in shown.content.decode() and not shown.context["answer"].question


def test_a_question_has_a_button_for_each_answer(page: Client, ada: Reader):
    shown = page.post(WISHES, {"words": "crypto"})
    choices = shown.context["answer"].question.choices
    assert "More or less of the word “crypto”?" in shown.content.decode()
    answered = page.post(WISHES, {"words": choices[1].words})
    assert [card["draft"].change.kind.direction for card in answered.context["cards"]] == ["less"]


def test_words_that_are_too_long_are_shown_again_with_the_reason(page: Client):
    shown = page.post(WISHES, {"words": "more crypto " * 50})
    assert shown.status_code == 422 and "At most 500 characters" in shown.content.decode()
    assert "more crypto more crypto" in shown.content.decode()


def test_a_draft_that_is_none_says_so_and_changes_nothing(page: Client, ada: Reader):
    after = page.post(ACCEPT, {"draft": "nonsense"}, follow=True)
    assert "too old, or none of yours" in after.content.decode() and not config_versions(reader_id=ada.pk)


def test_the_api_returns_drafts_and_accepts_one(page: Client, ada: Reader):
    made = page.post(API, {"words": WORDS}, content_type="application/json")
    answer = made.json()
    assert made.status_code == 200 and answer["question"] is None and answer["notes"] == []
    draft = answer["drafts"][1]
    assert {name: draft[name] for name in ("field", "direction", "target", "before", "after", "about")} == {
        "field": "source_weights",
        "direction": "more",
        "target": "gazette.example",
        "before": 1.0,
        "after": 1.2,
        "about": 1,
    }
    assert config_versions(reader_id=ada.pk) == []
    done = page.post(f"{API}/accept", {"draft": draft["draft"]}, content_type="application/json")
    assert done.json()["config_version"] == 1 and config_versions(reader_id=ada.pk)[0].note == WORDS
    again = page.post(f"{API}/accept", {"draft": draft["draft"]}, content_type="application/json")
    assert (again.status_code, again.json()["error"]) == (409, "config_changed")


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        (API, {"words": " "}, "words_missing"),
        (API, {"words": "a" * 501}, "words_too_long"),
        (API, {"words": 5}, "invalid_request"),
        (f"{API}/accept", {"draft": "nonsense"}, "draft_invalid"),
    ],
)
def test_the_api_refuses_with_stable_codes(page: Client, path: str, body: dict[str, object], code: str):
    refused = page.post(path, body, content_type="application/json")
    assert (refused.status_code, refused.json()["error"]) == (422, code)


def test_the_api_asks_back(page: Client):
    question = page.post(API, {"words": "crypto"}, content_type="application/json").json()["question"]
    assert question["text"] and len(question["choices"]) == 3


def test_what_is_understood_stays_beside_the_question_and_after_its_answer(page: Client):
    shown = page.post(WISHES, {"words": "Newest first, and more Ferries from Gazette, and a unicorn of wax"})
    body = shown.content.decode()
    assert "Understood" in body and [card["draft"].change.field for card in shown.context["cards"]] == [
        "recency_half_life_hours"
    ]
    choice = shown.context["answer"].question.choices[0]
    kept = [card["draft"].signed for card in shown.context["cards"]]
    answered = page.post(WISHES, {"words": choice.words, "others": kept})
    assert next(card["draft"].change.field for card in answered.context["cards"]) == "recency_half_life_hours"
    assert len(answered.context["cards"]) == 2


def test_a_mute_is_taken_back_in_words(page: Client, ada: Reader):
    [hidden] = page.post(WISHES, {"words": "kein Crypto bis Freitag"}).context["cards"]
    page.post(ACCEPT, {"draft": hidden["draft"].signed})
    assert [mute.value for mute in config_effective(reader_id=ada.pk).config.mutes] == ["crypto"]
    [shown] = page.post(WISHES, {"words": "Crypto wieder anzeigen"}).context["cards"]
    page.post(ACCEPT, {"draft": shown["draft"].signed})
    assert config_effective(reader_id=ada.pk).config.mutes == ()
    again = page.post(WISHES, {"words": "unmute crypto"})
    assert "“crypto” is not muted." in again.content.decode()
