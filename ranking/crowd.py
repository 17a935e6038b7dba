"""What a crowd of readers thinks of a source: bounded sums over at least five of them. Pure.

Per source s the deviation is `sum_u (k_us - p_u n_us) / (sum_u n_us + 20)`: how much more than their own base
rate p_u the others like it, shrunk by 20 thumbs. So a generous rater and a strict one say the same.

What keeps a single reader out of sight, and a hundred accounts of one hand from steering:

- a reader counts for a source from three thumbs on it, with at most five (more are scaled down);
- below five readers there is no figure; figures are rounded to steps of 0.05 and held within +-0.2;
- numbers of readers and thumbs leave only rounded down to fives.

So one reader's joining or leaving moves a figure by at most `influence_max` before it is rounded, which from
fifty other readers of the source on is about one step. Four accomplices and a victim make five: what the four
can learn is roughly how the victim likes that source (docs/peers.md says how roughly).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ranking.posterior import KAPPA
from ranking.swing import SwingIndex, SwingSettings, likes_matrix

READERS_MIN = 5
THUMBS_MIN = 3
VOTES_MAX = 5.0
SHRINKAGE = 20.0
STEP = 0.05
DEVIATION_MAX = 0.2
# Nearest readers over the threshold who are asked for their opinion; each source takes the first few of them.
PEERS_ASKED_MAX = 50
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Opinion:
    """What at least five readers think of one target, in coarse numbers.

    `readers` and `votes` are rounded down to fives; `deviation` is the like-rate above (+) or below (-) their
    own base rates, in steps of 0.05.
    """

    readers: int
    votes: int
    deviation: float


@dataclass(frozen=True)
class Crowd:
    """The sharing readers of an installation at one day. Rows are `readers`, columns `sources`.

    `votes` and `surplus` hold each reader's bounded thumbs per source and what they have more of likes than
    usual; `base` is each reader's own base rate; `index` is asked who is like whom.
    """

    readers: Mapping[UUID, int]
    sources: Sequence[str]
    base: Floats
    votes: csr_array
    surplus: csr_array
    index: SwingIndex


def crowd_of(
    base: Mapping[UUID, float],
    cells: Iterable[tuple[UUID, str, float, float]],
    liked: Iterable[tuple[UUID, int]],
    settings: SwingSettings,
) -> Crowd:
    """A crowd from each reader's base rate, their (reader, source, likes, thumbs) and what items they liked.

    Cells hold only sources with enough thumbs of that reader. A profile for Swing is the items liked and
    the sources whose posterior rate lies above the reader's base. Rows of unknown readers are left out.
    """
    rows = {reader: row for row, reader in enumerate(base)}
    columns: dict[str, int] = {}
    things: dict[int | str, int] = {}
    entries, pairs = [], []
    for reader, source, likes, thumbs in cells:
        if (row := rows.get(reader)) is None:
            continue
        entries.append((row, columns.setdefault(source, len(columns)), *vote(likes, thumbs, base[reader])))
        if (KAPPA * base[reader] + likes) / (KAPPA + thumbs) > base[reader]:
            pairs.append((row, things.setdefault(source, len(things))))
    for reader, item in liked:
        if (row := rows.get(reader)) is not None:
            pairs.append((row, things.setdefault(item, len(things))))
    table = np.array(entries, dtype=np.float64).reshape(-1, 4)
    at, shape = (table[:, 0].astype(int), table[:, 1].astype(int)), (len(rows), len(columns))
    return Crowd(
        readers=rows,
        sources=tuple(columns),
        base=np.array(list(base.values())),
        votes=csr_array((table[:, 2], at), shape=shape),
        surplus=csr_array((table[:, 3], at), shape=shape),
        index=SwingIndex(likes_matrix(pairs, len(rows), len(things)), settings),
    )


def vote(likes: float, thumbs: float, base: float) -> tuple[float, float]:
    """One reader's (votes, surplus) for a target: at most five thumbs, and likes above their base rate."""
    scale = min(1.0, VOTES_MAX / thumbs) if thumbs > 0 else 0.0
    return thumbs * scale, (likes - base * thumbs) * scale


def influence_max(votes_of_others: float) -> float:
    """The most by which one reader can move an unrounded figure that rests on so many votes of others.

    Their five votes carry a surplus of at most 0.95 each, and so do the others' (base rates lie within
    0.05 and 0.95): 0.95 * 5 * (2 N + 20) / ((N + 20) * (N + 25)).
    """
    n = votes_of_others
    return 0.95 * VOTES_MAX * (2 * n + SHRINKAGE) / ((n + SHRINKAGE) * (n + SHRINKAGE + VOTES_MAX))


def opinion(readers: int, votes: float, surplus: float) -> Opinion | None:
    """The coarse figure of a sum; `None` below five readers."""
    if readers < READERS_MIN:
        return None
    deviation = float(np.clip(surplus / (votes + SHRINKAGE), -DEVIATION_MAX, DEVIATION_MAX))
    return Opinion(_fives(readers), _fives(votes), round(round(deviation / STEP) * STEP, 2))


def opinion_of(said: Sequence[tuple[float, float]]) -> Opinion | None:
    """The figure from (votes, surplus) pairs, one for each reader."""
    return opinion(len(said), sum(v for v, _ in said), sum(s for _, s in said))


def crowd_opinions(crowd: Crowd, members: NDArray[np.bool_]) -> dict[str, Opinion]:
    """What the readers marked in `members` think of each source that five of them rated."""
    mask = members.astype(np.float64)
    counts = np.asarray(mask @ (crowd.votes > 0).astype(np.float64))
    votes, surplus = np.asarray(mask @ crowd.votes), np.asarray(mask @ crowd.surplus)
    return _opinions(crowd, counts, votes, surplus)


def peer_rows(crowd: Crowd, row: int, members: NDArray[np.bool_]) -> list[int]:
    """The rows of the members most like the reader at `row`, nearest first, at most fifty."""
    near = crowd.index.peers(row, PEERS_ASKED_MAX)
    return [other for other, _ in near if members[other]]


def peer_opinions(crowd: Crowd, rows: Sequence[int]) -> dict[str, Opinion]:
    """What the nearest readers think of each source: the first top-k (at least 5) of `rows` who rated it."""
    if len(rows) < READERS_MIN:
        return {}
    votes, surplus = crowd.votes[list(rows)].toarray(), crowd.surplus[list(rows)].toarray()
    most = max(READERS_MIN, crowd.index.settings.top_k)
    asked = (votes > 0) & (np.cumsum(votes > 0, axis=0) <= most)
    return _opinions(crowd, asked.sum(axis=0), (votes * asked).sum(axis=0), (surplus * asked).sum(axis=0))


def _opinions(crowd: Crowd, counts: Floats, votes: Floats, surplus: Floats) -> dict[str, Opinion]:
    found = {}
    for column in np.flatnonzero(counts >= READERS_MIN).tolist():
        said = opinion(int(counts[column]), float(votes[column]), float(surplus[column]))
        if said is not None:
            found[crowd.sources[column]] = said
    return found


def _fives(number: float) -> int:
    return int(number // 5) * 5
