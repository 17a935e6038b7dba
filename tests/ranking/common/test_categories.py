"""Spellings of a category are one, and an item has topics by its categories."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.common.categories import (
    author_names,
    category_key,
    category_keys,
    label_keys,
    topic_matches,
    topics_among,
)
from ranking.entities import Candidate, Config, EffectiveConfig
from ranking.pool import Pool
from ranking.scoring import rank

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)


def item(number: int, *categories: str, title: str = "Plain", source: str = "a") -> Candidate:
    return Candidate(number, source, title, "", NOW - timedelta(hours=number), categories=categories)


@pytest.mark.parametrize(
    "spelling",
    ["Climate change", "climate-change", "CLIMATE_CHANGE", "#Climate  Change", "ｃlimate‐change"],
)
def test_spellings_of_a_category_are_one(spelling):
    assert category_key(spelling) == "climate change"


@given(st.text(max_size=40))
def test_the_key_of_a_key_is_itself(text):
    assert category_key(category_key(text)) == category_key(text)


def test_a_category_of_signs_alone_is_none():
    assert category_keys(["#", "-", " "]) == frozenset()


@pytest.mark.parametrize(
    ("topic", "category", "found"),
    [
        ("Climate change", "climate-change", True),
        ("electric car", "Electric Cars", True),
        ("AI", "Artificial Intelligence", True),
        ("climate", "Climate change", False),
        ("Climate change", "climate", False),
    ],
)
def test_a_topic_is_the_whole_of_a_category(topic, category, found):
    assert topic_matches(topic, "plain words", category_keys([category])) is found
    assert Pool([item(1, category)]).matches(topic).tolist() == [found]
    assert topics_among([topic], category_keys([category])) == ((topic,) if found else ())


def test_searching_for_many_topics_finds_categories_too():
    pool = Pool([item(1, "Rust"), item(2, title="Rust and more"), item(3, "Go", "Linux")])
    pool.search_all(["rust", "linux"])
    assert pool.matches("rust").tolist() == [True, True, False]
    assert pool.matches("linux").tolist() == [False, False, True]


def test_an_item_with_a_topic_in_words_and_category_counts_once():
    effective = EffectiveConfig(Config(topics=("Rust",)))
    both, named = item(1, "rust", title="Rust"), item(1, "rust")
    assert rank([both], effective, NOW)[0].total == rank([named], effective, NOW)[0].total


@given(
    st.lists(st.sampled_from(["rust", "Rust", "go", ""]), min_size=1, max_size=12),
    st.floats(-5, 5),
    st.floats(0, 5),
)
def test_more_weight_on_a_category_never_lowers_its_items(names, weight, more):
    pool = [item(n, *filter(None, [name]), source="ab"[n % 2]) for n, name in enumerate(names)]

    def mean_rank(boost: float) -> float:
        order = rank(pool, EffectiveConfig(Config(keyword_boosts={"rust": boost})), NOW)
        places = [n for n, one in enumerate(order) if category_keys(one.candidate.categories) == {"rust"}]
        return sum(places) / max(1, len(places))

    assert mean_rank(min(5, weight + more)) <= mean_rank(weight)


@pytest.mark.parametrize(
    ("author", "names"),
    [
        ("Ada Hill", ("Ada Hill",)),
        ("By Ada Hill and Ben Low", ("Ada Hill", "Ben Low")),
        ("Ada Hill, Ben Low; Olga Rand", ("Ada Hill", "Ben Low", "Olga Rand")),
        ("Hill, Ada", ("Hill, Ada",)),
        ("adahill", ("adahill",)),
        ("admin", ()),
        ("Ada Hill, Staff", ("Ada Hill",)),
        (" ", ()),
        ("A., M. and Ada Hill", ("Ada Hill",)),
        ("M.", ()),
    ],
)
def test_an_author_is_each_of_the_names_that_sign(author, names):
    assert author_names(author) == names


def test_a_topic_is_found_by_the_whole_name_of_an_author():
    pool = Pool([replace(item(1), author="Ben Low and Ada Hill"), replace(item(2), author="Ada Hillman")])
    assert pool.matches("ada hill").tolist() == [True, False]
    assert pool.matches("Hill").tolist() == [False, False]
    assert topic_matches("Ada Hill", "plain words", label_keys((), "Ada Hill"))


@given(st.text(max_size=60))
def test_any_author_has_names_that_find_it(author):
    for name in author_names(author):
        assert category_key(name) in label_keys((), author)
