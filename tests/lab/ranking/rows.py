"""The rows of `python -m tests.lab ranking`: the order by each rule, the effect of each part, and the
targets."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import rankdata

from ranking.implicit import WEIGHT_PRIOR
from ranking.similarity import HASH_BUCKETS, vectors_stack
from tests.lab.ranking.data import MIND, MOVIELENS, MOVIELENS_CUT, Case
from tests.lab.ranking.world import Parts, World

TOP = 10
DRAWS = 1000
# With fewer readers a mean says nothing that could be asked for.
TARGET_READERS = 20
Floats = NDArray[np.float64]
Json = dict[str, Any]
Order = Callable[[World, Case, tuple[tuple[int, bool], ...]], Floats]
RECENCY, POPULARITY, FULL, SILENT = "recency", "popularity", "full score", "no feedback"
READ, READ_IN_FULL, READ_BY_ANOTHER = "opens alone", "opens alone, full weight", "opens of another reader"
SHUFFLED = "shuffled thumbs, reader's own parts"
OWN_PARTS = Parts(community=False, recency=False)


def _with(parts: Parts) -> Order:
    return lambda world, case, thumbs: world.score(case, thumbs, parts)


def _fresh(world: World, case: Case, thumbs: tuple[tuple[int, bool], ...]) -> Floats:
    return world.data.fresh[list(case.offered)]


ROWS: dict[str, Order] = {
    RECENCY: _fresh,
    POPULARITY: lambda world, case, thumbs: world.popularity(case),
    "TF-IDF alone": lambda world, case, thumbs: world.similarity(case, thumbs),
    "source and topic rates alone": lambda world, case, thumbs: world.rates(case, thumbs),
    "plain formula": lambda world, case, thumbs: world.plain(case, thumbs),
    FULL: _with(Parts()),
    "without similarity": _with(Parts(similarity=False)),
    "without community": _with(Parts(community=False)),
    "community without noise, from five thumbs on": _with(Parts(noise=False)),
    "without learned weights": _with(Parts(weights=False)),
    "without topics": _with(Parts(topics=False)),
    "without recency": _with(Parts(recency=False)),
    "without agreement": _with(Parts(agreement=0.0)),
    "twice the agreement": _with(Parts(agreement=2.0)),
    "four times the agreement": _with(Parts(agreement=4.0)),
    "similarity share 0": _with(Parts(alpha=0.0)),
    "similarity share 0.3": _with(Parts(alpha=0.3)),
    "similarity share 1": _with(Parts(alpha=1.0)),
    "reader's own parts": _with(OWN_PARTS),
    SHUFFLED: _with(OWN_PARTS),
    SILENT: lambda world, case, thumbs: world.score(case, (), Parts()),
}
# Clicks as opens, instead of thumbs. Only for histories that record the shown items.
OPENS: dict[str, Order] = {
    READ: lambda world, case, thumbs: world.score(case, (), Parts(reading=WEIGHT_PRIOR)),
    READ_IN_FULL: lambda world, case, thumbs: world.score(case, (), Parts(reading=1.0)),
    READ_BY_ANOTHER: lambda world, case, thumbs: world.score(case, (), Parts(anothers=1.0)),
}


class Figures:
    """The scores of one order on each case: nDCG@10, AUC, MRR, diversity and coverage, a column each."""

    NAMES = ("ndcg", "auc", "mrr", "diversity", "coverage")

    def __init__(self, world: World, order: Order, *, seed: int, shuffled: bool = False) -> None:
        """Measure `order` on all cases. `shuffled` first shuffles each reader's own thumbs."""
        rng = np.random.default_rng(seed)
        rows = []
        for case in world.data.cases:
            thumbs = case.thumbs
            if shuffled:
                dealt = rng.permutation([up for _, up in thumbs])
                thumbs = tuple((place, bool(up)) for (place, _), up in zip(thumbs, dealt, strict=True))
            rows.append(_measured(world, case, order(world, case, thumbs), rng))
        self.table: Floats = np.array(rows).reshape(-1, len(self.NAMES))

    def column(self, name: str) -> Floats:
        """Return one figure over the cases."""
        values: Floats = self.table[:, self.NAMES.index(name)]
        return values


def _measured(world: World, case: Case, score: Floats, rng: np.random.Generator) -> list[float]:
    liked = np.array(case.liked)
    # Ties fall at random: no order that the data came in may help.
    shown = np.lexsort((rng.random(len(score)), -score))
    gains, ideal = liked[shown][:TOP], -np.sort(-liked.astype(float))[:TOP]
    discount = 1 / np.log2(np.arange(2, len(gains) + 2))
    ups = liked.sum()
    ranks = rankdata(score)
    auc = (ranks[liked].sum() - ups * (ups + 1) / 2) / (ups * (len(liked) - ups))
    places = [case.offered[n] for n in shown[:TOP]]
    rows = vectors_stack([world.packed[place] for place in places])
    top = csr_array((rows.weights, rows.indices, rows.starts), shape=(len(places), HASH_BUCKETS))
    alike = (top @ top.T).toarray()[np.triu_indices(len(places), 1)]
    sources = {world.data.items[place].source for place in case.offered}
    seen = {world.data.items[place].source for place in places}
    return [
        float((gains * discount).sum() / (ideal * discount).sum()),
        float(auc),
        float(1 / (1 + np.argmax(liked[shown]))),
        float(1 - alike.mean()),
        len(seen) / min(TOP, len(sources)),
    ]


def interval(values: Floats, seed: int) -> list[float]:
    """Return the 95 % interval of a mean, by bootstrap over readers."""
    drawn = np.random.default_rng(seed).integers(0, len(values), (DRAWS, len(values)))
    return [round(float(x), 4) for x in np.percentile(values[drawn].mean(axis=1), (2.5, 97.5))]


def rows_of(world: World, *, seed: int, names: Sequence[str] = tuple(ROWS)) -> tuple[list[Json], list[Json]]:
    """Return the rows of one data set, and the targets it is held to."""
    orders = {name: ROWS[name] for name in names} | (OPENS if any(c.pages for c in world.data.cases) else {})
    figures = {
        name: Figures(world, order, seed=seed, shuffled=name == SHUFFLED) for name, order in orders.items()
    }
    rows = []
    for name, one in figures.items():
        row: Json = {"data": world.data.name, "name": name, "readers": len(one.table)}
        for figure in Figures.NAMES:
            row[figure] = round(float(one.column(figure).mean()), 4)
        for figure in ("ndcg", "auc"):
            row[f"{figure}_95"] = interval(one.column(figure), seed)
        if name != FULL:
            apart = figures[FULL].column("auc") - one.column("auc")
            row["full_over_it_auc"] = round(float(apart.mean()), 4)
            row["full_over_it_auc_95"] = interval(apart, seed)
        for figure in ("auc", "ndcg") if name in OPENS else ():
            gained = one.column(figure) - figures[SILENT].column(figure)
            row[f"over_no_feedback_{figure}"] = round(float(gained.mean()), 4)
            row[f"over_no_feedback_{figure}_95"] = interval(gained, seed)
        rows.append(row)
    return rows, _targets(world.data.name, figures, seed)


def _targets(data: str, figures: dict[str, Figures], seed: int) -> list[Json]:
    """Return the targets: above popularity; not below recency without feedback, if items age; chance when
    shuffled."""
    targets = []
    if len(figures[FULL].table) >= TARGET_READERS:
        over = figures[FULL].column("auc") - figures[POPULARITY].column("auc")
        targets.append(_target(f"{data}: AUC over popularity", 0.0, float(over.mean())))
    if data not in (MOVIELENS, MOVIELENS_CUT):
        over = figures[SILENT].column("ndcg") - figures[RECENCY].column("ndcg")
        name = f"{data}: nDCG@10 over recency without feedback"
        targets.append(_target(name, 0.0, float(over.mean())))
        targets.append(_target(f"{name}, high end", 0.0, interval(over, seed)[1]))
    if data == MIND:
        return targets  # every thumb there is a like: nothing to shuffle
    chance = figures[SHUFFLED].column("auc")
    low, high = interval(chance, seed)
    found = max(low - 0.5, 0.5 - high, 0.0)
    met = found <= 0.01
    name = f"{data}: AUC off 0.5 on shuffled thumbs beyond its interval, at most"
    return [*targets, {"metric": name, "target": 0.01, "value": round(found, 4), "met": met}]


def _target(metric: str, target: float, value: float) -> Json:
    return {"metric": metric, "target": target, "value": round(value, 4), "met": value >= target}
