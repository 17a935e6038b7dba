"""An absence is spread over its days: stories of several sources first, then each day's best."""

from collections import Counter, defaultdict
from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from digest.daily.spread import AbsenceItem, absence_spread

FIRST = date(2026, 11, 20)
ITEMS = st.lists(
    st.builds(
        AbsenceItem,
        item_id=st.integers(0, 500),
        source=st.sampled_from("abcdefgh"),
        day=st.integers(0, 9).map(lambda n: FIRST + timedelta(days=n)),
        reported_by=st.sampled_from([1, 1, 1, 1, 2, 5]),
    ),
    unique_by=lambda one: one.item_id,
    max_size=120,
)


@given(ITEMS)
def test_all_places_are_used_each_once_and_each_day_has_its_best_in_order(items):
    sections = absence_spread(items, 30, 10)
    shown = [pk for section in sections for pk in section.items]
    assert len(shown) == len({*shown}) == min(30, len(items))
    order = {one.item_id: n for n, one in enumerate(items)}
    for section in sections:
        if section.day:
            by_source = defaultdict(list)
            for pk in section.items:
                by_source[items[order[pk]].source].append(order[pk])
            assert all(places == sorted(places) for places in by_source.values())
            assert all(items[order[pk]].day == section.day for pk in section.items)
    days = [section.day for section in sections if section.day]
    assert days == sorted(days, reverse=True)


@given(ITEMS)
def test_stories_of_several_sources_come_first_the_most_reported_at_the_top(items):
    sections = absence_spread(items, 30, 10)
    by_id = {one.item_id: one for one in items}
    several = [one for one in items if one.reported_by > 1]
    if several:
        counts = [by_id[pk].reported_by for pk in sections[0].items]
        assert sections[0].day is None and len(counts) == min(10, len(several))
        assert counts == sorted(counts, reverse=True) and min(counts) > 1
    else:
        assert all(section.day for section in sections)


@given(st.integers(2, 10))
def test_days_get_alike_many_however_much_one_of_them_brought(days):
    items = [
        AbsenceItem(100 * day + n, f"s{n}", FIRST + timedelta(days=day))
        for day in range(days)
        for n in range(60 if day == days - 1 else 20)
    ]
    counts = Counter({section.day: len(section.items) for section in absence_spread(items, 30, 30)})
    assert len(counts) == days and max(counts.values()) - min(counts.values()) <= 1


def test_the_sources_of_a_day_take_turns():
    loud = [AbsenceItem(n, "loud", FIRST) for n in range(4)]
    quiet = [AbsenceItem(10 + n, f"q{n}", FIRST) for n in range(3)]
    (section,) = absence_spread([*loud, *quiet], 30, 30)
    assert section.items == [0, 10, 11, 12, 1, 2, 3], "the best first, then one of each, then what is left"


def test_a_loud_source_waits_while_others_have_something():
    loud = [AbsenceItem(n, "loud", FIRST + timedelta(days=n % 3)) for n in range(50)]
    quiet = [AbsenceItem(100 + n, f"q{n}", FIRST + timedelta(days=n % 3)) for n in range(28)]
    (shown,) = [{pk for section in absence_spread([*loud, *quiet], 30, 2) for pk in section.items}]
    assert len(shown & set(range(50))) == 2
    alone = absence_spread(loud, 30, 2)
    assert sum(len(section.items) for section in alone) == 30
