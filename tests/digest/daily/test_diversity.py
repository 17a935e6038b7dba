"""Among the first ten places sources alternate as long as another waits, and the order says so."""

from collections import Counter
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.daily.compose import NoveltyDraw, PlacedItem, Rules, compose
from digest.daily.diversity import ALTERNATE_FIRST, RANKED, Choice, alternate, places_moved
from digest.daily.services import digest_build
from tests.support.factories import ItemFactory, SourceFactory, SubscriptionFactory

SEED = NoveltyDraw("ada|2026-03-18")
CHOICES = st.lists(
    st.builds(
        Choice,
        item_id=st.integers(0, 60),
        source=st.sampled_from("abcde"),
        low=st.booleans(),
        most=st.none(),
        reserved=st.just(False),
        share=st.just(1.0),
    ),
    unique_by=lambda choice: choice.item_id,
    max_size=50,
)
RATED = st.dictionaries(
    st.integers(1, 12),
    st.builds(PlacedItem, item_id=st.integers(100, 120), source=st.sampled_from("abcde")),
    max_size=4,
).filter(lambda rated: len({item.item_id for item in rated.values()}) == len(rated))


def items(*sources: str, low: str = "") -> list[Choice]:
    return [Choice(n, source, low=source in low) for n, source in enumerate(sources)]


def order(choices: list[Choice], rated: dict[int, PlacedItem] | None = None, size: int = 30) -> str:
    source = {choice.item_id: choice.source for choice in choices}
    source |= {item.item_id: item.source for item in (rated or {}).values()}
    places = compose(choices, Rules(size, novelty=False), SEED, rated=rated).places
    return "".join(source[place.item_id] for place in places)


def test_a_loud_source_takes_turns_with_those_that_wait():
    assert order(items(*"aaaabbcc")) == "ababacac"


def test_an_order_that_alternates_already_is_left_alone():
    assert order(items(*"abcabacb")) == "abcabacb"


def test_where_nobody_else_waits_a_source_may_follow_itself():
    assert order(items(*"abaaa")) == "abaaa"


def test_the_order_beyond_the_first_ten_is_that_of_the_score():
    assert order(items(*"abcdeabcde", *"aabbccddee", *"abcde")) == "abcdeabcdeaabbccddeeabcde"


def test_what_is_wanted_less_is_lifted_past_nothing():
    assert order(items(*"aaabbb", low="b")) == "aaabbb"
    assert order(items(*"bbbaaa", low="b")) == "bababa"


def test_a_source_that_is_wanted_more_has_three_of_the_first_fifteen_places_and_others_two():
    ranked = [Choice(n, "a", share=1.3) for n in range(6)] + [Choice(10 + n, "b") for n in range(6)]
    ranked += [Choice(100 + n, f"s{n}") for n in range(20)]
    first = Counter(
        place.item_id // 10 for place in compose(ranked, Rules(30, novelty=False), SEED).places[:15]
    )
    assert (first[0], first[1]) == (3, 2)


def test_neighbours_of_an_item_that_was_rated_are_of_other_sources():
    assert order(items(*"baacc"), {2: PlacedItem(100, "b")}) == "ababcc"


@given(CHOICES, RATED, st.integers(1, 30))
def test_no_source_follows_itself_in_the_first_ten_while_a_wanted_one_waits(ranked, rated, size):
    source = {choice.item_id: choice.source for choice in ranked}
    source |= {item.item_id: item.source for item in rated.values()}
    at = {choice.item_id: n for n, choice in enumerate(ranked)}
    low = {
        c.item_id
        for c in ranked
        if any(o.unwanted and o.source == c.source for o in ranked[: at[c.item_id] + 1])
    }
    places = compose(ranked, Rules(size), SEED, rated=rated).places
    for n, (one, two) in enumerate(pairwise(places[:ALTERNATE_FIRST]), start=1):
        if source[one.item_id] == source[two.item_id] and two.slot == RANKED:
            waiting = [p.item_id for p in places[n + 1 :] if p.slot == RANKED and p.item_id not in low]
            assert all(source[item] == source[one.item_id] for item in waiting)


@given(CHOICES, RATED, st.integers(1, 30))
def test_alternation_changes_the_order_and_nothing_else(ranked, rated, size):
    mixed, plain = (compose(ranked, Rules(size, alternate=on), SEED, rated=rated) for on in (True, False))
    assert mixed.left_out == plain.left_out
    assert {*mixed.places} == {*plain.places}
    for rank, (one, two) in enumerate(zip(mixed.places, plain.places, strict=True), start=1):
        if RANKED not in (one.slot, two.slot):
            assert one == two, rank


@given(CHOICES)
def test_the_items_of_a_source_stay_in_their_order_and_nothing_is_moved_without_need(ranked):
    source = {choice.item_id: choice.source for choice in ranked}
    ids = [choice.item_id for choice in ranked]
    mixed = alternate(ids, {}, source)
    assert sorted(mixed) == sorted(ids)
    for name in "abcde":
        of_source = [item for item in mixed if source[item] == name]
        assert of_source == [item for item in ids if source[item] == name]
    for place, item in enumerate(mixed):
        passed = [other for other in ids[: ids.index(item)] if other in mixed[place:]]
        assert {source[other] for other in passed} <= {source[mixed[place - 1]]}


@given(CHOICES)
def test_what_is_rated_where_it_stands_moves_nothing_else(ranked):
    ranked = [choice._replace(low=False, muted=False, disliked=False) for choice in ranked]
    rules = Rules(20, cap=False, novelty=False)
    source = {choice.item_id: choice.source for choice in ranked}
    first = [place.item_id for place in compose(ranked, rules, SEED).places]
    for rank, item in list(enumerate(first, start=1))[:12]:
        again = compose(ranked, rules, SEED, rated={rank: PlacedItem(item, source[item])})
        assert [place.item_id for place in again.places] == first


def test_the_places_an_item_moved_are_counted_against_its_score():
    assert places_moved([(1, 0.9), (3, 0.5), (2, 0.8), (4, 0.1)]) == {3: -1, 2: 1}
    assert places_moved([(1, 0.9), (2, 0.9)]) == {}


@pytest.mark.django_db
def test_the_pages_say_what_was_moved_so_that_sources_alternate(ada, client, now):
    loud, quiet = (SourceFactory(key=f"{name}.example") for name in ("loud", "quiet"))
    rows = [(loud, 1), (loud, 2), (quiet, 3), (loud, 30)]
    shown = [
        ItemFactory(source=source, title=f"Item {n}", published_at=now - timedelta(hours=hours))
        for n, (source, hours) in enumerate(rows)
    ]
    for source in (loud, quiet):
        SubscriptionFactory(reader=ada, feed=source.feeds.get())
    client.force_login(ada)
    digest = digest_build(reader=ada, date=now.date(), now=now)
    order = list(digest.impressions.order_by("rank").values_list("item_id", flat=True))
    assert order == [shown[n].pk for n in (0, 2, 1, 3)]
    page = client.get(f"/ui/date/{now.date()}/left-out").content.decode()
    assert "1 in the digest moved down so that sources alternate" in page
    assert "No. 3, 1 place lower than by score" in page
    words = {n: client.get(f"/ui/item/{shown[n].pk}").content.decode() for n in (0, 1, 2)}
    assert "moved 1 place down so that sources alternate" in words[1]
    assert "moved 1 place up so that sources alternate" in words[2]
    assert "so that sources alternate" not in words[0]
