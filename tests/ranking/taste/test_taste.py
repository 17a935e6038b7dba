"""The taste factor: leans and likeness of examples, bounded, and the effect of named articles."""

from datetime import timedelta
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranking.entities import Candidate
from ranking.meaning.table import meaning_vectors, usual_centre
from ranking.pool import Pool
from ranking.taste.columns import TasteColumns, taste_learned
from ranking.taste.entities import ARTICLE, BOUNDS, NAMED_WEIGHT, STRENGTH, Example, TasteLevel
from ranking.taste.signal import TasteSignal, likeness_made
from tests.support.factories import CLOCK
from tests.support.thinned import examples

HARBOUR, OPERA, CHIPS = (
    "The harbour reopened to ferries and ships after the storm",
    "The opera house opens its season with a new soprano",
    "Chip makers report record sales of processors",
)
TITLES = (HARBOUR, OPERA, CHIPS)
PACKED = [vector.tobytes() for vector in meaning_vectors(TITLES, [""] * 3)]


NO_NAMES: dict[str, tuple[str, ...]] = {}


def example(n: int, liked: bool, about: int = 0, source: str = "a.example", **more) -> Example:
    return Example(n, source, liked, CLOCK - timedelta(days=1), TITLES[about], meaning=PACKED[about], **more)


def factors(examples, level=TasteLevel.ON, candidates=None, topics=NO_NAMES, **more):
    """Return the factors of three candidates of three sources, one about each subject."""
    candidates = candidates or [
        Candidate(100 + n, f"{'abc'[n]}.example", title, "", CLOCK) for n, title in enumerate(TITLES)
    ]
    pool = Pool(candidates)
    vectors = {c.item_id: PACKED[TITLES.index(c.title)] for c in candidates}
    likeness = likeness_made(examples, list(vectors.values()), usual_centre(), CLOCK)
    signal = TasteSignal(examples, CLOCK, vectors=vectors, centre=usual_centre(), **more)
    return TasteColumns(pool, None, signal, level, taste_learned(signal, topics), likeness)


def test_what_is_like_the_liked_rises_and_what_is_like_the_disliked_falls():
    examples = [example(n, n % 2 == 0, about=n % 2, source="z.example") for n in range(8)]
    harbour, opera, chips = factors(examples).factors
    assert harbour > 1.2 and opera < 0.9
    assert chips == pytest.approx(1, abs=0.1)


def test_a_source_that_is_liked_more_than_usual_rises():
    examples = [Example(n, "ab"[n % 2] + ".example", n % 2 == 0, CLOCK, f"Title {n}") for n in range(20)]
    liked, disliked, unknown = factors(examples).factors
    assert liked > 1 > disliked and unknown == 1


def test_what_says_another_name_of_a_topic_leans_with_the_topic():
    def titled(n: int, up: bool) -> Example:
        return Example(n, f"{n}.example", up, CLOCK, "Wimbledon" if up else f"Plain {n}")

    examples = [titled(n, n % 2 == 0) for n in range(20)]
    candidates = [
        Candidate(100 + n, f"{n}.new", title, "", CLOCK)
        for n, title in enumerate(("A tennis club", "Rain at Wimbledon", "Nothing of either"))
    ]
    pool, signal, still = Pool(candidates), TasteSignal(examples, CLOCK), np.zeros(3)

    def of(topics):
        return TasteColumns(pool, None, signal, TasteLevel.ON, taste_learned(signal, topics), still).factors

    assert of({"Tennis": ()}).tolist() == [1, 1, 1]
    tennis, wimbledon, plain = of({"Tennis": ("Wimbledon",)})
    assert tennis == wimbledon > 1.1 and plain == 1


def test_no_taste_works_against_a_decision_of_the_last_days():
    examples = [Example(n, "ab"[n % 2] + ".example", n % 2 == 0, CLOCK, f"Title {n}") for n in range(20)]
    free = factors(examples).factors
    up = factors(examples, on_hold={"a.example": 1, "b.example": 1}).factors
    down = factors(examples, on_hold={"a.example": -1, "b.example": -1}).factors
    unknown = factors(examples, on_hold={"a.example": 0, "b.example": 0}).factors
    assert free[0] > 1 > free[1]
    assert (up[0], up[1]) == (free[0], 1), "up: the liked one keeps its lean, the disliked one loses it"
    assert (down[0], down[1]) == (1, free[1])
    assert unknown.tolist() == [1, 1, 1]


def test_without_examples_or_with_the_level_off_nothing_changes():
    assert factors([]).factors.tolist() == [1, 1, 1]
    examples = [example(n, n % 2 == 0, about=n % 2) for n in range(8)]
    assert factors(examples, TasteLevel.OFF).factors.tolist() == [1, 1, 1]


def test_if_readers_prefer_nothing_only_likeness_is_left():
    examples = [Example(n, "ab"[n % 2] + ".example", n % 2 == 0, CLOCK, f"Title {n}") for n in range(20)]
    assert factors(examples, spread=0.0).factors.tolist() == [1, 1, 1]


def test_a_named_article_says_more_than_a_thumb():
    thumbs = [example(n, n % 2 == 0, about=2, source="z.example") for n in range(6)]
    named = example(9, True, about=0, source="z.example", weight=NAMED_WEIGHT, named=True)
    thumb = example(9, True, about=0, source="z.example")
    by_name, by_thumb = (
        likeness_made([*thumbs, one], PACKED, usual_centre(), CLOCK)[0] for one in (named, thumb)
    )
    assert by_name > by_thumb > 0


def test_articles_named_before_any_thumb_raise_what_is_like_them():
    named = [example(n, True, about=0, source="z.example", weight=NAMED_WEIGHT, named=True) for n in range(3)]
    harbour, opera, _ = factors(named).factors
    assert harbour == BOUNDS[TasteLevel.ON] and opera == pytest.approx(1, abs=0.1)


def test_of_the_categories_of_an_item_the_two_strongest_count():
    examples = [
        Example(n, "xy"[n // 2 % 2], n % 2 == 0, CLOCK, categories=(("A", "B", "C"), ())[n % 2])
        for n in range(12)
    ]
    # Three categories, each missing from another example.
    examples[0] = Example(0, "x", True, CLOCK, categories=("A", "B"))
    examples[2] = Example(2, "y", True, CLOCK, categories=("B", "C"))
    leans = {one.target.key: one.lean for one in taste_learned(TasteSignal(examples, CLOCK), {})}
    candidate = Candidate(1, "new.example", "", "", CLOCK, categories=("A", "B", "C"))
    signal = TasteSignal(examples, CLOCK)
    found = TasteColumns(
        Pool([candidate]), None, signal, TasteLevel.STRONG, taste_learned(signal, {}), np.zeros(1)
    )
    two = sum(sorted((leans["a"], leans["b"], leans["c"]))[1:])
    assert found.factors[0] == pytest.approx(min(3, exp(STRENGTH * two)))
    assert len(found.reasons(np.array([0]))[0]) == 2


def test_reasons_name_the_target_with_its_thumbs_and_the_most_similar_article():
    examples = [example(n, n % 4 != 1, about=n % 2, source="ab"[n % 2] + ".example") for n in range(8)]
    found = factors(examples)
    (reasons,) = found.reasons(np.array([1]))
    by_kind = {one.kind: one for one in reasons}
    assert (by_kind["source"].label, by_kind["source"].likes, by_kind["source"].thumbs) == ("b.example", 2, 4)
    assert by_kind[ARTICLE].label == OPERA


def test_no_article_is_said_to_be_like_itself():
    examples = [example(n, liked=True, about=n % 2) for n in range(8)]
    rated = [Candidate(n, "c.example", TITLES[n % 2], "", CLOCK) for n in range(8)]
    found = factors(examples, candidates=rated).reasons(np.arange(8))
    nearest = [next(one.label for one in reasons if one.kind == ARTICLE) for reasons in found]
    # Of several that are equally alike the first is named: of these, each of two subjects has one.
    assert nearest == ["", "", *(TITLES[n % 2] for n in range(2, 8))]


@given(
    st.lists(
        st.tuples(
            st.booleans(), st.integers(0, 2), st.sampled_from("abc"), st.booleans(), st.integers(0, 90)
        ),
        max_size=30,
    ),
    st.sampled_from([TasteLevel.ON, TasteLevel.STRONG]),
    st.integers(0, 2),
)
@settings(max_examples=examples(150), deadline=None)
def test_the_factor_is_bounded_its_reasons_make_it_and_liking_more_never_lowers(drawn, level, about):
    examples = [
        Example(
            n,
            f"{source}.example",
            liked or named,
            CLOCK - timedelta(days=age),
            TITLES[subject],
            meaning=PACKED[subject],
            weight=NAMED_WEIGHT if named else 1.0,
            named=named,
        )
        for n, (liked, subject, source, named, age) in enumerate(drawn)
    ]
    found = factors(examples, level)
    bound = BOUNDS[level]
    assert (found.factors >= 1 / bound - 1e-9).all() and (found.factors <= bound + 1e-9).all()
    for factor, reasons in zip(found.factors, found.reasons(np.arange(3)), strict=True):
        exponent = STRENGTH * sum(one.lean for one in reasons)
        assert factor == pytest.approx(exp(np.clip(exponent, -log(bound), log(bound))))
    source = "abc"[about] + ".example"
    more = [*examples, Example(99, source, True, CLOCK, TITLES[about], meaning=PACKED[about])]
    assert factors(more, level).factors[about] >= found.factors[about] - 1e-9
