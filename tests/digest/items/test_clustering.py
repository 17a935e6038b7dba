"""Similar headlines become one story, different ones do not."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.items.clustering import StoryTitle, TitledItem, cluster_items, stories_split, story_title

AT = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
# Enough other news for words to be rare or common.
OTHERS = (
    "Parliament debates pension reform as unions call a strike",
    "Champions League draw pairs old rivals in the quarter final",
    "Vaccine trial against malaria shows promise in West Africa",
    "Painting thought lost for a century turns up in an attic",
    "Storm damages harbour and cuts power to coastal villages",
    "Chipmaker opens a factory for memory in the eastern province",
)


def items_titled(
    *titles: str, start: int = 0, hours: float = 0, sources: str = "abcdefghijkl"
) -> list[TitledItem]:
    """Return one item per title, each of its own source, a minute apart."""
    return [
        TitledItem(start + n, sources[n % len(sources)], title, AT + hours * HOUR + timedelta(minutes=n))
        for n, title in enumerate(titles)
    ]


def grouped(known: list[TitledItem], fresh: list[TitledItem]) -> list[list[int]]:
    return sorted(sorted(item.item_id for item in story) for story in cluster_items(known, fresh))


def test_two_sources_with_similar_headlines_share_a_story():
    fresh = items_titled(
        "Miners found alive after nine days under ground in Chile",
        "Chile: trapped miners found alive nine days after collapse",
        *OTHERS,
    )
    assert grouped([], fresh) == [[0, 1]]


def test_a_headline_between_two_stories_does_not_join_them():
    fresh = items_titled(
        "Airline pilots strike as volcano near Reykjavik erupts",
        "Volcano near Reykjavik erupts, lava threatens fishing village",
        "Lava threatens fishing village as volcano near Reykjavik erupts",
        "Airline pilots strike over pay before the summer holidays",
        "Before the summer holidays, airline pilots strike for better pay",
        *OTHERS,
    )
    assert grouped([], fresh) == [[0, 1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Council report number 3 of the week", "Council report number 4 of the week"),
        ("Daily briefing", "Daily briefing: what matters"),
        ("Ten things you need to know this morning", "What you need to know about it this morning"),
        ("Car bomb kills three in Mosul", "Earthquake kills three hundred in Turkey"),
    ],
)
def test_headlines_of_the_same_pattern_are_different_stories(one, other):
    assert grouped([], items_titled(one, other, *OTHERS)) == []


def test_umlauts_case_and_punctuation_make_no_difference():
    fresh = items_titled(
        "Rettungsschiff „Alan Kurdi“ in Italien ERNEUT festgesetzt",
        "Italien: Rettungsschiff Alan Kurdi erneut festgesetzt",
        *OTHERS,
    )
    assert grouped([], fresh) == [[0, 1]]


def test_a_source_has_one_item_in_a_story_and_its_reposts():
    story = "Miners found alive after nine days under ground in Chile"
    follow_up = "Chile miners found alive: families thank the rescuers after nine days"
    assert grouped([], items_titled(story, follow_up, *OTHERS, sources="aabcdefghi")) == []
    assert grouped([], items_titled(story, story, *OTHERS, sources="aabcdefghi")) == [[0, 1]]


def test_an_item_of_another_week_is_another_story():
    early = items_titled("Miners found alive after nine days under ground in Chile", *OTHERS)
    late = items_titled("Chile miners found alive after nine days under ground", start=50, hours=73)
    assert grouped(early, late) == []
    assert grouped(early, items_titled(late[0].title, start=50, hours=71, sources="z")) == [[0, 50]]


def test_equal_fingerprints_are_one_story_even_with_a_generic_headline():
    one, other = (TitledItem(n, source, "Links", AT, "abc") for n, source in ((1, "a"), (2, "b")))
    assert grouped([], [one, other, *items_titled(*OTHERS, start=10)]) == [[1, 2]]


def test_fresh_items_join_an_existing_story():
    first = items_titled(
        "Miners found alive after nine days under ground in Chile",
        "Chile: trapped miners found alive nine days after collapse",
        *OTHERS,
    )
    known = [
        TitledItem(t.item_id, t.source, t.title, t.dated_at, "", 7 if t.item_id < 2 else None) for t in first
    ]
    fresh = items_titled(
        "Trapped miners in Chile found alive after nine days", start=50, hours=2, sources="z"
    )
    (story,) = cluster_items(known, fresh)
    assert [item.item_id for item in story] == [0, 1, 50]
    assert {item.story for item in story} == {7, None}


def test_known_items_alone_are_not_compared_again():
    first = items_titled(
        "Miners found alive after nine days under ground in Chile",
        "Chile: trapped miners found alive nine days after collapse",
    )
    assert grouped(first, items_titled(*OTHERS, start=50)) == []


@pytest.mark.parametrize("titles", [(), ("",), ("The", "the", "…")])
def test_titles_without_significant_words_are_no_story(titles):
    assert grouped([], items_titled(*titles)) == []


# --- One story for one reader -------------------------------------------------------------------------

FERRY, TRIAL = "Harbour ferry strike ends after talks", "Minister resigns over stolen letters"
# Only its writer's readers see one story.
BRIDGE = "Ferry strike ends: minister resigns over letters"


def titled(*titles: str, story: int = 1, text: str = "") -> list[StoryTitle]:
    """Items of one story, of an article each: 1, 2 …"""
    return [story_title(story=story, article=n, title=t, text=text) for n, t in enumerate(titles, start=1)]


def test_what_only_a_third_item_links_is_one_story_for_who_has_the_third():
    ferry, trial, bridge = titled(FERRY, TRIAL, BRIDGE)
    assert stories_split([ferry, trial]) == {}
    assert stories_split([ferry, trial, bridge]) == dict.fromkeys((1, 2, 3), 1)
    assert stories_split([trial, bridge]) == dict.fromkeys((2, 3), 2)


def test_the_same_text_or_the_same_article_is_one_story_whatever_the_words():
    assert stories_split(titled("Daily briefing", "daily  briefing", text="Rain.")) == {1: 1, 2: 1}
    assert stories_split(titled("Daily briefing", "Daily briefing")) == {}
    ferry, trial, _ = titled(FERRY, TRIAL, BRIDGE)
    other = titled("Letters: minister resigns, thieves stolen from")[0]
    assert stories_split([ferry, trial, other]) == {1: 1, 2: 1}  # `other` is the first article in other words


def test_titles_that_differ_in_a_number_and_other_stories_titles_are_not_one():
    assert stories_split(titled("Quarterly report on coal 3", "Quarterly report on coal 4")) == {}
    assert stories_split([*titled(FERRY), story_title(story=2, article=9, title=FERRY, text="")]) == {}


WORDS = st.sampled_from([*BRIDGE.split(), *FERRY.split(), "2", "3"])


@given(st.lists(st.lists(WORDS, max_size=6), max_size=14))
def test_to_who_reads_every_item_a_story_is_whole(words: list[list[str]]):
    items = items_titled(*OTHERS, *(" ".join(some) for some in words))
    for story, members in enumerate(cluster_items([], items)):
        titles = [story_title(story=story, article=m.item_id, title=m.title, text="") for m in members]
        assert set(stories_split(titles)) == {m.item_id for m in members}
        assert len({*stories_split(titles).values()}) == 1
