"""A digest in words."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from digest.daily.item_words import (
    age_short,
    age_words,
    feed_health,
    is_impersonal,
    item_age_words,
    lede_cut,
    score_explain,
)
from digest.daily.taste_words import CHIP_CHARS, chip_cut, taste_chip
from digest.feeds.identity import web_url
from ranking.entities import Candidate, Config, EffectiveConfig, ScoreBreakdown
from ranking.implicit import IMPLICIT_MAX
from ranking.language import times
from ranking.scoring import Signals, rank
from ranking.taste.entities import SOURCE, TasteReason

NOW = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)

PLAIN = ScoreBreakdown(1.0, 1.0, 0.0, 6.0, 1.0, (), {}, 0.0, 0.0, 1.0)
# The terms that raise a score: a strong value, the breakdown's line about it, and its chip. Reading gets no
# chip, since it moves a score too little even at its most.
TERMS = {
    "source_weight": (1.3, "Gazette", "more from Gazette"),
    "topics": (("Rust",), "Topic", "your topic: Rust"),
    "about": (("Rust",), "Topic", "about Rust, by meaning"),
    "boosts": ({"comet": 1.0}, "Keyword", "more of “comet”"),
    "similarity": (1.0, "Similarity", "like what you found useful"),
    "community": (1.0, "Readers here", "useful to readers here"),
    "reported_by": (4, "Agreement", "4 of your sources"),
    "reading": (IMPLICIT_MAX, "Reading", None),
    "taste": (1.4, "Your taste", "8 of its 9 liked"),
}
# What tells how large a term is, or is never above its neutral value. Freshness always has a line.
DETAILS = {
    *("config_weight", "learned_delta", "interest", "opened", "shown", "named", "tastes", "about_worths"),
    *("boosts_about", "age_hours", "age_days", "recency"),
}


def parts(effective=None, signals=None, hours=6.0, title="Plain news"):
    item = Candidate(1, "gazette.example", title, "", NOW - timedelta(hours=hours))
    score = rank([item], effective or EffectiveConfig(Config()), NOW, signals)[0]
    return score.parts.as_dict(), score.total


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(seconds=30), "just now"),
        (timedelta(minutes=20), "20 minutes ago"),
        (timedelta(hours=1), "1 hour ago"),
        (timedelta(hours=23, minutes=59), "23 hours ago"),
        (timedelta(hours=30), "yesterday"),
        (timedelta(days=3), "3 days ago"),
        (timedelta(hours=-2), "just now"),
    ],
)
def test_ages_are_said_in_the_largest_unit_that_says_something(ago, words):
    assert age_words(NOW - ago, NOW) == words


def test_a_plain_item_has_no_chip_since_its_time_stands_beside_it():
    why = score_explain(*parts(hours=20), "Gazette")
    assert why.chips == ()
    assert [line.label for line in why.lines] == ["Gazette", "Freshness"] and why.lines[0].words == "as usual"


def test_every_part_of_a_score_is_a_term_with_a_reason_or_a_detail_of_one():
    assert {*TERMS, *DETAILS} == {*ScoreBreakdown.__slots__}


@pytest.mark.parametrize("term", TERMS)
def test_every_term_that_raises_a_score_has_a_line_and_a_chip_unless_it_is_too_weak(term):
    value, label, chip = TERMS[term]
    reasons = (TasteReason(SOURCE, "gazette.example", 8, 9, 0.4),)
    raised = replace(PLAIN, **{term: value}, interest=2.0, tastes=reasons)
    plain, why = (score_explain(one.as_dict(), 1.0, "Gazette") for one in (PLAIN, raised))
    (line,) = [one for one in why.lines if one.label == label]
    assert line not in plain.lines and line.figure[:1] in "×+1"
    assert [*why.chips] == ([] if chip is None else [chip]) and not plain.chips


def test_freshness_says_which_day_counted():
    """`NOW` is noon: the morning of the day before was 29 hours ago."""
    lines = [score_explain(*parts(hours=hours), "Gazette").lines[1] for hours in (5, 30, 60)]
    assert [(line.words, line.figure) for line in lines] == [
        ("5 hours old, among the newest", times("1.00")),
        ("yesterday, 1 day behind the newest", times("0.50")),
        ("2 days old, 2 days behind the newest", times("0.25")),
    ]
    by_hour = EffectiveConfig(Config(recency_by_day=False))
    assert score_explain(*parts(by_hour, hours=5), "Gazette").lines[1].words == "5 hours old"


def test_what_is_too_old_to_rank_says_so_without_powers_of_ten():
    why = score_explain(*parts(hours=24 * 400), "Gazette")
    freshness = why.lines[1]
    assert (freshness.words, freshness.figure) == ("400 days old, too old to rank", times("almost 0"))
    assert why.total == "almost 0"


def test_the_readers_own_wishes_come_first_among_the_chips():
    config = Config(
        topics=("rust",), keyword_boosts={"gossip": -0.8}, source_weights={"gazette.example": 1.1}
    )
    why = score_explain(*parts(EffectiveConfig(config), title="Rust gossip", hours=20), "Gazette")
    assert why.chips == ("your topic: rust", "less of “gossip”", "a bit more from Gazette")


def test_learning_and_settings_are_told_apart():
    effective = EffectiveConfig(Config(source_weights={"gazette.example": 0.9}), {"gazette.example": 0.15})
    first = score_explain(*parts(effective), "Gazette").lines[0]
    assert first.words == "your setting: a bit less than usual; your ratings: +0.15"
    assert first.figure == "1.05"


def test_an_interest_at_the_floor_says_so():
    effective = EffectiveConfig(Config(keyword_boosts={"gossip": -5.0}))
    lines = score_explain(*parts(effective, title="Gossip"), "Gazette").lines
    assert lines[-1].label == "Floor"


@given(
    st.floats(0.1, 2.0),
    st.lists(st.sampled_from(["rust", "news"]), unique=True),
    st.floats(0, 1),
    st.floats(-0.15, 0.7),
    st.floats(0, 60),
)
def test_the_parts_shown_add_up_to_the_interest_shown(weight, topics, similarity, community, hours):
    effective = EffectiveConfig(Config(topics=tuple(topics), source_weights={"gazette.example": weight}))
    signals = Signals({1: similarity}, {1: community})
    lines = score_explain(*parts(effective, signals, hours, "Rust news"), "Gazette").lines
    added = sum(float(line.figure.replace("− ", "-").replace("+ ", "")) for line in lines if line.part)
    shown = [line for line in lines if line.label == "Interest"]
    interest = float(shown[0].figure.removeprefix(times(""))) if shown else 1.0
    assert abs(1 + added - interest) < 0.03


def test_a_lede_is_cut_at_a_word():
    lede = lede_cut("word " * 200)
    assert lede.endswith("word …")
    assert len(lede) < 330
    assert lede_cut("Short.\n\n And whole.") == "Short. And whole."
    assert lede_cut("今日は " + "雨" * 400) == "今日は " + "雨" * 316 + " …"
    assert len(lede_cut("See https://r.example/" + "x" * 400)) == 322


@pytest.mark.parametrize("url", ["urn:tidings:abc", "javascript:alert(1)", "data:text/html,x", ""])
def test_only_web_addresses_become_links(url):
    assert web_url(url) == ""


def test_a_web_address_is_a_link():
    assert web_url("https://gazette.example/1") == "https://gazette.example/1"


def test_a_failing_feed_says_how_often_and_why():
    words = feed_health("active", "The server answered 503.", 3, NOW - timedelta(hours=2), NOW)
    assert words == "Failed 3 times in a row; last tried 2 hours ago. The server answered 503."
    assert feed_health("active", "", 0, None, NOW) == "Not fetched yet."


@pytest.mark.parametrize(
    ("minutes", "words"), [(5, "within minutes"), (60, "in about 1 h"), (170, "in about 3 h")]
)
def test_a_failing_feed_says_when_it_is_tried_again(minutes, words):
    sentence = feed_health("active", "", 1, NOW, NOW, next_check=NOW + timedelta(minutes=minutes))
    assert sentence == f"Failed once; last tried just now. It is tried again {words}."


@pytest.mark.parametrize(
    ("state", "fetched", "words"),
    [
        ("imported", None, "Imported from files."),
        ("imported", NOW - timedelta(hours=2), "Imported from files; last read 2 hours ago."),
        ("gone", None, "The publisher took this feed down for good."),
        ("paused", NOW, "Paused."),
    ],
)
def test_a_feed_that_is_not_polled_says_why(state, fetched, words):
    assert feed_health(state, "", 0, fetched, NOW) == words


def test_a_score_is_impersonal_until_its_reader_sets_or_rates_something():
    plain = parts(hours=3)[0]
    assert is_impersonal(plain) and is_impersonal(plain | {"reported_by": 3, "community": 0.5})
    own = [
        {"topics": {"climate": 1.0}},
        {"about": ["climate"]},
        {"boosts": {"ev": -0.5}},
        {"source_weight": 1.1},
        {"similarity": 0.1},
        {"taste": 0.9},
        {"reading": 0.1},
    ]
    assert not any(is_impersonal(plain | one) for one in own)


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(seconds=30), "now"),
        (timedelta(minutes=6), "6 min"),
        (timedelta(hours=3), "3 h"),
        (timedelta(hours=30), "1 d"),
    ],
)
def test_where_a_row_has_little_room_an_age_has_seven_characters_at_most(ago: timedelta, words: str):
    assert age_short(NOW - ago, NOW) == words and len(words) <= 7


def test_an_item_has_an_age_for_a_week_and_then_its_date_where_the_reader_is():
    berlin = ZoneInfo("Europe/Berlin")
    assert item_age_words(NOW - timedelta(days=6, hours=23), NOW, berlin) == "6 days ago"
    assert item_age_words(NOW - timedelta(days=2966), NOW, berlin) == "2 February 2018"
    late = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
    assert item_age_words(late, NOW, berlin) == "2 March 2026"


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(minutes=1), "came today"),
        (timedelta(hours=14), "came yesterday"),
        (timedelta(days=3), "came 3 days ago"),
        (timedelta(days=8), "came 10 March 2026"),
    ],
)
def test_an_old_item_that_came_late_is_not_called_new(ago, words):
    assert item_age_words(NOW - ago, NOW, ZoneInfo("Europe/Berlin"), is_late=True) == words


@pytest.mark.parametrize(
    ("likes", "thumbs", "chip", "line"),
    [
        (16, 17, "16 of its 17 liked", "you liked 16 of 17 from Gazette"),
        (0, 0, "you asked for more from it", "you asked for more from Gazette"),
    ],
)
def test_a_chip_leaves_out_the_source_that_stands_beside_it_and_the_sum_names_it(
    likes: int, thumbs: int, chip: str, line: str
):
    found, score = parts()
    why = score_explain(
        found | {"taste": 1.4, "tastes": [("source", "", likes, thumbs, 0.8)]}, score, "Gazette"
    )
    assert chip in why.chips
    assert why.lines[-1].words == line


@pytest.mark.parametrize(
    ("kind", "likes", "thumbs", "lean", "words"),
    [
        ("source", 1, 4, -0.1, "you liked 1 of 4 from Gazette"),
        ("source", 1, 4, 0.1, "you liked 1 of 4 from Gazette, more than usual"),
        ("author", 1, 3, 0.1, "you liked 1 of 3 by Ann, more than usual"),
        ("author", 3, 3, 0.1, "you liked 3 of 3 by Ann"),
        ("topic", 8, 11, -0.1, "you liked 8 of 11 about “Ann”, less than usual"),
        ("category", 1, 1, 0.1, "you liked 1 of 1 in “Ann”"),
    ],
)
def test_a_count_says_what_it_counts_and_what_it_is_compared_with(kind, likes, thumbs, lean, words):
    found, score = parts()
    tastes = [(kind, "Ann", likes, thumbs, lean)]
    assert score_explain(found | {"taste": 1.02, "tastes": tastes}, score, "Gazette").lines[-1].words == words


@pytest.mark.parametrize(
    ("likes", "thumbs", "chip", "whole"),
    [
        (
            1,
            1,
            "like “The harbour authority…”",
            "like “The harbour authority of the north”, which you liked",
        ),
        (0, 1, "like “The harbour authority…”, not liked", "which you did not like"),
        (1, 0, "more like “The harbour authority…”", "which you want more of"),
    ],
)
def test_an_example_is_named_in_few_words_and_whole_in_the_breakdown(likes, thumbs, chip, whole):
    found, score = parts()
    tastes = [("article", "The harbour authority of the north", likes, thumbs, 0.8 if likes else -0.8)]
    why = score_explain(found | {"taste": 1.4 if likes else 0.6, "tastes": tastes}, score, "Gazette")
    assert why.chips == (chip,)
    assert whole in why.lines[-1].words


@pytest.mark.parametrize(
    ("tastes", "chip"),
    [
        ([("article", "The harbour authority of the north", 1, 1, 0.05)], "like “The harbour authority…”"),
        ([("article", "", 1, 1, 0.05)], "like what you found useful"),
        ([("article", "The harbour authority of the north", 0, 1, -0.05)], "like what you found useful"),
        ([], "like what you found useful"),
    ],
    ids=["one stands out", "none stands out", "one that was not liked", "no taste"],
)
def test_an_item_like_what_was_liked_names_the_article_where_the_breakdown_does(tastes: list, chip: str):
    found, score = parts()
    why = score_explain(found | {"similarity": 0.4, "taste": 1.05, "tastes": tastes}, score, "Gazette")
    assert chip in why.chips


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("likes", [0, 1])
def test_a_chip_that_is_too_long_keeps_its_quotation_marks_and_what_stands_behind(language: str, likes: int):
    reason = TasteReason("article", "The harbour authority of the north", likes, 1, 0.8 if likes else -0.8)
    with translation.override(language):
        whole = taste_chip(reason)
    shown = chip_cut(whole)
    end = {"en": "”", "de": "“"}[language]
    assert len(shown) <= CHIP_CHARS and "…" + end in shown
    assert shown.partition("…")[2].lstrip("…") == whole.rpartition("…")[2]
    assert shown.partition("…")[0] in whole, "cut at a word"


def test_other_chips_are_cut_at_a_word():
    assert chip_cut("more of “comet”") == "more of “comet”"
    assert (
        chip_cut("from a source that you rarely see, and never missed")
        == "from a source that you rarely see…"
    )


def test_a_german_breakdown_quotes_in_german():
    found, score = parts(EffectiveConfig(Config(topics=("Plain",), keyword_boosts={"news": 0.5})))
    with translation.override("de"):
        why = score_explain(found, score, "Gazette")
    words = " ".join((why.sentence, *(line.words for line in why.lines)))
    assert "„news“" in words and "„Plain“" in words and "”" not in words


@pytest.mark.parametrize("taste", [1.0, 1.4])
def test_a_breakdown_knows_whether_taste_is_a_factor(taste: float):
    found, score = parts()
    why = score_explain(found | {"taste": taste}, score, "Gazette")
    assert why.by_taste is any(line.label == "Your taste" for line in why.lines) is (taste != 1.0)
