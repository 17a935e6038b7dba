"""Mutes offered for an item name what it is about, and no words that stand in any title."""

import pytest

from digest.models import Reader
from digest.mutes.preview import is_common, mutes_suggested
from ranking.mutes import WORD
from tests.support.browser import fresh_item

pytestmark = pytest.mark.django_db


def test_no_common_word_of_a_title_is_offered(ada: Reader):
    item = fresh_item(ada, title="The way Bitcoin is playing its part in a new storm: what we know")
    assert [mute.value for mute in mutes_suggested(item=item) if mute.kind == WORD] == ["bitcoin", "storm"]


@pytest.mark.parametrize("word", ["way", "part", "playing", "heute", "menschen", "mehr"])
def test_words_of_any_title_are_common_in_english_and_german(word):
    assert is_common(word)


@pytest.mark.parametrize("word", ["bitcoin", "trump", "storm", "fußball", "election"])
def test_what_a_title_is_about_is_not(word):
    assert not is_common(word)
