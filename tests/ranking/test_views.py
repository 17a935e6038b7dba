"""The settings page saves typed values by form and page, and can go back."""

from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone

from digest.models import Reader
from ranking.config_body import body_default
from ranking.selectors import config_effective, config_versions
from ranking.services import ConfigEdit, config_edit, target_pin
from ranking.views import ConfigForm, form_values, values_merged
from tests.support.accepts import source_weight_set
from tests.support.browser import subscribe
from tests.support.factories import FeedbackFactory, ItemFactory, SourceFactory

PLAIN = {
    "version": "3",
    "topics": "",
    "keyword_boosts": "",
    "recency_half_life_hours": "24",
    "ai_score_alpha": "0.1",
}


def form(**typed: str) -> ConfigForm:
    checked = ConfigForm({**PLAIN, **typed})
    checked.is_valid()
    return checked


def test_only_touched_pins_are_taken():
    checked = form(**{"pin:a": "locked", "pin:b": ""})
    assert checked.is_valid()
    assert checked.cleaned_data["pins"] == {"a": "locked"}
    assert checked.typed_pins() == {"a": "locked"}
    assert checked.cleaned_data["version"] == 3


def test_a_pin_names_its_target_and_the_choices_where_it_is_none():
    checked = form(**{"pin:" + "x" * 50: "loved", "pin:" + "y" * 120: "open"})
    words = "can be one of: May be suggested, Leave as it is, Never suggest."
    assert checked.non_field_errors() == [f"“{'x' * 40}” {words}"]


@pytest.mark.parametrize(
    ("typed", "boosts"),
    [
        ("rust: 5\n\n  go :-5", {"rust": 5.0, "go": -5.0}),
        ("a: b: 1", {"a: b": 1.0}),
        ("rust: more\ngo: LESS", {"rust": 0.5, "go": -0.5}),
        ("Rust: 1\nRUST: 1", {"Rust": 1.0}),
    ],
)
def test_a_boost_is_a_word_and_a_number_a_line(typed, boosts):
    assert form(keyword_boosts=typed).cleaned_data["keyword_boosts"] == boosts


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (
            " rust ",
            "“rust” should read like “rust: more”, “rust: less” or “rust: 0.8”, "
            "the number with a point, from −5 to 5.",
        ),
        (": 1", "“: 1” should read like"),
        ("rust: 5.1", "“rust: 5.1” should read like"),
        ("rust: x", "should read like"),
        (" !!: 1 ", "“!!: 1” has no letter, number or sign"),
        ("rust: 1\nrust: 2", "“rust” is one word with two boosts, 1 and 2. Keep one of the lines."),
        ("car: 1\nCars: 2", "“car” and “Cars” are one word with two boosts, 1 and 2."),
    ],
)
def test_a_line_that_is_no_boost_is_named(typed, words):
    (error,) = form(keyword_boosts=typed).errors["keyword_boosts"]
    assert words in error


def test_topics_are_lines_that_say_something():
    assert form(topics=" rust \n\n electric  cars").cleaned_data["topics"] == ["rust", "electric cars"]
    (error,) = form(topics="rust\n ?! ").errors["topics"]
    assert error == "“?!” has no letter, number or sign that a text could have."


def test_the_numbers_have_bounds_and_the_version_is_one():
    ok = (
        form(recency_half_life_hours="1", ai_score_alpha="0"),
        form(recency_half_life_hours="2160", ai_score_alpha="1", version="0"),
    )
    assert all(checked.is_valid() for checked in ok)
    wrong = form(recency_half_life_hours="0.9", ai_score_alpha="1.1", version="-1")
    assert set(wrong.errors) == {"recency_half_life_hours", "ai_score_alpha", "version"}


def test_after_a_stale_save_stands_what_was_typed_where_it_was_typed_and_what_came_meanwhile_elsewhere():
    base = body_default() | {"topics": ["rust", "go"], "keyword_boosts": {"hype": -1.0}}
    current = base | {"topics": ["harbours"], "recency_half_life_hours": 48.0, "ai_score_alpha": 0.25}
    typed = form_values(base, 3) | {
        "version": "3",
        "topics": " rust\r\ngo\r\n ",
        "keyword_boosts": "hype: -2\r\nx: 1 ",
    }
    assert values_merged(typed, base, current, 5) == {
        "version": 5,
        "topics": "harbours",
        "keyword_boosts": "hype: -2\nx: 1",
        "recency_half_life_hours": "48",
        "recency_by_day": "day",
        "ai_score_alpha": "0.25",
        "taste": "off",
    }
    emptied = {name: said for name, said in typed.items() if name != "topics"}
    assert values_merged(emptied, base, current, 5)["topics"] == "", "a field emptied was meant so"


CONFIG, VERSIONS = "/ui/config", "/ui/history/settings"


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Return Ada's signed-in browser."""
    client.force_login(ada)
    return client


def typed(**changes: str) -> dict[str, str]:
    """Return the form that a new reader would send, with `changes`."""
    plain = {
        "version": "0",
        "topics": "",
        "keyword_boosts": "",
        "recency_half_life_hours": "24",
        "ai_score_alpha": "0.1",
    }
    return {**plain, **changes}


def edit(reader: Reader, version: int, **fields: object) -> int:
    return config_edit(
        reader_id=reader.pk, edit=ConfigEdit(**fields), expected_version=version, now=timezone.now()
    )


def test_everything_typed_is_saved_as_one_version(page: Client, ada: Reader):
    subscribe(ada)
    form = typed(topics="rust\r\n\r\n electric cars ", keyword_boosts="gossip: -0.8\r\na: b: 1")
    answer = page.post(CONFIG, {**form, "recency_half_life_hours": "36", "ai_score_alpha": "0.2"})
    assert answer.status_code == 302
    saved = config_effective(reader_id=ada.pk)
    assert saved.config.version == 1
    assert saved.config.topics == ("rust", "electric cars")
    assert saved.config.keyword_boosts == {"gossip": -0.8, "a: b": 1.0}
    assert saved.config.recency_half_life_hours == 36
    assert saved.config.ai_score_alpha == 0.2


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"keyword_boosts": "gossip"}, "should read like “rust: more”"),
        ({"keyword_boosts": "gossip: 9"}, "from −5 to 5"),
        ({"keyword_boosts": "gossip: nan"}, "should read like"),
        ({"recency_half_life_hours": "0"}, "greater than or equal to 1"),
        ({"ai_score_alpha": "x"}, "Enter a number"),
        ({"topics": "t" * 65}, "A topic may have 64 characters"),
        ({"topics": "…!?"}, "“…!?” has no letter, number or sign"),
        ({"topics": "\u200b\u202e"}, "has no letter, number or sign"),
        ({"keyword_boosts": "--: 1"}, "“--: 1” has no letter, number or sign"),
        ({"keyword_boosts": "\u200b: 1"}, "has no letter, number or sign"),
        ({"keyword_boosts": "sourdough: 0.5\nSourdoughs: -0.5"}, "one word with two boosts, 0.5 and −0.5"),
    ],
)
def test_what_cannot_be_saved_is_named_and_kept(page: Client, ada: Reader, wrong: dict[str, str], words: str):
    subscribe(ada)
    answer = page.post(CONFIG, {**typed(topics="rust"), **wrong})
    body = answer.content.decode()
    assert answer.status_code == 422
    assert words in body
    assert 'name="topic:rust"' in body or "topics" in wrong
    assert config_versions(reader_id=ada.pk) == []


def test_a_number_between_the_levels_is_shown_exactly_and_stays(page: Client, ada: Reader):
    edit(ada, 0, recency_half_life_hours=31.0, ai_score_alpha=0.33)
    body = page.get(CONFIG).content.decode()
    assert '<option value="31" selected>exactly 31' in body
    assert '<option value="0.33" selected>exactly 0.33' in body
    assert page.get(CONFIG).context["freshness"][1].words.startswith("usual")


def test_one_word_in_two_spellings_with_one_boost_is_kept_once(page: Client, ada: Reader):
    page.post(CONFIG, typed(keyword_boosts="Sourdough: 0.5\nsourdough: 0.5\nrye: 1"))
    assert config_effective(reader_id=ada.pk).config.keyword_boosts == {"Sourdough": 0.5, "rye": 1.0}


def test_what_nobody_sees_is_no_part_of_a_setting(page: Client, ada: Reader):
    hidden = "\u202eru\u200bst\u202c"
    page.post(CONFIG, typed(topics=f"{hidden}\nC++\n🚲", keyword_boosts=f"{hidden}: 1"))
    saved = config_effective(reader_id=ada.pk).config
    assert saved.topics == ("rust", "C++", "🚲")
    assert saved.keyword_boosts == {"rust": 1.0}


def test_a_pinned_topic_goes_by_the_spelling_of_its_reader(page: Client, ada: Reader):
    edit(ada, 0, topics=["gravel bikes"])
    target_pin(reader_id=ada.pk, target="gravel bike", pin="locked", ref="", now=timezone.now())
    for address in (VERSIONS, "/ui/history/settings/2"):
        body = page.get(address).content.decode()
        assert "“gravel bikes” locked" in body and "“gravel bike” locked" not in body, address


def test_a_stale_save_changes_nothing_shows_the_difference_and_keeps_what_was_typed(
    page: Client, ada: Reader
):
    subscribe(ada)
    now = timezone.now()
    source_weight_set(reader_id=ada.pk, source="gazette.example", weight=1.3, ref="7", now=now)
    answer = page.post(CONFIG, typed(topics="rust"))
    body = answer.content.decode()
    assert answer.status_code == 409
    assert "Gazette: as usual → more than usual" in body
    assert 'name="topic:rust"' in body
    assert config_effective(reader_id=ada.pk).config.topics == ()


def test_saving_a_stale_form_again_adds_what_was_typed_to_what_came_meanwhile(page: Client, ada: Reader):
    subscribe(ada)
    edit(ada, 0, topics=["harbours"], recency_half_life_hours=48.0)
    form = page.post(CONFIG, typed(keyword_boosts="gossip: -1")).context["form"]
    again = {name: str(value) for name, value in form.initial.items()}
    page.post(CONFIG, again)
    saved = config_effective(reader_id=ada.pk).config
    assert saved.topics == ("harbours",)
    assert saved.recency_half_life_hours == 48
    assert saved.keyword_boosts == {"gossip": -1.0}


def test_every_version_says_what_it_changed_and_can_be_gone_back_to(page: Client, ada: Reader):
    edit(ada, 0, topics=["rust"])
    edit(ada, 1, topics=["rust", "trains"])
    body = page.get(VERSIONS).content.decode()
    assert "“trains” joined your interests" in body
    assert page.post("/ui/config/revert/1", {"version": "2"}).status_code == 302
    assert config_effective(reader_id=ada.pk).config.topics == ("rust",)
    assert "You went back to version 1" in page.get(VERSIONS).content.decode()
    page.post("/ui/config/revert/0", {"version": "3"})
    assert config_effective(reader_id=ada.pk).config.topics == ()


def test_going_back_from_a_stale_page_changes_nothing(page: Client, ada: Reader):
    edit(ada, 0, topics=["rust"])
    edit(ada, 1, topics=["trains"])
    page.post("/ui/config/revert/0", {"version": "1"})
    assert config_effective(reader_id=ada.pk).config.topics == ("trains",)


@pytest.mark.every_case
@pytest.mark.parametrize("version", ["9" * 5000, "-1", "x", ""])
def test_a_version_that_is_no_number_goes_back_as_without_one(page: Client, ada: Reader, version: str):
    edit(ada, 0, topics=["rust"])
    assert page.post("/ui/config/revert/0", {"version": version}).status_code == 302
    assert config_effective(reader_id=ada.pk).config.topics == ()


@pytest.mark.parametrize("field", ["topic:a\0b", "word:a\0b", "pin:a\0b"])
def test_a_source_whose_name_nothing_could_have_is_refused_and_saved_nowhere(page, ada, field):
    said = {"version": "0", "topics": "rust", "recency_half_life_hours": "24", "ai_score_alpha": "0.2"}
    answer = page.post(CONFIG, {**said, field: "more" if field[0] != "p" else "locked"})
    assert answer.status_code == 422 and config_effective(reader_id=ada.pk).config.topics == ()


def test_a_version_one_never_had_is_not_found(page: Client, ada: Reader, ben: Reader):
    edit(ben, 0, topics=["his"])
    assert page.post("/ui/config/revert/1", {"version": "0"}).status_code == 404


def test_each_source_and_topic_can_be_left_as_it_is_or_never_suggested_and_opened_again(
    page: Client, ada: Reader
):
    subscribe(ada)
    edit(ada, 0, topics=["Trains"])
    answer = page.post(
        CONFIG,
        typed(version="1", topics="Trains", **{"pin:gazette.example": "locked", "pin:train": "avoided"}),
    )
    assert answer.status_code == 302
    body = page.get(CONFIG).content.decode() + page.get(VERSIONS).content.decode()
    assert pins(ada) == (("gazette.example",), ("train",))
    assert "“Gazette” locked against suggestions" in body
    assert "“Trains” is never to be suggested" in body
    assert '<option value="" selected>Leave as it is</option>' in body
    assert '<option value="" selected>Never suggest</option>' in body
    page.post(CONFIG, typed(version="2", topics="Trains", **{"pin:train": "open", "pin:gazette.example": ""}))
    assert pins(ada) == (("gazette.example",), ())
    page.post("/ui/config/revert/2", {"version": "3"})
    assert pins(ada) == (("gazette.example",), ("train",))


def test_a_pinned_source_that_is_no_longer_read_goes_by_its_title(page: Client, ada: Reader):
    left = SourceFactory(key="left.example", title="The Left Column")
    FeedbackFactory(reader=ada, item=ItemFactory(source=left))
    target_pin(reader_id=ada.pk, target="left.example", pin="avoided", ref="", now=timezone.now())
    body = page.get(CONFIG).content.decode()
    sources = body.split("<legend>Sources</legend>")[1].split("</fieldset>")[0]
    assert "The Left Column</label>" in sources and 'name="pin:left.example"' in sources
    assert "<legend>Topics</legend>" not in body


def test_what_was_ruled_out_and_is_no_topic_can_be_opened_again(page: Client, ada: Reader):
    target_pin(reader_id=ada.pk, target="crypto", pin="avoided", ref="", now=timezone.now())
    assert 'name="pin:crypto"' in page.get(CONFIG).content.decode()
    page.post(CONFIG, typed(version="1", **{"pin:crypto": "open"}))
    assert pins(ada) == ((), ())


def test_a_pin_from_a_stale_page_is_not_stored_but_stays_chosen(page: Client, ada: Reader):
    subscribe(ada)
    edit(ada, 0, topics=["rust"])
    answer = page.post(CONFIG, typed(**{"pin:gazette.example": "locked"}))
    assert answer.status_code == 409
    assert '<option value="locked" selected>Leave as it is</option>' in answer.content.decode()
    assert pins(ada) == ((), ())


@pytest.mark.parametrize("wrong", [{"pin:gazette.example": "loved"}, {"pin:" + "x" * 121: "locked"}])
def test_a_pin_that_is_none_is_refused(page: Client, ada: Reader, wrong: dict[str, str]):
    answer = page.post(CONFIG, typed(**wrong))
    assert answer.status_code == 422
    assert "can be one of: May be suggested, Leave as it is, Never suggest." in answer.content.decode()
    assert config_versions(reader_id=ada.pk) == []


def test_a_reader_of_very_many_sources_can_still_save(page: Client, ada: Reader):
    many = {f"{kind}:s{n}.example": "" for n in range(1000) for kind in ("pin",)}
    assert page.post(CONFIG, typed(topics="rust", **many)).status_code == 302
    assert config_effective(reader_id=ada.pk).config.topics == ("rust",)


def pins(reader: Reader) -> tuple[tuple[str, ...], tuple[str, ...]]:
    config = config_effective(reader_id=reader.pk).config
    return config.locked, config.avoided


def test_nobody_sees_the_settings_of_somebody_else(page: Client, ada: Reader, ben: Reader):
    edit(ben, 0, topics=["bens-secret"], source_weights={"bens.example": 1.5})
    body = page.get(CONFIG).content.decode()
    assert "bens-secret" not in body
    assert "bens.example" not in body


def test_chips_say_less_usual_and_more_and_are_saved_at_once(page: Client, ada: Reader):
    edit(ada, 0, topics=["rust", "trains", "AI"], keyword_boosts={"hype": -0.5, "boats": 0.5, "gossip": -0.8})
    body = page.get(CONFIG).content.decode()
    assert body.count('class="pick"') == 6 and '<option value="-0.8" selected>' in body.replace("−", "-")
    chips = {"topic:rust": "more", "topic:trains": "usual", "topic:AI": "less"}
    chips |= {"word:hype": "usual", "word:boats": "less", "word:gossip": "-0.8"}
    new = {"topic_new": "chess, electric cars", "word_new": "spoilers, leaks", "word_level": "less"}
    sent = {
        name: value for name, value in typed(version="1").items() if name not in {"topics", "keyword_boosts"}
    }
    assert page.post(CONFIG, {**sent, **chips, **new}).status_code == 302
    saved = config_effective(reader_id=ada.pk).config
    assert saved.version == 2 and saved.topics == ("rust", "chess", "electric cars")
    lesser = {"AI": -0.5, "boats": -0.5, "spoilers": -0.5, "leaks": -0.5}
    assert saved.keyword_boosts == lesser | {"gossip": -0.8}
    assert saved.by_meaning == ("AI",), "a topic of which one wants less is still a topic"
    body = page.get(CONFIG).content.decode()
    assert body.partition('class="settings-form"')[2].count("by meaning, too") == 1


def test_a_refused_save_keeps_the_chips_as_they_were_chosen(page: Client, ada: Reader):
    edit(ada, 0, topics=["rust"], keyword_boosts={"hype": -0.5})
    sent = typed(version="1", ai_score_alpha="x") | {
        "topic:rust": "more",
        "word:hype": "more",
        "topic_new": "go",
    }
    body = page.post(CONFIG, sent).content.decode()
    assert 'name="topic:go"' in body and 'name="topic:rust"' in body
    assert (
        '<option value="more" selected>more</option>'
        in body.split('name="word:hype"')[1].split("</select>")[0]
    )


@pytest.mark.parametrize("address", [CONFIG, VERSIONS, f"{CONFIG}?show=topics"])
def test_settings_cost_the_same_however_many_sources_and_versions(
    page: Client, ada: Reader, address: str, django_assert_num_queries, django_assert_max_num_queries
):
    fill(ada.pk, ada, 3)
    with django_assert_max_num_queries(13) as few:
        page.get(address)
    fill(ada.pk, ada, 12)
    with django_assert_num_queries(len(few)):
        page.get(address)


def fill(reader_id: UUID, reader: Reader, count: int) -> None:
    for n in range(count):
        key = f"s{count}-{n}.example"
        subscribe(reader, key)
        source_weight_set(reader_id=reader_id, source=key, weight=1.2, ref="", now=timezone.now())


def test_a_change_is_one_request_only_a_form_of_this_site_can_make(ada: Reader):
    wary = Client(enforce_csrf_checks=True)
    wary.force_login(ada)
    assert wary.post(CONFIG, typed(topics="rust")).status_code == 403
    assert config_versions(reader_id=ada.pk) == []
