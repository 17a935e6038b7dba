"""Who is like a reader, among 50,000: `python -m tests.lab bench.swing [--json] [--readers N] [--rows N]`.

Made-up likes: thirty a reader on average (10 and a geometric rest), of half as many things as there are
readers (at least 2,000), whose popularity falls as rank^-0.8. Ours is one reader's row of Swing
(`SwingIndex.row`, the normalised form of the product) and the choice of peers from it, for readers drawn at
random; nothing is kept between two of them. Beside it, in the same run, `implicit` fits all rows at once
with one thread (`ItemItemRecommender`, the six nearest) on the raw weights, whose sums are the raw form's.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, diags

from ranking.swing import RAW, SwingIndex, SwingSettings
from tests.lab.bench.engine import peak_mb, where

SEED = 42
Row = dict[str, object]


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--readers", type=int, default=50_000)
    parser.add_argument("--rows", type=int, default=500, help="readers who are asked for")
    parser.add_argument("--alone", action="store_true", help="without the peer")
    options = parser.parse_args()
    likes = world(options.readers)
    asked = np.random.default_rng(SEED + 1).integers(0, options.readers, options.rows).tolist()
    rows = [*ours(likes, asked), *([] if options.alone else [peer(likes, asked[:20])])]
    report = {
        "command": "python -m tests.lab bench.swing",
        **where(),
        "seed": SEED,
        "readers": options.readers,
        "likes": int(likes.nnz),
        "rows": rows,
    }
    print(json.dumps(report) if options.json else "\n".join(map(str, [report["readers"], *rows])))


def world(readers: int) -> csr_array:
    """Readers x things, 0/1."""
    draw = np.random.default_rng(SEED)
    things = max(2_000, readers // 2)
    shares = np.cumsum(np.arange(1, things + 1) ** -0.8)
    many = 10 + draw.geometric(1 / 20, readers)
    who = np.repeat(np.arange(readers), many)
    what = np.searchsorted(shares / shares[-1], draw.random(len(who)))
    likes = csr_array((np.ones(len(who)), (who, np.minimum(what, things - 1))), shape=(readers, things))
    likes.data[:] = 1  # a thing drawn twice is liked once
    return likes


def ours(likes: csr_array, asked: Sequence[int]) -> list[Row]:
    """The row, and the peers chosen from it; what is made once per community apart."""
    index = SwingIndex(likes)
    began = time.perf_counter()
    index.row(asked[0])
    made = time.perf_counter() - began
    rows = [
        timed("Tidings, a reader's row", index.row, asked),
        timed("Tidings, row and peers", index.peers, asked),
    ]
    rows[0]["index_s"] = round(made, 3)
    return rows


def timed(name: str, work: Callable[[int], object], asked: Sequence[int]) -> Row:
    """Milliseconds of one reader by the clock and of the processor."""
    wall, cpu = [], []
    for reader in asked:
        began, worked = time.perf_counter(), time.process_time()
        work(reader)
        wall.append(1000 * (time.perf_counter() - began))
        cpu.append(1000 * (time.process_time() - worked))
    p50, p95 = np.quantile(wall, [0.5, 0.95])
    return {
        "name": name,
        "p50_ms": round(float(p50), 2),
        "p95_ms": round(float(p95), 2),
        "cpu_p95_ms": round(float(np.quantile(cpu, 0.95)), 2),
        "peak_mb": peak_mb(),
    }


def peer(likes: csr_array, checked: Sequence[int]) -> Row:
    """All rows at once by `implicit`, held against ours for a few readers."""
    from importlib.metadata import version  # noqa: PLC0415

    from implicit.nearest_neighbours import ItemItemRecommender  # noqa: PLC0415

    raw = SwingSettings(form=RAW)
    began = time.perf_counter()
    model = ItemItemRecommender(K=6, num_threads=1)
    model.fit(weighed(likes, raw).T.tocsr(), show_progress=False)
    taken = time.perf_counter() - began
    index = SwingIndex(likes, raw)
    same = [np.allclose(nearest(index.row(r)), others(model, r), atol=1e-6) for r in checked]
    return {
        "name": f"implicit {version('implicit')}, all rows",
        "fit_s": round(taken, 1),
        "fit_ms_a_reader": round(1000 * taken / likes.shape[0], 3),
        "same_nearest": f"{sum(same)} of {len(same)}",
        "peak_mb": peak_mb(),
    }


def weighed(likes: csr_array, settings: SwingSettings) -> csr_matrix:
    """W with W W^T = the raw form: (n + a1)^-b by reader, (m + a2)^-1/2 by thing."""
    many, known = np.asarray(likes.sum(axis=1)).ravel(), np.asarray(likes.sum(axis=0)).ravel()
    left = diags((many + settings.alpha1) ** -settings.beta)
    return csr_matrix(left @ likes @ diags((known + settings.alpha2) ** -0.5))


def nearest(row: NDArray[np.float64]) -> NDArray[np.float64]:
    """The five largest similarities of a row of ours."""
    return np.sort(row)[::-1][:5]


def others(model: object, reader: int) -> NDArray[np.float64]:
    """The peer's five largest, without the reader."""
    found, scores = model.similar_items(reader, 6)  # type: ignore[attr-defined]
    return np.sort(scores[found != reader])[::-1][:5]


if __name__ == "__main__":
    main()
