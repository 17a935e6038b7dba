"""The sample a model sees never exceeds its caps, wastes no place, and is the same every time."""

from collections import Counter
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from advisor.result_size import cut_title
from advisor.tools.queries import PER_SOURCE_MAX, QUOTAS, ratings_sample
from digest.entities import RatedItem

ITEMS_MAX = sum(QUOTAS.values())
NOW = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
RECENT = NOW - timedelta(days=14)


def rated(item_id: int, *, source="a", useful=True, days_ago=1.0, tags=()) -> RatedItem:
    at = NOW - timedelta(days=days_ago)
    url = f"https://{source}.example/{item_id}"
    return RatedItem(item_id, url, f"Item {item_id}", "", source, useful, tuple(tags), (), at, at)


def many(count: int, *, start=0, **traits) -> list[RatedItem]:
    """Return `count` items from enough sources that no source reaches its cap."""
    return [rated(start + n, source=f"s{n % 40}", **traits) for n in range(count)]


def shares(sample: list[RatedItem]) -> Counter:
    return Counter((item.useful, item.at >= RECENT) for item in sample)


@st.composite
def histories(draw) -> list[RatedItem]:
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from("abcdefg"),
                st.booleans(),
                st.integers(0, 90),
                st.sampled_from([(), ("depth",)]),
            ),
            max_size=160,
        )
    )
    return [
        rated(n, source=source, useful=useful, days_ago=days, tags=tags)
        for n, (source, useful, days, tags) in enumerate(rows)
    ]


@given(histories())
def test_no_sample_exceeds_a_cap_or_repeats_or_invents_an_item(history):
    sample = ratings_sample(history, RECENT)
    assert len(sample) <= ITEMS_MAX
    assert max(Counter(item.source for item in sample).values(), default=0) <= PER_SOURCE_MAX
    assert len({item.item_id for item in sample}) == len(sample)
    assert set(sample) <= set(history)


@given(histories())
def test_no_place_stays_empty_while_an_item_could_fill_it(history):
    available = sum(min(n, PER_SOURCE_MAX) for n in Counter(item.source for item in history).values())
    assert len(ratings_sample(history, RECENT)) == min(ITEMS_MAX, available)


@given(histories(), st.randoms(use_true_random=False))
def test_the_order_in_which_thumbs_arrive_does_not_matter(history, random):
    shuffled = list(history)
    random.shuffle(shuffled)
    assert ratings_sample(shuffled, RECENT) == ratings_sample(history, RECENT)


def full_house() -> list[RatedItem]:
    return [
        *many(60, start=0, useful=True, days_ago=2),
        *many(60, start=100, useful=False, days_ago=2),
        *many(60, start=200, useful=True, days_ago=40),
        *many(60, start=300, useful=False, days_ago=40),
    ]


def test_a_long_history_is_sampled_21_14_9_6():
    counts = shares(ratings_sample(full_house(), RECENT))
    assert counts == {(True, True): 21, (False, True): 14, (True, False): 9, (False, False): 6}


def test_places_that_recent_likes_cannot_fill_go_to_older_likes_first():
    history = [item for item in full_house() if not (item.useful and item.at >= RECENT)]
    counts = shares(ratings_sample(history, RECENT))
    assert counts == {(True, False): 30, (False, True): 14, (False, False): 6}


def test_a_reader_who_only_likes_is_shown_fifty_likes():
    assert len(ratings_sample(many(80, useful=True), RECENT)) == 50


def test_a_thumb_with_a_reason_comes_before_a_bare_one_however_new():
    bare = many(40, start=0, days_ago=1)
    tagged = many(25, start=100, days_ago=9, tags=("depth",))
    bare_down = many(60, start=200, days_ago=1, useful=False)
    sample = ratings_sample([*bare, *tagged, *bare_down], RECENT)
    assert set(tagged) <= set(sample)


def test_any_prefix_keeps_the_balance():
    first = shares(ratings_sample(full_house(), RECENT)[:20])
    assert 11 <= first[True, True] + first[True, False] <= 13
    assert 13 <= first[True, True] + first[False, True] <= 15


def test_titles_are_cut_at_a_hundred_characters():
    assert cut_title("x" * 100) == "x" * 100
    assert len(cut_title("x" * 101)) == 100
