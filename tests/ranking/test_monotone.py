"""Asking for more never lowers items, asking for less never raises them, and the others keep their order."""

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from ranking.entities import Candidate, Config, EffectiveConfig
from ranking.pool import Pool
from ranking.scoring import Ranking, Signals
from suggestions.changes.weights import weight_text
from tests.support.changes import ADD_TOPIC, BOOST_SOURCE, REDUCE_SOURCE, REMOVE_TOPIC, change_applied
from tests.support.thinned import examples

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)
WORDS = ("chess", "opera", "bread")

items = st.lists(
    st.tuples(
        st.sampled_from(("a.example", "b.example", "c.example")),
        st.sets(st.sampled_from(WORDS)),
        st.integers(0, 200),
        st.floats(-1, 1),
    ),
    min_size=2,
    max_size=25,
)
configs = st.builds(
    lambda topics, weight, boost: EffectiveConfig(
        Config(
            version=1,
            topics=tuple(sorted(topics)),
            source_weights={"a.example": weight},
            keyword_boosts={"bread": boost},
        )
    ),
    st.sets(st.sampled_from(("opera", "bread"))),
    st.floats(0.1, 2.0),
    st.floats(-1, 1),
)
Drawn = list[tuple[str, set[str], int, float]]


def totals_of(drawn: Drawn, config: EffectiveConfig) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    candidates = [
        Candidate(n, source, " ".join(sorted(words)), "", NOW - timedelta(hours=hours))
        for n, (source, words, hours, _) in enumerate(drawn)
    ]
    crowd = {n: pull for n, (*_, pull) in enumerate(drawn)}
    ranking = Ranking(Pool(candidates), config, NOW, Signals(community=crowd), None)
    found: np.ndarray[tuple[int], np.dtype[np.float64]] = ranking.totals[np.argsort(ranking.ids)]
    return found


def check(drawn: Drawn, less: EffectiveConfig, more: EffectiveConfig, about: list[bool]) -> None:
    """Check that the named items' mean rank is no worse with `more` than `less`, and other totals stay."""
    low, high = totals_of(drawn, less), totals_of(drawn, more)
    named = np.array(about)
    if named.any():
        assert rankdata(-high)[named].mean() <= rankdata(-low)[named].mean() + 1e-9
    assert np.array_equal(low[~named], high[~named])


@settings(max_examples=examples(60), deadline=None)
@given(drawn=items, config=configs)
def test_a_topic_raises_its_items_and_its_going_lowers_them(drawn: Drawn, config: EffectiveConfig) -> None:
    about = ["chess" in words for _, words, _, _ in drawn]
    more = change_applied(config, ADD_TOPIC, "chess", "chess")

    check(drawn, config, more, about)
    check(drawn, change_applied(more, REMOVE_TOPIC, "chess", ""), more, about)


@settings(max_examples=examples(60), deadline=None)
@given(drawn=items, config=configs, step=st.floats(0.05, 0.3))
def test_a_source_rises_and_falls_with_its_weight(drawn: Drawn, config: EffectiveConfig, step: float) -> None:
    about = [source == "a.example" for source, *_ in drawn]
    weight = config.weight("a.example")

    more = change_applied(config, BOOST_SOURCE, "a.example", weight_text(min(2.0, weight + step)))
    less = change_applied(config, REDUCE_SOURCE, "a.example", weight_text(max(0.1, weight - step)))
    # A weight at its limit cannot move further.
    assume(more.weight("a.example") >= weight >= less.weight("a.example"))
    check(drawn, config, more, about)
    check(drawn, less, config, about)
