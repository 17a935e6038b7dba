"""What a crowd of readers thinks of a source: bounded sums over at least five of them.

Per source s the deviation is `sum_u (k_us - p_u n_us) / (sum_u n_us + 20)`: how much more than their own base
rate p_u the others like it, shrunk by 20 thumbs. So a generous rater and a strict one say the same.

What keeps a single reader out of sight, and a hundred accounts of one hand from steering:

- a reader counts for a source from three thumbs on it, with at most five (more are scaled down);
- below five readers there is no figure; figures are rounded to steps of 0.05 and held within +-0.2;
- numbers of readers and thumbs leave only rounded down to fives.

So one reader's joining or leaving moves a figure by at most `influence_max` before it is rounded, which from
fifty other readers of the source on is about one step. Four accomplices and a victim make five: what the four
can learn is roughly how the victim likes that source (docs/peers.md says how roughly). Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ranking.learning import KAPPA
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
    """Return a crowd from readers' base rates, `cells` (reader, source, likes, thumbs) and items they liked.

    Cells have only sources with enough thumbs of that reader. A profile for Swing is the items liked and
    the sources whose posterior rate lies above the reader's base. Rows of unknown readers are left out.
    """
    rows = {reader: row for row, reader in enumerate(base)}
    columns: dict[str, int] = {}
    things: dict[int | str, int] = {}
    entries, pairs = [], []
    for reader, source, likes, thumbs in cells:
        if (row := rows.get(reader)) is None:
            continue
        entries.append(
            (row, columns.setdefault(source, len(columns)), *capped_votes(likes, thumbs, base[reader]))
        )
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


def capped_votes(likes: float, thumbs: float, base: float) -> tuple[float, float]:
    """Return one reader's votes (five at most) for a target and their surplus of likes over the base rate."""
    scale = min(1.0, VOTES_MAX / thumbs) if thumbs > 0 else 0.0
    return thumbs * scale, (likes - base * thumbs) * scale


def influence_max(votes_of_others: float) -> float:
    """Return the most by which one reader can move an unrounded figure of so many votes of others.

    Their five votes carry a surplus of at most 0.95 each, and so do the others' (base rates lie within
    0.05 and 0.95): 0.95 * 5 * (2 N + 20) / ((N + 20) * (N + 25)).
    """
    n = votes_of_others
    return 0.95 * VOTES_MAX * (2 * n + SHRINKAGE) / ((n + SHRINKAGE) * (n + SHRINKAGE + VOTES_MAX))


def opinion(readers: int, votes: float, surplus: float) -> Opinion | None:
    """Return the coarse figure of a sum; `None` below five readers."""
    if readers < READERS_MIN:
        return None
    deviation = float(np.clip(surplus / (votes + SHRINKAGE), -DEVIATION_MAX, DEVIATION_MAX))
    return Opinion(_fives(readers), _fives(votes), round(round(deviation / STEP) * STEP, 2))


def opinion_of(votes: Sequence[tuple[float, float]]) -> Opinion | None:
    """Return the figure of (votes, surplus) pairs, one for each reader."""
    return opinion(len(votes), sum(v for v, _ in votes), sum(s for _, s in votes))


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
        figure = opinion(int(counts[column]), float(votes[column]), float(surplus[column]))
        if figure is not None:
            found[crowd.sources[column]] = figure
    return found


def _fives(number: float) -> int:
    return int(number // 5) * 5


RATERS_MIN = 20
BASE_SHARE = 0.5
# Others may move an item down by less than half (three times this, `ranking.scoring`): never bury it.
LOWEST = -0.15
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class ItemCrowd:
    """The thumbs of a crowd on items. `items` ascending; rows of `surplus` and `given` are its readers.

    `given` holds 1 for each thumb, `surplus` what it has of a like beyond half its reader's base rate.
    """

    items: Ids
    given: csr_array
    surplus: csr_array
    counts: Floats
    sums: Floats


def item_crowd_of(base: Floats, thumbs: Iterable[tuple[int, int, bool]]) -> ItemCrowd:
    """Return the crowd's thumbs from (row of the reader, item, useful), one for each reader and item."""
    cells = np.array([(row, item, useful) for row, item, useful in thumbs], dtype=np.int64).reshape(-1, 3)
    items, columns = np.unique(cells[:, 1], return_inverse=True)
    rows, shape = cells[:, 0], (len(base), len(items))
    ones, over = np.ones(len(cells)), cells[:, 2] - BASE_SHARE * base[rows]
    given = csr_array((ones, (rows, columns)), shape=shape)
    surplus = csr_array((over, (rows, columns)), shape=shape)
    counts = np.bincount(columns, minlength=len(items)).astype(np.float64)
    sums = np.bincount(columns, over, minlength=len(items)).astype(np.float64)
    return ItemCrowd(items, given, surplus, counts, sums)


def item_columns(crowd: ItemCrowd, item_ids: Collection[int]) -> Ids:
    """Return the places in `crowd.items` of those items that somebody rated, ascending."""
    wanted = np.unique(np.fromiter(item_ids, dtype=np.int64, count=len(item_ids)))
    at = np.searchsorted(crowd.items, wanted)
    there = at < len(crowd.items)
    there[there] = crowd.items[at[there]] == wanted[there]
    found: Ids = at[there].astype(np.int64)
    return found


def item_rates(crowd: ItemCrowd, without: Sequence[int], places: Ids | None = None) -> Floats:
    """Return the figure of each of `crowd.items`, or of those at `places`; leave out the rows `without`."""
    rows, at = list(without), slice(None) if places is None else places
    counts, sums = crowd.counts[at], crowd.sums[at]
    if rows:
        counts = counts - np.asarray(crowd.given[rows][:, at].sum(axis=0)).ravel()
        sums = sums - np.asarray(crowd.surplus[rows][:, at].sum(axis=0)).ravel()
    return rates(counts, sums)


def rates(counts: Floats, sums: Floats) -> Floats:
    """Return the figures for numbers of thumbs and their summed surplus."""
    shrunk = np.round(sums / (counts + SHRINKAGE) / STEP) * STEP
    return np.where(counts >= READERS_MIN, np.maximum(LOWEST, shrunk), 0.0)
