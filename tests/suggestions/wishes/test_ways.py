"""The table of ways feeds the grammar and the prompt of a model: the grammar reads each as that way."""

import pytest

from suggestions.changes.change import FRESHER, OLDER
from suggestions.wishes.reading import wishes_read
from suggestions.wishes.ways import OUT, WAYS, ways_for_prompt, wish_words
from tests.support.wish_words import TODAY, names

NAMES = names()


@pytest.mark.parametrize("way", [way for way in WAYS if way not in (OUT, "add", "remove")])
def test_the_words_of_a_way_are_read_as_that_way(way: str):
    words = WAYS[way].words if way in (FRESHER, OLDER) else wish_words(way, "source", "Golem.de", 3)
    reading = wishes_read(words, NAMES, TODAY)
    assert [wish.direction for wish in reading.wishes] == [way] and not reading.question


def test_a_switch_of_a_page_is_said_and_interests_are_added_and_removed():
    assert "Golem.de" in wishes_read(wish_words(OUT, "source", "Golem.de"), NAMES, TODAY).notes[0]
    for way, topic in (("add", "Tennis"), ("remove", "linux")):
        reading = wishes_read(wish_words(way, "topic", topic), NAMES, TODAY)
        assert [wish.direction for wish in reading.wishes] == [way]


def test_a_prompt_lists_each_way_on_a_line():
    assert [line.split("`")[1] for line in ways_for_prompt().splitlines()] == list(WAYS)
