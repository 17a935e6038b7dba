"""Readers who wish for a rule, on arrays: a page keeps the rules, and the change they wish for gains."""

from dataclasses import replace

import numpy as np
import pytest

from ranking.entities import Config, EffectiveConfig, Mute
from tests.lab.advisor.new_kinds import BUSY, HASTE, LOVED, STALE, WORD, Made, _begin, _row, page_of, value_of
from tests.lab.world.people import SCORING, TOP_K
from tests.lab.world.words import SOURCES
from tests.lab.world.world import POOL, world_make

HOURLY = Config(recency_by_day=False)
WORLD = world_make(3, 7)
ROWS = np.arange(POOL)
AGE_S = WORLD.stream.age_s[ROWS].astype(float)


def page(config: Config) -> list[int]:
    return page_of(WORLD.stream, EffectiveConfig(config), ROWS, AGE_S).tolist()


def sources(config: Config) -> list[str]:
    return [SOURCES[WORLD.stream.source[n]] for n in page(config)]


def test_a_page_hides_leaves_out_and_keeps_places_as_the_settings_say():
    plain = page(HOURLY)
    assert len(plain) == TOP_K and AGE_S[plain].tolist() == sorted(AGE_S)[:TOP_K]
    word = WORLD.stream.titles[plain[0]].split()[0]
    assert plain[0] not in page(replace(HOURLY, mutes=(Mute("word", word),)))
    hours = {name: 1 for name in SOURCES}
    assert (AGE_S[page(replace(HOURLY, shelf_lives=hours))] <= 3600).all()
    limited = sources(replace(HOURLY, daily_limits=dict.fromkeys(SOURCES, 1)))
    assert len(set(limited)) == len(limited)
    absent = next(name for name in SOURCES if name not in sources(HOURLY))
    kept = page(replace(HOURLY, never_missed=(absent,)))
    there = [n for n in ROWS.tolist() if SOURCES[WORLD.stream.source[n]] == absent]
    assert set(there[:5]) <= set(kept) if len(there) <= 5 else sources(replace(HOURLY)).count(absent) == 0
    assert len(kept) == TOP_K and set(kept) & set(there)


@pytest.mark.parametrize(
    ("wish", "setting"),
    [
        (STALE, lambda reader, names: {"shelf_lives": dict.fromkeys(names, 24)}),
        (BUSY, lambda reader, names: {"daily_limits": dict.fromkeys(names, 2)}),
        (LOVED, lambda reader, names: {"never_missed": tuple(names)}),
        (WORD, lambda reader, names: {"mutes": (Mute("word", reader.word),)}),
        (HASTE, lambda reader, names: {"recency_half_life_hours": 12.0}),
    ],
)
def test_the_setting_that_a_reader_wishes_for_is_worth_something(wish, setting):
    gains = []
    for number in range(6):
        reader = _begin(WORLD, number, wish)
        own = reader.person.own_pull(WORLD.scoring, SCORING)
        before = value_of(reader, WORLD.scoring, own)
        names = [SOURCES[n] for n in reader.sources]
        config = replace(reader.effective.config, **setting(reader, names))
        reader.effective = replace(reader.effective, config=config)
        gains.append(value_of(reader, WORLD.scoring, own) - before)
    assert np.mean(gains) > 0.001


def test_a_row_counts_what_was_asked_and_its_effect():
    row = _row(
        STALE, "shelf_life", [[Made("shelf_life", 0.02), Made("mute_word", 1.0)], [Made("shelf_life", -0.01)]]
    )
    assert row["asked_a_reader"] == 1 and row["helpful"] == row["harmful"] == 0.5
    assert row["lost_gained"] == 0.5 and row["gain_a_reader"] == 0.005
