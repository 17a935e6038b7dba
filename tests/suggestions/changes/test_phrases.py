"""Topics in titles: phrases of several items and sources, chosen by how often they occur."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.entities import RatedItem
from ranking.common.text import fold, term_matches
from ranking.entities import Config, EffectiveConfig
from suggestions.changes.columns import TOPICS, attributes_of
from suggestions.changes.phrases import categories_frequent, phrases_frequent
from suggestions.changes.topics import ADD_TOPIC
from suggestions.planner.tastes import SPREAD_PRIOR, spreads_for, tallies_of
from tests.support.factories import CLOCK
from tests.support.suggestion_worlds import thumb


def test_topics_are_phrases_of_several_titles_and_sources():
    rated = [thumb(n, source="ab"[n % 2], title=f"The harbour tunnel opens, {n} times") for n in range(4)]
    rated += [thumb(n, source="c", title="Only here forever") for n in range(4, 9)]
    found = {c.label for c in phrases_frequent(rated, {"a": "A", "b": "B"})}
    assert "harbour tunnel opens" in found
    assert not found & {"The harbour", "harbour", "opens, 1", "Only here forever"}


@pytest.mark.parametrize(
    ("titles", "found"),
    [
        (["U.S. tariffs rise", "A deal with the U.S.", "The U.S. votes"], {"U.S."}),
        (["The U.K. votes", "From the U.K.", "U.K.: rain"], {"U.K."}),
        (["U.S.A. wins", "In the U.S.A.", "A U.S.A. parade"], {"U.S.A."}),
        (["Boats, e.g. sloops", "Trains, e.g. trams", "Birds (e.g. owls)"], set()),
        (["Node.js is out", "Why Node.js", "A Node.js bug."], {"Node.js"}),
        (["Visit x.y.com", "Sold: x.y.com", "Of x.y.com"], {"x.y.com"}),
    ],
)
def test_a_dotted_abbreviation_is_one_word(titles: list[str], found: set[str]):
    rated = [thumb(n, source="ab"[n % 2], title=title) for n, title in enumerate(titles)]
    assert {one.label for one in phrases_frequent(rated, {})} == found
    for label in found:
        assert all(term_matches(label, fold(title)) for title in titles)


def test_a_source_is_no_topic():
    rated = [thumb(n, source="ab"[n % 2], title="Reuters") for n in range(4)]
    assert phrases_frequent(rated, {"a": "Reuters"}) == []


@given(st.lists(st.text(max_size=40), max_size=12))
def test_any_titles_give_candidates(titles):
    rated = [thumb(n, source="ab"[n % 2], title=title) for n, title in enumerate(titles)]
    for candidate in phrases_frequent(rated, {}):
        assert len(candidate.items) >= 3


def filed(n: int, title: str, *categories: str, source: str = "") -> RatedItem:
    return replace(thumb(n, source=source or "ab"[n % 2], title=title), categories=categories)


def columns(rated: list[RatedItem]) -> set[str]:
    return set(attributes_of(rated, titles={"a": "A", "b": "B"}).labels(TOPICS).values())


def test_a_category_is_a_topic_as_most_often_spelled():
    names = ["electric-cars", "Electric cars", "Electric cars", "#Electric cars"]
    found = categories_frequent([filed(n, f"Nothing {n}", name) for n, name in enumerate(names)], {})
    assert [(one.label, len(one.items)) for one in found] == [("Electric cars", 4)]


def test_a_category_of_one_source_or_without_meaning_is_no_topic():
    rated = [filed(n, f"Nothing {n}", "Local", source="a") for n in range(4)]
    rated += [filed(n, f"Nothing {n}", "Uncategorized", "A") for n in range(4, 8)]
    assert categories_frequent(rated, {"a": "A", "b": "B"}) == []


def test_a_phrase_goes_where_a_category_says_the_same():
    rated = [filed(n, f"Tesla {n}", "Electric cars") for n in range(4)]
    assert columns(rated) == {"Electric cars"}
    rated += [filed(n, f"Tesla {n}") for n in range(4, 8)]
    assert columns(rated) == {"Electric cars", "Tesla"}


def test_the_topics_taste_counts_titles_and_categories():
    rated = [filed(n, f"Nothing {n}", "Rust") for n in range(3)] + [filed(3, "Rust")]
    attributes = attributes_of(rated, titles={}, given={TOPICS: ("rust",)})
    tallies = tallies_of(rated, attributes, CLOCK)
    n = attributes.index(TOPICS, "rust")
    assert tallies.thumbs[n] == tallies.thumbs_all
    change = ADD_TOPIC.change("rust", EffectiveConfig(Config()))
    assert all(map(change.concerns, rated))


def test_a_new_topic_with_other_names_counts_in_texts_as_well_as_in_titles():
    rated = [replace(thumb(n, source="ab"[n % 2], title=f"Monday {n}"), text="Crabs.") for n in range(4)]
    names = {"rust": ("crabs",)}
    titles = attributes_of(rated, titles={}, given={TOPICS: ("rust",)}, names=names)
    whole = replace(titles, whole=frozenset(names))
    n = titles.index(TOPICS, "rust")
    assert tallies_of(rated, titles, CLOCK).thumbs[n] == 0
    assert tallies_of(rated, whole, CLOCK).thumbs[n] == tallies_of(rated, whole, CLOCK).thumbs_all
    assert not spreads_for(titles, 0.0).any()
    spreads = spreads_for(whole, 0.0)
    assert spreads[n] == spreads.sum() == SPREAD_PRIOR, "that of texts was not measured"


def signed(n: int, author: str, source: str = "a") -> RatedItem:
    return replace(thumb(n, source=source, title=f"Nothing {n}"), author=author)


def test_an_author_is_a_topic_though_they_write_for_one_source():
    rated = [
        signed(n, "Ada Hill" if n % 2 else "Ben Low and Ada Hill" if n % 4 else "Olga Rand")
        for n in range(12)
    ]
    rated += [signed(n, "admin", "b") for n in range(12, 16)]
    attributes = attributes_of(rated, titles={"a": "A", "b": "B"})
    assert attributes.authors == {"ada hill", "ben low", "olga rand"}
    labels = attributes.labels(TOPICS)
    assert {labels[key] for key in attributes.authors} == {"Ada Hill", "Ben Low", "Olga Rand"}


def test_who_writes_nearly_all_of_a_source_is_left_to_the_source():
    rated = [signed(n, "Ada Hill") for n in range(9)] + [signed(9, "Ben Low")]
    assert attributes_of(rated, titles={"a": "A"}).authors == frozenset()


def test_an_author_named_as_a_source_or_category_is_that():
    rated = [replace(signed(n, "Ada Hill", "ab"[n % 2]), categories=("Ada Hill",)) for n in range(4)]
    rated += [signed(n, "Harbour Post", "ab"[n % 2]) for n in range(4, 8)]
    attributes = attributes_of(rated, titles={"a": "A", "b": "Harbour Post"})
    assert (attributes.topics, attributes.authors) == (("ada hill",), frozenset())
