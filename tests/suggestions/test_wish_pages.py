"""Wishes on pages and by the API: shown, asked back, accepted one by one, with the words in Settings."""

import pytest
from django.test import Client

from digest.models import Reader, Subscription
from digest.searches.selectors import searches_saved
from ranking.selectors import config_effective, config_versions
from suggestions.services import wishes as services
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


def test_a_link_with_words_shows_their_change_at_once_and_stores_nothing(page: Client, ada: Reader):
    shown = page.get(WISHES, {"words": "less crypto"})
    assert [card["draft"].change.target for card in shown.context["cards"]] == ["crypto"]
    assert ">less crypto</textarea>" in shown.content.decode() and config_versions(reader_id=ada.pk) == []
    page.post(ACCEPT, {"draft": shown.context["cards"][0]["draft"].signed})
    assert config_effective(reader_id=ada.pk).config.keyword_boosts == {"crypto": -0.5}


def test_a_word_that_no_article_says_is_told_as_just_that(page: Client):
    for words in ("more about sailing", "less about sailing", "no sailing"):
        body = page.get(WISHES, {"words": words}).content.decode()
        assert "None of your articles of the last 7 days says “sailing”." in body, words
        assert "Add a source" not in body and "about it" not in body, words


def test_of_a_source_it_is_told_that_none_of_its_articles_is_new(page: Client, ada: Reader):
    fresh_item(ada, hours=200, key="tides.example", title="The sea")
    body = page.get(WISHES, {"words": "less from tides.example"}).content.decode()
    assert "It concerns none of your articles of the last 7 days." in body and "says “" not in body


def test_a_word_that_no_article_says_leads_to_sources_with_it_in_their_name(page: Client):
    body = page.get(WISHES, {"words": "more about WIRED"}).content.decode()
    assert "These sources have it in their name:" in body and ">Add WIRED</button>" in body
    for words in ("less about WIRED", "more about wire", "more about sailing"):
        assert "in their name" not in page.get(WISHES, {"words": words}).content.decode(), words


def test_what_is_beyond_three_changes_stays_in_the_field_until_it_is_asked_for(page: Client, ada: Reader):
    shown = page.post(WISHES, {"words": "less crypto, ferries, football, chess and sailing"})
    body = shown.content.decode()
    assert "At most 3 changes at a time." in body and "“chess”, “sailing”" in body
    assert len(shown.context["cards"]) == 3 and ">less chess and sailing</textarea>" in body
    while cards := shown.context["cards"]:
        given, *others = (card["draft"].signed for card in cards)
        answer = page.post(ACCEPT, {"draft": given, "others": others, "left": shown.context["left"]})
        shown = page.get(answer.url) if answer.status_code == 302 else answer
        if "left" not in shown.context or not shown.context["left"]:
            break
    assert [card["draft"].label for card in shown.context["cards"]] == ["chess", "sailing"]
    assert {*config_effective(reader_id=ada.pk).config.keyword_boosts} == {"crypto", "ferries", "football"}


def test_what_is_beyond_three_changes_stays_while_a_question_is_answered(page: Client, ada: Reader):
    fresh_item(ada, title="Tides rise")
    shown = page.post(
        WISHES, {"words": "less crypto, less ferries, less north, less tides. Herald! More from Gazette"}
    )
    choice, kept = shown.context["answer"].question.choices[0], shown.context["signed"]
    assert f'name="left" value="{shown.context["left"]}"' in shown.content.decode()
    typed = {"words": choice.words, "others": kept, "left": shown.context["left"]}
    answered = page.post(WISHES, typed)
    assert len(answered.context["cards"]) == 4 and answered.context["left"] == "less tides; More from Gazette"
    first, *others = answered.context["signed"]
    after = page.post(ACCEPT, {"draft": first, "others": others, "left": answered.context["left"]})
    assert len(after.context["cards"]) == 3 and "tides" in after.context["words"]


def test_searches_and_the_api_keep_what_is_beyond_three_too(page: Client):
    words = "; ".join(f"save a search for {name}" for name in ("crypto", "ferries", "tides", "harbour"))
    given = page.post(API, {"words": words}, content_type="application/json").json()
    assert len(given["searches"]) == 3 and given["left"] == "save a search for harbour"
    assert "“harbour”" in given["notes"][0]


def test_a_change_that_was_made_is_said_without_a_number_and_with_the_way_back(page: Client):
    shown = page.get(WISHES, {"words": "less crypto"})
    [card] = shown.context["cards"]
    body = page.post(ACCEPT, {"draft": card["draft"].signed}, follow=True).content.decode()
    assert "Saved: " in body and "as version" not in body
    assert '<a href="/ui/history/settings#history">History</a>' in body


@pytest.mark.usefixtures("one_minute")
def test_links_count_towards_the_limit_of_a_minute_and_a_bare_form_does_not(page: Client):
    assert page.get(WISHES, {"words": "a" * 501}).status_code == 422
    answers = [page.get(WISHES, {"words": "less crypto"}).status_code for _ in range(10)]
    assert answers == [200] * 9 + [429] and page.get(WISHES).status_code == 200


def test_a_link_asks_no_model(page: Client, monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []
    monkeypatch.setattr(services, "wishes_by_model", lambda **given: asked.append(given["words"]))
    page.get(WISHES, {"words": "colourless green ideas"})
    assert asked == []
    page.post(WISHES, {"words": "colourless green ideas"})
    assert asked == ["colourless green ideas"]


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


@pytest.mark.usefixtures("one_minute")
def test_words_beyond_the_limit_of_a_minute_stay_in_their_field(page: Client):
    answers = [page.post(WISHES, {"words": WORDS}) for _ in range(11)]
    last = answers[-1]
    assert [one.status_code for one in answers] == [200] * 10 + [429] and int(last.headers["Retry-After"]) > 0
    assert (
        f">{WORDS}</textarea>" in last.content.decode()
        and "in your own words 10 times a minute" in last.content.decode()
    )


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


def test_the_api_drafts_rules_of_a_source_and_says_which_are_a_switch(page: Client, ada: Reader):
    words = "nothing older than two days from Gazette, never miss Herald, keep Herald out of Today"
    answer = page.post(API, {"words": words}, content_type="application/json").json()
    first, second = answer["drafts"]
    assert "2 days" in first["sentence"] and answer["question"] is None and "switch off" in answer["notes"][0]
    for draft in (first, second):
        done = page.post(f"{API}/accept", {"draft": draft["draft"]}, content_type="application/json")
        assert done.json()["success"]
    config = config_effective(reader_id=ada.pk).config
    assert config.shelf_lives == {"gazette.example": 48} and config.never_missed == ("herald.example",)
    assert not config.mutes


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


@pytest.mark.parametrize(
    ("words", "also"),
    [
        ("more Ferries from Gazette and less chess from Herald", "less chess from Herald"),
        ("less Ferries from Gazette and chess from Herald", "less chess from Herald"),
        ("mehr Fähren aus Gazette und weniger Schach aus Herald", "weniger Schach aus Herald"),
    ],
)
def test_what_is_not_asked_yet_stands_beside_the_question_and_can_be_asked_first(page: Client, words, also):
    shown = page.post(WISHES, {"words": words})
    first = shown.context["answer"].question
    assert first and f">also: {also}</button>" in shown.content.decode()
    ((_part, said),) = shown.context["also"]
    turned = page.post(WISHES, {"words": said}).context["answer"].question
    assert turned.part == also and len(turned.others) == 1, "the other waits now"
    answered = page.post(WISHES, {"words": turned.choices[0].words}).context
    then = page.post(
        WISHES, {"words": answered["answer"].question.choices[0].words, "others": answered["signed"]}
    )
    assert then.context["answer"].question is None and len(then.context["cards"]) == 2, (
        "both parts were answered"
    )


def test_a_mute_is_taken_back_in_words(page: Client, ada: Reader):
    [hidden] = page.post(WISHES, {"words": "kein Crypto bis Freitag"}).context["cards"]
    page.post(ACCEPT, {"draft": hidden["draft"].signed})
    assert [mute.value for mute in config_effective(reader_id=ada.pk).config.mutes] == ["Crypto"]
    [shown] = page.post(WISHES, {"words": "Crypto wieder anzeigen"}).context["cards"]
    page.post(ACCEPT, {"draft": shown["draft"].signed})
    assert config_effective(reader_id=ada.pk).config.mutes == ()
    again = page.post(WISHES, {"words": "unmute crypto"})
    assert "“crypto” is not muted." in again.content.decode()


def test_a_mute_of_one_source_is_drafted_and_made_and_ends_in_words(page: Client, ada: Reader):
    fresh_item(ada, hours=2, key="herald.example", title="Crypto in the north")
    shown = page.post(WISHES, {"words": "mute crypto in Gazette"})
    (card,) = shown.context["cards"]
    assert "Muted for ever: the word “crypto” in Gazette" in shown.content.decode()
    assert [item.source for item, _title in card["items"]] == ["gazette.example"]
    page.post(ACCEPT, {"draft": card["draft"].signed})
    (mute,) = config_effective(reader_id=ada.pk).config.mutes
    assert (mute.value, mute.within) == ("crypto", "gazette.example")
    (card,) = page.post(WISHES, {"words": "unmute crypto"}).context["cards"]
    page.post(ACCEPT, {"draft": card["draft"].signed})
    assert config_effective(reader_id=ada.pk).config.mutes == ()


def test_a_draft_in_a_source_that_was_left_meanwhile_is_refused(page: Client, ada: Reader):
    (card,) = page.post(WISHES, {"words": "mute crypto in Gazette"}).context["cards"]
    Subscription.objects.filter(reader=ada, feed__source_id="gazette.example").delete()
    page.post(ACCEPT, {"draft": card["draft"].signed})
    assert config_effective(reader_id=ada.pk).config.mutes == ()


def test_a_search_is_saved_made_a_topic_and_removed_in_own_words(page: Client, ada: Reader):
    shown = page.post(WISHES, {"words": "Save a search for crypto in Gazette; less ferries"})
    assert "Save the search “crypto · Gazette” in the list" in shown.content.decode()
    assert "It finds 1 article" in shown.content.decode() and len(shown.context["cards"]) == 1
    (draft,) = shown.context["answer"].searches
    after = page.post(ACCEPT, {"draft": draft.signed, "others": shown.context["signed"]})
    assert (
        "Saved: the search “crypto · Gazette”." in after.content.decode() and len(after.context["cards"]) == 1
    )
    ((_pk, asked),) = searches_saved(reader_id=ada.pk)
    assert (asked.query, asked.filters) == ("crypto", {"source": "gazette.example"})
    (draft,) = page.post(WISHES, {"words": "make my search crypto a topic"}).context["answer"].searches
    page.post(ACCEPT, {"draft": draft.signed})
    assert config_effective(reader_id=ada.pk).config.topics == ("crypto",)
    (draft,) = page.post(WISHES, {"words": "remove the search crypto"}).context["answer"].searches
    page.post(ACCEPT, {"draft": draft.signed})
    assert searches_saved(reader_id=ada.pk) == []
    # A draft for a deleted target says so, and changes nothing.
    assert (
        "You have no such saved search."
        in page.post(ACCEPT, {"draft": draft.signed}, follow=True).content.decode()
    )


def test_a_search_that_is_not_there_is_named_and_what_may_be_no_search_is_read_as_before(page: Client):
    body = page.post(WISHES, {"words": "delete my saved search for tides"}).content.decode()
    assert "You have no saved search “tides”." in body
    answer = page.post(WISHES, {"words": "remove search engines"}).context["answer"]
    assert not answer.searches and (answer.question or answer.notes)


def test_a_search_without_a_word_to_look_for_is_refused(page: Client):
    body = page.post(WISHES, {"words": "save a search for -crypto"}).content.decode()
    assert "There is no word to search for." in body


def test_the_draft_of_a_search_is_its_readers_alone(page: Client, ben: Reader):
    (draft,) = page.post(WISHES, {"words": "save a search for crypto"}).context["answer"].searches
    page.force_login(ben)
    page.post(ACCEPT, {"draft": draft.signed})
    assert searches_saved(reader_id=ben.pk) == []


def test_searches_are_drafted_and_accepted_over_the_api(page: Client, ada: Reader):
    given = page.post(
        API, {"words": "speichere die Suche nach crypto"}, content_type="application/json"
    ).json()
    (draft,) = given["searches"]
    assert (draft["q"], draft["finds"], given["drafts"]) == ("crypto", 1, [])
    done = page.post(f"{API}/accept", {"draft": draft["draft"]}, content_type="application/json").json()
    assert done["success"] and done["config_version"] is None
    assert [asked.query for _pk, asked in searches_saved(reader_id=ada.pk)] == ["crypto"]


STORY = "My uncle talks of crypto all day, I can't bear it any more"


def test_the_likely_meaning_is_drafted_and_the_others_are_one_press_away(page: Client, ada: Reader):
    shown = page.post(WISHES, {"words": "drop crypto; more from Gazette"})
    body = shown.content.decode()
    sure, likely = sorted((card["draft"] for card in shown.context["cards"]), key=lambda one: one.is_likely)
    assert (sure.is_likely, likely.is_likely) == (False, True) and likely.change.target == "crypto"
    assert "Probably meant" in body and "Or did you mean something else by “drop crypto”?" in body
    question = shown.context["answer"].question
    assert [choice.label for choice in question.choices] == ["Less of the word “crypto”"]
    assert shown.context["kept"] == [sure.signed]
    again = page.post(WISHES, {"words": question.choices[-1].words, "others": shown.context["kept"]})
    drafts = [card["draft"] for card in again.context["cards"]]
    assert len(drafts) == 2 and not any(one.is_likely for one in drafts)
    assert likely.signed not in again.context["signed"] and "Probably meant" not in again.content.decode()
    assert config_versions(reader_id=ada.pk) == []


def test_the_api_says_which_draft_is_the_best_of_several_meanings(page: Client):
    found = page.post(API, {"words": STORY}, content_type="application/json").json()
    assert [draft["likely"] for draft in found["drafts"]] == [True]
    labels = [choice["label"] for choice in found["question"]["choices"]]
    assert "More of the word “crypto”" in labels and len(labels) == len(set(labels))
    plain = page.post(API, {"words": "less crypto"}, content_type="application/json").json()
    assert [draft["likely"] for draft in plain["drafts"]] == [False] and plain["question"] is None
