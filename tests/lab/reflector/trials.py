"""The reflector's two rounds on preference records: one forecast of yes or no for each candidate.

Each reader's first thumbs are the history, the next ones are candidates; every record is written and read
back before it is judged. Round 1 knows the record alone: the posteriors of its source and topics against the
reader's base rate. Round 2 is the product's own arithmetic on what the product's crowd says of the candidate
(of its source, where too few rated the item itself), from thumbs given before the reader's history ended.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import NAMESPACE_OID, UUID, uuid5

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from advisor.review.reflector import NewEvidence, OwnEvidence, judge_first, judge_second
from digest.feedback.records import Record, record_parse, record_render, record_row
from ranking.crowd import THUMBS_MIN, Crowd, Opinion, crowd_of, crowd_opinions, peer_opinions, peer_rows
from ranking.learning import base_rate, posterior
from ranking.swing import SwingSettings
from tests.lab.reflector.data import Rating, by_reader

HISTORY, CANDIDATES_MAX, CANDIDATES_MIN = 20, 20, 5
CASES_MAX = 300
MEMBER_THUMBS_MIN = 20
# The crowd is read anew this many times in the course of the data.
EPOCHS = 12
VOTERS = 5


@dataclass(frozen=True, slots=True)
class Case:
    """A reader's history and the candidates after it."""

    reader: str
    history: Sequence[Rating]
    candidates: Sequence[Rating]


@dataclass(slots=True)
class Trials:
    """What came out, one entry for each record; votes are -1, 0 (none or a tie) and 1."""

    reader: list[str] = field(default_factory=list)
    liked: list[bool] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    second: list[float] = field(default_factory=list)
    peers_only: list[float] = field(default_factory=list)
    community_only: list[float] = field(default_factory=list)
    near: list[bool] = field(default_factory=list)
    news: list[bool] = field(default_factory=list)
    hit: dict[str, list[bool]] = field(default_factory=lambda: {"peers": [], "random": []})
    vote: dict[str, list[int]] = field(default_factory=lambda: {"peers": [], "random": [], "community": []})
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
    """The control: every reader's thumbs dealt out anew among their own items."""
    rng = np.random.default_rng(seed)
    found = []
    for said in by_reader(ratings).values():
        dealt = rng.permutation([rating.liked for rating in said]).tolist()
        found += [replace(rating, liked=liked) for rating, liked in zip(said, dealt, strict=True)]
    return found


def trials_run(
    ratings: Sequence[Rating],
    settings: SwingSettings,
    *,
    seed: int,
    history: int = HISTORY,
    others: Sequence[Rating] | None = None,
) -> Trials:
    """Judge records of `ratings`; the crowd is made of `others` (the same thumbs by default)."""
    cases, trials, rng = cases_of(ratings, history, seed), Trials(), np.random.default_rng(seed)
    for epoch in np.array_split(np.arange(len(cases)), EPOCHS):
        asked = [cases[i] for i in epoch]
        if asked:
            began = asked[0].history[-1].at
            earlier = [rating for rating in others or ratings if rating.at < began]
            crowd, votes = _crowd(earlier, asked, settings)
            for case in asked:
                _judge(case, crowd, votes, trials, rng)
    return trials


def _crowd(
    earlier: Sequence[Rating], asked: Sequence[Case], settings: SwingSettings
) -> tuple[Crowd, dict[UUID, dict[str, int]]]:
    """The crowd of the earlier thumbs, with a row of its own for each asker, and who voted how on what."""
    members = {
        member_id(reader): said
        for reader, said in by_reader(earlier).items()
        if len(said) >= MEMBER_THUMBS_MIN
    }
    askers = {asker_id(case.reader): case.history for case in asked}
    said = {**members, **askers}
    base = {
        reader: base_rate(sum(rating.liked for rating in rows), len(rows)) for reader, rows in said.items()
    }
    cells = [cell for reader, rows in said.items() for cell in _cells(reader, rows)]
    votes = {reader: {r.item: 1 if r.liked else -1 for r in rows} for reader, rows in members.items()}
    return crowd_of(base, cells, [], settings), votes


def member_id(reader: str) -> UUID:
    """The row of a reader as one of the crowd."""
    return uuid5(NAMESPACE_OID, f"member {reader}")


def asker_id(reader: str) -> UUID:
    """The row of a reader's history, which asks and never answers."""
    return uuid5(NAMESPACE_OID, f"asker {reader}")


def _cells(reader: UUID, rows: Sequence[Rating]) -> list[tuple[UUID, str, float, float]]:
    """(reader, key, likes, thumbs) per item and per source with enough thumbs."""
    sources: dict[str, list[bool]] = {}
    for rating in rows:
        sources.setdefault(f"source {rating.source}", []).append(rating.liked)
    items = {f"item {rating.item}": float(rating.liked) for rating in rows}
    return [
        *((reader, key, liked, 1.0) for key, liked in items.items()),
        *((reader, k, float(sum(s)), float(len(s))) for k, s in sources.items() if len(s) >= THUMBS_MIN),
    ]


def _judge(
    case: Case,
    crowd: Crowd,
    votes: dict[UUID, dict[str, int]],
    trials: Trials,
    rng: np.random.Generator,
) -> None:
    row, own = crowd.readers[asker_id(case.reader)], member_id(case.reader)
    ids = list(crowd.readers)
    others = np.array([reader in votes and reader != own for reader in ids])
    rows = peer_rows(crowd, row, others)
    peers, community = peer_opinions(crowd, rows), crowd_opinions(crowd, others)
    near = [ids[r] for r in rows[:VOTERS]]
    chance = [ids[r] for r in rng.permutation(np.flatnonzero(others))[:VOTERS]]
    everyone = [ids[r] for r in np.flatnonzero(others)]
    for rating in case.candidates:
        started = time.perf_counter()
        record = record_parse(record_render(record_of(case.history, rating)))
        own_p = OwnEvidence(forecast_own(record))
        news = NewEvidence(_opinion(peers, rating), _opinion(community, rating))
        second = judge_second(own_p, news, liked=True).p_helpful
        trials.ms.append((time.perf_counter() - started) * 1000)
        trials.reader.append(case.reader)
        trials.liked.append(rating.liked)
        trials.first.append(judge_first(own_p).p_helpful)
        trials.second.append(second)
        for some, kept in (
            (NewEvidence(peers=news.peers), trials.peers_only),
            (NewEvidence(community=news.community), trials.community_only),
        ):
            kept.append(judge_second(own_p, some, liked=True).p_helpful)
        trials.near.append(bool(near))
        trials.news.append(news.has_any)
        for name, asked in (("peers", near), ("random", chance), ("community", everyone)):
            said = [votes[reader].get(rating.item, 0) for reader in asked]
            trials.vote[name].append(int(np.sign(sum(said))))
            if name in trials.hit:
                trials.hit[name].append(any(said))


def record_of(history: Sequence[Rating], candidate: Rating) -> Record:
    """The Yes/No record of a history and a candidate."""
    rows = [record_row(r.at, r.source, r.title, liked=r.liked, topics=r.topics) for r in history]
    return Record(tuple(rows), candidate.title, candidate.source, candidate.topics, liked=candidate.liked)


def forecast_own(record: Record) -> float:
    """P(the candidate is liked) from the history alone.

    The base rate, moved by how far the candidate's source and the mean of its topics lie from it in logits.
    """
    base = base_rate(sum(row.liked for row in record.rows), len(record.rows))
    source = _log_odds([row.liked for row in record.rows if row.source == record.source], base)
    topics = [_log_odds([row.liked for row in record.rows if t in row.topics], base) for t in record.topics]
    return float(expit(logit(base) + source + (sum(topics) / len(topics) if topics else 0.0)))


def _log_odds(said: Sequence[bool], base: float) -> float:
    return posterior(float(sum(said)), float(len(said)), base).log_odds


def _opinion(said: dict[str, Opinion], rating: Rating) -> Opinion | None:
    return said.get(f"item {rating.item}") or said.get(f"source {rating.source}")


def agreement(votes: Sequence[int], liked: NDArray[np.bool_]) -> float | None:
    """The share of decided votes that said what the reader said; `None` where none was decided."""
    said = np.asarray(votes)
    decided = said != 0
    return float(((said > 0) == liked)[decided].mean()) if decided.any() else None
