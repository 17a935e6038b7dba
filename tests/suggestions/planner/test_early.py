"""The leans of a few answers: only clear ones, two per side, and none that the loop or the reader moved."""

from datetime import timedelta

import pytest

from digest.entities import RatedItem
from ranking.entities import Config, EffectiveConfig, SourceTally
from ranking.learning import P_HIGH, base_rate, posterior
from suggestions.planner.early import (
    ANSWERS_MIN,
    SIDE_MAX,
    SURE_MIN,
    answers_on,
    changes_early,
    early_words,
    wishes_early,
)
from suggestions.proposals import Facts
from tests.support.factories import CLOCK

TITLES = {"quiet.example": "Quiet Port", "giga.example": "Gigawow", "plain.example": "Plain"}
QUIET, GIGA, PLAIN = TITLES
FIVE = {QUIET: (3, 3), GIGA: (0, 2)}


def found(counts, *, rated=None, config=None, deltas=None, settled=(), titles=TITLES, **facts):
    effective = EffectiveConfig(config or Config(), deltas or {})
    tallies = [SourceTally(source, float(n), float(likes), n) for source, (likes, n) in counts.items()]
    given = answers(counts) if rated is None else rated
    wishes = wishes_early(tallies=tallies, rated=given, titles=titles)
    return changes_early(wishes, facts=Facts(effective, frozenset(titles), **facts), settled=settled)


def answers(counts) -> list[RatedItem]:
    """Return the answers behind these (liked, all) by source."""
    return [answer(n, key, n < likes) for key, (likes, total) in counts.items() for n in range(total)]


def answer(n: int, source: str, useful: bool, *categories: str) -> RatedItem:
    url = f"https://{source}/{n}"
    return RatedItem(n, url, f"Item {n}", "", source, useful, (), (), CLOCK, CLOCK, n, categories)


def test_five_answers_that_agree_name_a_source_and_the_usual_step():
    (change,) = found(FIVE)
    assert (change.target, change.kind.direction, change.before, change.after) == (QUIET, "more", 1.0, 1.2)
    assert early_words([change], TITLES, [(5, 5)]) == "more Quiet Port (you liked 5 of 5)"


def test_three_likes_of_three_are_enough_to_ask_though_not_for_the_loop_to_act():
    counts = {QUIET: (3, 3), GIGA: (1, 3)}
    base = base_rate(4, 6)
    assert SURE_MIN <= posterior(3, 3, base).p_better < P_HIGH
    assert [(change.target, change.kind.direction) for change in found(counts)] == [(QUIET, "more")]
    assert posterior(4, 5, base_rate(6, 10)).p_better < SURE_MIN
    assert found({QUIET: (4, 5), GIGA: (2, 5)}) == []


def test_four_answers_name_nothing_however_they_agree():
    assert ANSWERS_MIN == 5
    assert found({QUIET: (3, 3), GIGA: (0, 1)}) == []


def test_what_is_liked_comes_before_what_is_not():
    counts = {GIGA: (0, 4), QUIET: (4, 4)}
    changes = found(counts)
    said = [answers_on(change, answers(counts)) for change in changes]
    assert early_words(changes, TITLES, said) == "more Quiet Port (you liked 4 of 4), less Gigawow (0 of 4)"
    assert [change.after for change in changes] == [1.2, 0.8]


@pytest.mark.parametrize(
    "counts",
    [
        {QUIET: (2, 3), GIGA: (1, 3)},
        {QUIET: (5, 5)},
        {QUIET: (4, 4), GIGA: (1, 1)},
        {QUIET: (2, 2), GIGA: (0, 2), PLAIN: (1, 2)},
    ],
)
def test_nothing_is_said_where_nothing_is_clear(counts):
    assert found(counts) == []


def test_two_of_more_and_two_of_less_at_most():
    liked = {f"a{n}.example": (4, 4) for n in range(4)}
    disliked = {f"b{n}.example": (0, 4) for n in range(4)}
    titles = dict.fromkeys([*liked, *disliked], "A title")
    sides = [change.kind.direction for change in found(liked | disliked, titles=titles)]
    assert sides == ["more"] * SIDE_MAX + ["less"] * SIDE_MAX


@pytest.mark.parametrize(
    "state",
    [
        {"deltas": {QUIET: 0.15}},
        {"config": Config(source_weights={QUIET: 1.2})},
        {"settled": {QUIET}},
        {"config": Config(locked=(QUIET,))},
        {"config": Config(avoided=(QUIET,))},
        {"cooling": {("source_weights", QUIET): CLOCK + timedelta(days=1)}},
        {"waiting": frozenset({("source_weights", QUIET)})},
        {"declined": frozenset({"boost_source"})},
        {"titles": {GIGA: "Gigawow"}},
    ],
    ids=["learned", "set", "on hold", "locked", "avoided", "cooling", "waiting", "declined", "not read"],
)
def test_what_the_loop_or_the_reader_settled_is_left_alone(state):
    assert found(FIVE) and found(FIVE, **state) == []


def test_a_category_counts_on_answers_about_sources_that_do_not_lean():
    liked = [answer(n, PLAIN if n % 2 else GIGA, True, "Climate") for n in range(4)]
    others = [answer(10 + n, PLAIN if n % 2 else GIGA, False) for n in range(4)]
    counts = {PLAIN: (2, 4), GIGA: (2, 4)}
    (change,) = found(counts, rated=liked + others)
    assert (change.field, change.label, change.after) == ("topics", "Climate", True)
    on = answers_on(change, liked + others)
    assert early_words([change], TITLES, [on]) == "more about “Climate” (you liked 4 of 4)"
    assert found(counts, rated=liked + others, config=Config(topics=("climate",))) == []
    assert found(counts, rated=liked + others, cooling={("topics", "climate"): CLOCK}) == []
    of_one = [answer(n, QUIET, True, "Climate") for n in range(4)] + answers({GIGA: (0, 4)})
    names = {change.field for change in found({QUIET: (4, 4), GIGA: (0, 4)}, rated=of_one)}
    assert names == {"source_weights"}
