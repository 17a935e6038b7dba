"""The reflector's two rounds on preference records: one forecast of yes or no for each candidate.

Each reader's first thumbs are the history, the next ones are candidates. Every record is written and read
back before it is judged. Round 1 knows only the record: the posteriors of its source and topics against the
reader's base rate. Round 2 is the product's own arithmetic on the figure that would be published of the
candidate (or of its source, if the item has none), from thumbs given before the history ended.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import expit, logit

from advisor.review.reflector import NewEvidence, OwnEvidence, judge_first, judge_second
from digest.feedback.noisy_counts import MEMBER_RATINGS_MIN, votes_counted
from digest.feedback.records import Record, record_parse, record_render, record_row
from ranking.community import (
    EPSILON_WHOLE,
    VOTES_MAX,
    VOTES_WHOLE_MAX,
    Figure,
    Opinion,
    like_rate,
    opinion_of,
    publish,
    with_noise,
)
from ranking.learning import base_rate, posterior
from tests.lab.reflector.data import Rating, by_reader

HISTORY, CANDIDATES_MAX, CANDIDATES_MIN = 20, 20, 5
CASES_MAX = 300
# How many times figures are recomputed in the course of the data.
EPOCHS = 12
# The exact sums, for comparison with noisy figures, need this many thumbs.
EXACT_MIN = 5


@dataclass(frozen=True, slots=True)
class Case:
    """A reader's history and the candidates after it."""

    reader: str
    history: Sequence[Rating]
    candidates: Sequence[Rating]


@dataclass(slots=True)
class Trials:
    """The results, one entry per record. `exact` is round 2 on sums without noise."""

    reader: list[str] = field(default_factory=list)
    liked: list[bool] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    second: list[float] = field(default_factory=list)
    exact: list[float] = field(default_factory=list)
    news: list[bool] = field(default_factory=list)
    ms: list[float] = field(default_factory=list)


def cases_of(ratings: Sequence[Rating], history: int, seed: int) -> list[Case]:
    """At most 300 readers with enough thumbs, in the order in which their histories ended."""
    found = [
        Case(reader, said[:history], said[history : history + CANDIDATES_MAX])
        for reader, said in by_reader(ratings).items()
        if len(said) >= history + CANDIDATES_MIN
    ]
    picked = np.random.default_rng(seed).permutation(len(found))[:CASES_MAX]
    return sorted((found[i] for i in picked), key=lambda case: (case.history[-1].at, case.reader))


def others_shuffled(ratings: Sequence[Rating], seed: int) -> list[Rating]:
    """Return the control: every reader's thumbs shuffled among their own items."""
    rng = np.random.default_rng(seed)
    found = []
    for said in by_reader(ratings).values():
        dealt = rng.permutation([rating.liked for rating in said]).tolist()
        found += [replace(rating, liked=liked) for rating, liked in zip(said, dealt, strict=True)]
    return found


def trials_run(
    ratings: Sequence[Rating],
    *,
    seed: int,
    history: int = HISTORY,
    others: Sequence[Rating] | None = None,
) -> Trials:
    """Judge records of `ratings`. Figures come from `others` (the same thumbs by default)."""
    cases, trials, rng = cases_of(ratings, history, seed), Trials(), np.random.default_rng(seed)
    for epoch in np.array_split(np.arange(len(cases)), EPOCHS):
        asked = [cases[i] for i in epoch]
        if asked:
            began = asked[0].history[-1].at
            earlier = [rating for rating in others or ratings if rating.at < began]
            opinions = [opinions_of(earlier, None), opinions_of(earlier, rng)]
            for case in asked:
                _judge(case, *opinions, trials)
    return trials


def opinions_of(earlier: Sequence[Rating], rng: np.random.Generator | None) -> dict[str, Opinion]:
    """Return the figures of each item and source from readers with enough thumbs, with noise, or exact
    without `rng`."""
    members = [said for said in by_reader(earlier).values() if len(said) >= MEMBER_RATINGS_MIN]
    rows = [rating for said in members for rating in said]
    counts = votes_counted(((r.reader, f"item {r.item}", r.liked) for r in rows), VOTES_MAX)
    sources = votes_counted(((r.reader, f"source {r.source}", r.liked) for r in rows), VOTES_MAX)
    whole = votes_counted(((r.reader, "", r.liked) for r in rows), VOTES_WHOLE_MAX)
    if not sources:
        return {}
    keys = [*counts, *sources]
    likes, thumbs = np.array([*counts.values(), *sources.values()], dtype=np.int64).T
    shown = thumbs >= EXACT_MIN
    if rng is not None:
        likes, thumbs, shown = publish(likes, thumbs, 1 - rng.random((4, len(keys))))
        all_likes, all_thumbs = np.array(list(whole.values())).T
        drawn = with_noise(all_likes, all_thumbs, 1 - rng.random((4, 1)), EPSILON_WHOLE)
        whole = {"": (int(drawn[0][0]), int(drawn[1][0]))}
    table = zip(keys, likes.tolist(), thumbs.tolist(), shown, strict=True)
    figures = {key: Figure(liked, n) for key, liked, n, seen in table if seen}
    usual = like_rate(Figure(*counted) for counted in whole.values())
    return {key: opinion_of(figure, usual) for key, figure in figures.items()}


def _judge(case: Case, exact: dict[str, Opinion], noisy: dict[str, Opinion], trials: Trials) -> None:
    for rating in case.candidates:
        started = time.perf_counter()
        record = record_parse(record_render(record_of(case.history, rating)))
        own = OwnEvidence(forecast_own(record))
        news = NewEvidence(_opinion(noisy, rating))
        second = judge_second(own, news, liked=True).p_helpful
        trials.ms.append((time.perf_counter() - started) * 1000)
        trials.reader.append(case.reader)
        trials.liked.append(rating.liked)
        trials.first.append(judge_first(own).p_helpful)
        trials.second.append(second)
        known = NewEvidence(_opinion(exact, rating))
        trials.exact.append(judge_second(own, known, liked=True).p_helpful)
        trials.news.append(news.has_any)


def record_of(history: Sequence[Rating], candidate: Rating) -> Record:
    """Return the Yes/No record of a history and a candidate."""
    rows = [record_row(r.at, r.source, r.title, liked=r.liked, topics=r.topics) for r in history]
    return Record(tuple(rows), candidate.title, candidate.source, candidate.topics, liked=candidate.liked)


def forecast_own(record: Record) -> float:
    """Return P(the candidate is liked) from the history alone.

    It is the base rate, moved by the distances of the candidate's source and of its topics' mean from it, in
    logits.
    """
    base = base_rate(sum(row.liked for row in record.rows), len(record.rows))
    source = _log_odds([row.liked for row in record.rows if row.source == record.source], base)
    topics = [_log_odds([row.liked for row in record.rows if t in row.topics], base) for t in record.topics]
    return float(expit(logit(base) + source + (sum(topics) / len(topics) if topics else 0.0)))


def _log_odds(said: Sequence[bool], base: float) -> float:
    return posterior(float(sum(said)), float(len(said)), base).log_odds


def _opinion(said: dict[str, Opinion], rating: Rating) -> Opinion | None:
    return said.get(f"item {rating.item}") or said.get(f"source {rating.source}")
