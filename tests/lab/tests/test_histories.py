"""Real histories as an experiment: held-out items are later, and shuffling leaves nothing to find."""

import numpy as np
import pytest

from ranking.entities import Config, EffectiveConfig
from tests.lab.histories.pools import History, Pools, Rated, oneshot, start_config, targets_of
from tests.lab.histories.trials import Trial, readers_tested


def history(reader: str = "r", n: int = 200) -> History:
    """Return a reader who likes source a and the topic opera, and nothing else."""
    rng = np.random.default_rng(1)
    rated = []
    for i in range(n):
        source, topic = "ab"[rng.integers(2)], ("opera", "chess", "bread")[rng.integers(3)]
        liked = bool(rng.random() < (0.2 + 0.3 * (source == "a") + 0.4 * (topic == "opera")))
        rated.append(Rated(f"https://x.example/{i}", f"note {i}: {topic}", source, (topic,), liked))
    return History(reader, tuple(rated))


def test_shuffling_keeps_the_items_and_the_number_of_likes():
    one = history()
    mixed = one.shuffled(7)
    assert [r.url for r in mixed.rated] == [r.url for r in one.rated]
    assert sum(r.liked for r in mixed.rated) == sum(r.liked for r in one.rated)
    assert [r.liked for r in mixed.rated] != [r.liked for r in one.rated]
    assert mixed == one.shuffled(7)


@pytest.mark.parametrize(
    ("trial", "tested"), [(Trial("", 50), [1, 2]), (Trial("", 100), [2]), (Trial("", 110, held=0), [1, 2])]
)
def test_only_long_histories_can_hold_something_out(trial: Trial, tested: list[int]):
    assert readers_tested([history(n=109), history(n=110), history(n=160)], trial) == tested


def test_pools_reward_the_config_that_shows_what_is_liked():
    pools = Pools(history().rated[100:], [0])
    better = EffectiveConfig(Config(topics=("opera",), source_weights={"a": 1.5}))
    assert pools.gain(EffectiveConfig(Config()), better) > 0.05


def test_the_most_common_topics_come_first():
    targets = targets_of([history()])
    assert targets.sources == ("a", "b")
    assert start_config(targets).config.topics == targets.topics


def test_rules_see_the_first_thumbs_only():
    one = history()
    targets = targets_of([one])
    later = History(one.reader, (*one.rated[:50], *history(n=300).rated[50:]))
    assert (
        oneshot(one, 0, "greedy like-rate", thumbs=50, targets=targets).asked[0].target
        == oneshot(later, 0, "greedy like-rate", thumbs=50, targets=targets).asked[0].target
    )


def test_on_shuffled_thumbs_the_honest_oracle_gains_nothing():
    targets = targets_of([history()])
    real = oneshot(history(n=300), 0, "oracle", thumbs=50, targets=targets).uplift
    mixed = [oneshot(history(n=300).shuffled(n), n, "oracle", thumbs=50, targets=targets) for n in range(30)]
    assert abs(np.mean([c.uplift for c in mixed])) < 0.03 < real
