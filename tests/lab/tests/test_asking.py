"""How often the planner's rule on arrays asks: the lower the bar, the less, and about even tastes hardly."""

import numpy as np

from ranking.entities import Config, EffectiveConfig
from tests.lab.advisor.arrays import course_run
from tests.lab.advisor.rules import ASKING, Tallies, Targets, planner_asking
from tests.lab.world.world import world_make

FIRST = EffectiveConfig(Config(version=1))
TARGETS = Targets(sources=tuple(f"s{n}.example" for n in range(10)), topics=("harbour",))


def tallies(rates: list[float]) -> Tallies:
    """Twenty thumbs on each source at its rate; the topic is in none."""
    n = np.array([20.0] * len(rates) + [0.0])
    return Tallies(n, n * np.array([*rates, 0.0]), TARGETS)


def asked(rates: list[float], most: float) -> list[str]:
    chosen = planner_asking(most)(tallies(rates), FIRST, lambda target: True, np.random.default_rng(1))
    return [change.key for change in chosen]


def test_clear_tastes_are_asked_about_at_any_bar_and_even_ones_at_none():
    clear, even = [0.9] * 5 + [0.1] * 5, [0.4, 0.6] * 5
    assert asked(clear, 0.05) == asked(clear, 1.0) != []
    assert asked(even, 0.28) == [] != asked(even, 1.0)


def test_a_lower_bar_asks_no_more_in_the_same_world():
    world = world_make(3, 3 * 7)
    counts = [sum(len(course_run(world, n, name, weeks=3).asked) for n in (0, 5)) for name in ASKING]
    assert counts[0] > 0 and counts[-1] <= counts[0]
