"""The pure parts behind a suggestion: beliefs, topic candidates, the split in time, the words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.entities import Config, EffectiveConfig
from suggestions.explain import impact_sentence, reason_clean, reason_sentence
from suggestions.planner.gains import forecast_of, split_by_time
from suggestions.planner.hypotheses import confidence_of
from suggestions.planner.posterior import phrases_frequent
from suggestions.rules import change_applied
from tests.support.factories import CLOCK
from tests.support.suggestion_worlds import thumb

PLAIN = EffectiveConfig(Config(topics=("Rail",), source_weights={"a": 1.2}), {"a": 0.1})


@pytest.mark.parametrize(
    ("p", "gain", "high", "confidence"),
    [
        (0.99, 0.02, 0.1, "high"),
        (0.99, None, None, "medium"),
        (0.99, -0.01, 0.1, "medium"),
        (0.99, -0.1, -0.01, "low"),
        (0.85, 0.02, 0.1, "medium"),
        (0.69, 0.2, 0.3, "low"),
    ],
)
def test_confidence_needs_both_the_choosing_and_the_checking_thumbs(p, gain, high, confidence):
    assert confidence_of(p, gain, high) == confidence


@given(st.lists(st.integers(0, 50), max_size=80))
def test_no_thumb_both_chooses_and_measures(days):
    split = split_by_time([thumb(n, days_ago=day) for n, day in enumerate(days)])
    ids = [item.item_id for item in (*split.training, *split.holdout)]
    assert sorted(ids) == list(range(len(days)))
    assert len(split.holdout) <= len(days) / 5


def test_blocks_of_five_measure_old_and_recent_times_alike():
    split = split_by_time([thumb(n, days_ago=120 - n) for n in range(120)])
    assert [item.item_id for item in split.holdout] == [
        n for start in (25, 55, 85, 115) for n in range(start, start + 5)
    ]


def test_a_change_is_applied_exactly_and_to_its_target_only():
    boosted = change_applied(PLAIN, "boost_source", "a", "1.5")
    assert (boosted.weight("a"), boosted.weight("b"), boosted.config.topics) == (1.5, 1.0, ("Rail",))
    assert change_applied(PLAIN, "add_topic", "harbour", "Harbour").config.topics == ("Rail", "Harbour")
    assert change_applied(PLAIN, "remove_topic", "rail", "Rail").config.topics == ()


def test_a_forecast_is_repeatable_and_positive_where_the_change_is_right():
    later = [thumb(n, source="ab"[n % 2], useful=n % 2 == 0, days_ago=n) for n in range(40)]
    after = change_applied(PLAIN, "boost_source", "a", "1.6")
    before = change_applied(PLAIN, "reduce_source", "a", "0.7")
    one, two = (forecast_of(later, before, after, now=CLOCK, seed="s") for _ in range(2))
    assert one == two
    assert one.gain > 0


def test_ages_count_at_the_time_of_the_thumb():
    # Both items were an hour old when rated, one of them months ago: the old thumb must not sink.
    old = thumb(1, useful=True, days_ago=90)
    new = [thumb(n, source="b", useful=False, days_ago=1) for n in range(2, 12)]
    boosted = change_applied(PLAIN, "boost_source", "a", "1.4")
    reduced = change_applied(PLAIN, "reduce_source", "a", "0.9")
    assert forecast_of([old, *new], reduced, boosted, now=CLOCK, seed="s").gain > 0.5


def test_topics_are_phrases_of_several_titles_and_sources():
    rated = [thumb(n, source="ab"[n % 2], title=f"The harbour tunnel opens, {n} times") for n in range(4)]
    rated += [thumb(n, source="c", title="Only here forever") for n in range(4, 9)]
    found = {c.label for c in phrases_frequent(rated, {"a": "A", "b": "B"})}
    assert "harbour tunnel opens" in found
    assert not found & {"The harbour", "harbour", "opens, 1", "Only here forever"}


def test_a_source_is_no_topic():
    rated = [thumb(n, source="ab"[n % 2], title="Reuters") for n in range(4)]
    assert phrases_frequent(rated, {"a": "Reuters"}) == []


@given(st.lists(st.text(max_size=40), max_size=12))
def test_any_titles_give_candidates(titles):
    rated = [thumb(n, source="ab"[n % 2], title=title) for n, title in enumerate(titles)]
    for candidate in phrases_frequent(rated, {}):
        assert len(candidate.items) >= 3


def test_the_words_are_plain():
    assert reason_sentence("boost_source", "Reuters", 8, 10, 5, 10) == (
        "You liked 8 of 10 articles from Reuters, against 5 of 10 elsewhere."
    )
    assert reason_sentence("add_topic", "rail", 1, 1, 0, 0) == "You liked 1 of 1 article about rail."
    assert impact_sentence("boost_source", "Reuters", 0.1) == (
        "Articles from Reuters will rank a bit higher in your digest."
    )
    assert "higher" in impact_sentence("add_topic", "rail")


@given(st.text() | st.none() | st.integers())
def test_a_reason_is_one_short_printable_line(reason):
    cleaned = reason_clean(reason)
    assert len(cleaned) <= 500
    assert cleaned.isprintable()
