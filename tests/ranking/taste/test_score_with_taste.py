"""Taste in the score: without a yes nothing changes, and with one the explanation multiplies to the score."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import exp, log, prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digest.daily.item_words import BreakdownLine, score_explain
from ranking.entities import Candidate, Config, EffectiveConfig, Score
from ranking.language import times
from ranking.meaning.table import meaning_vectors, usual_centre
from ranking.scoring import Signals, rank
from ranking.taste.entities import BOUNDS, STRENGTH, Example, TasteLevel, TasteReason
from ranking.taste.signal import TasteSignal, likeness_made
from tests.support.thinned import examples

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)
TITLES = (
    "The harbour reopened to ferries and ships after the storm",
    "The opera house opens its season with a new soprano",
    "Chip makers report record sales of processors",
)
PACKED = [vector.tobytes() for vector in meaning_vectors(TITLES, [""] * len(TITLES))]
SOURCES = ("a.example", "b.example", "c.example")

# A source, a subject, an age in hours, and how other readers liked it.
items = st.lists(
    st.tuples(st.sampled_from(SOURCES), st.integers(0, 2), st.integers(0, 120), st.floats(0, 1)),
    min_size=1,
    max_size=12,
)
# A source, a subject, a thumb, and its age in days.
thumbs = st.lists(
    st.tuples(st.sampled_from(SOURCES), st.integers(0, 2), st.booleans(), st.integers(0, 60)), max_size=25
)
configs = st.builds(
    lambda topics, weight, boost: Config(
        version=1,
        topics=tuple(sorted(topics)),
        source_weights={"a.example": weight},
        keyword_boosts={"season": boost},
    ),
    st.sets(st.sampled_from(("harbour", "opera", "chip"))),
    st.floats(0.1, 2.0),
    st.floats(-2, 2),
)
Drawn = Sequence[tuple[str, int, int, float]]
Given = Sequence[tuple[str, int, bool, int]]


def scores(drawn: Drawn, given_: Given, config: Config) -> list[Score]:
    """Rank the drawn items for a reader who gave these thumbs."""
    candidates = [
        Candidate(n, source, TITLES[about], "", NOW - timedelta(hours=hours))
        for n, (source, about, hours, _) in enumerate(drawn)
    ]
    examples = [
        Example(1000 + n, source, liked, NOW - timedelta(days=age), TITLES[about], meaning=PACKED[about])
        for n, (source, about, liked, age) in enumerate(given_)
    ]
    vectors = {n: PACKED[about] for n, (_, about, *_) in enumerate(drawn)}
    found = likeness_made(examples, list(vectors.values()), usual_centre(), NOW)
    likeness = dict(zip(vectors, found.tolist(), strict=True))
    taste = TasteSignal(examples, NOW, likeness=likeness, vectors=vectors, centre=usual_centre())
    community = {n: liked for n, (*_, liked) in enumerate(drawn)}
    return rank(candidates, EffectiveConfig(config), NOW, Signals(community=community, taste=taste))


def score_of_before(one: Candidate, config: Config, liked: float) -> float:
    """Return the score by the formula that was the whole one before taste, meaning and days came."""
    words = one.title.casefold().split()
    interest = 1 + sum(any(word.rstrip("s") == topic for word in words) for topic in config.topics)
    interest += sum(boost for word, boost in config.keyword_boosts.items() if word in words) + 3.0 * liked
    hours = (NOW - one.dated_at).total_seconds() / 3600
    weight = config.source_weights.get(one.source, 1.0)
    return float(weight * 0.5 ** (hours / config.recency_half_life_hours) * max(0.05, interest))


@given(items, thumbs, configs)
@settings(max_examples=examples(80), deadline=None)
def test_with_the_level_off_thumbs_order_nothing_and_scores_are_those_of_before(drawn, given_, config):
    assert config.taste is TasteLevel.OFF, "nothing is bent unasked"
    by_hour = replace(config, recency_by_day=False)
    for one in scores(drawn, given_, by_hour):
        expected = score_of_before(one.candidate, by_hour, drawn[one.candidate.item_id][3])
        assert one.total == pytest.approx(expected)
        assert one.parts.taste == 1 and not one.parts.tastes
    with_thumbs, without = (
        [one.candidate.item_id for one in scores(drawn, some, config)] for some in (given_, ())
    )
    assert with_thumbs == without, "by whole days, too"


@given(items, thumbs, configs, st.sampled_from((TasteLevel.ON, TasteLevel.STRONG)), st.booleans())
@settings(max_examples=examples(120), deadline=None)
def test_with_taste_on_the_stored_explanation_multiplies_to_the_score(drawn, given_, config, level, by_day):
    config = replace(config, recency_by_day=by_day, taste=level)
    for one in scores(drawn, given_, config):
        parts = json.loads(json.dumps(one.parts.as_dict()))
        factors = (parts["source_weight"], parts["recency"], parts["interest"], parts.get("taste", 1.0))
        assert prod(factors) == pytest.approx(one.total)
        exponent = STRENGTH * sum(TasteReason(*reason).lean for reason in parts.get("tastes", ()))
        bound = log(BOUNDS[level])
        assert factors[3] == pytest.approx(exp(min(bound, max(-bound, exponent))), rel=1e-3)
        told = score_explain(parts, one.total, "A source")
        low, high = bounds_of([line for line in told.lines if not line.part])
        assert low <= rounded(told.total)[1] and rounded(told.total)[0] <= high


def bounds_of(lines: Sequence[BreakdownLine]) -> tuple[float, float]:
    """Return the least and the largest product of what the lines show before they are rounded."""
    both = [rounded(line.figure.removeprefix(times(""))) for line in lines]
    return prod(low for low, _ in both), prod(high for _, high in both)


def rounded(text: str) -> tuple[float, float]:
    """Return the bounds of a number that is shown rounded."""
    if text == "almost 0":
        return 0.0, 0.0001
    number = Decimal(text)
    half = Decimal(1).scaleb(int(number.as_tuple().exponent)) / 2
    return float(number - half), float(number + half)


def test_a_liked_article_is_named_only_by_what_is_clearly_like_it():
    """After three thumbs an article was "like" one about something else, which shared a word with it."""
    liked = "Ferries return to the harbour after the storm"
    titles = {
        "The harbour reopened to ferries after the storm": liked,
        "Storm closes the harbour, and ferries stay in port": liked,
        "The opera house opens its season with a new soprano": "",
        "A new port of the game comes to consoles after a long wait": "",
        "How ships of the line were built": "",
    }
    packed = [one.tobytes() for one in meaning_vectors([liked, *titles], [""] * (len(titles) + 1))]
    examples = [Example(99, "a.example", True, NOW, liked, meaning=packed[0])]
    candidates = [Candidate(n, "b.example", title, "", NOW) for n, title in enumerate(titles)]
    found = likeness_made(examples, packed[1:], usual_centre(), NOW)
    vectors = dict(enumerate(packed[1:]))
    taste = TasteSignal(
        examples, NOW, likeness=dict(enumerate(found.tolist())), vectors=vectors, centre=usual_centre()
    )
    scored = rank(candidates, EffectiveConfig(Config(taste=TasteLevel.STRONG)), NOW, Signals(taste=taste))
    named = {
        one.candidate.title: reason.label
        for one in scored
        for reason in one.parts.tastes
        if reason.kind == "article"
    }
    assert named == titles
