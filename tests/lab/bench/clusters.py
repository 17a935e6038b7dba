"""How well items of one story are found: `python -m tests.lab bench.clusters [--json] [--all] [--curve]`.

Data: the labelled stories of `news-aggregator` (Gasparetti 2014), titles only, below `TIDINGS_DATA`. The
stories are halved by the second byte of sha256(story). Thresholds were chosen on the even half; the odd half
is reported. Two comparisons: one cluster per distinct title (the floor), and labels shuffled among the items
(a control that must fail). The labels group days of coverage ("SXSW 2014"), far wider than a story that a
digest may fold into one line. So recall is low on purpose, and precision is the figure that counts.

`--curve` shows the price of more recall: other thresholds on either half, with one item or any number of
items of a source per story, and the same headlines among 2,300 unrelated ones of `mind-small-sample`. The
labelled headlines alone, all of 43 large stories, cannot tell how many unrelated ones land in a story.
"""

import argparse
import csv
import gzip
import hashlib
import json
import os
import random
import time
from collections import Counter
from collections.abc import Hashable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from digest.items.clustering import CENTROID_MIN, SHARED_WORDS_MIN, TitledItem, cluster_items
from ranking.common.text import fold

SEED = 42
# Whether a source tells a story once, the words two headlines share, the cosine to the centroid.
CURVE = [(True, shared, close) for shared in (3, 2) for close in (0.35, 0.25, 0.15)] + [
    (False, shared, close) for shared in (3, 2) for close in (0.25, 0.15)
]
Row = dict[str, float | str | int]


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--all", action="store_true", help="also other thresholds, on the development half")
    parser.add_argument("--curve", action="store_true", help="precision, recall and strangers by threshold")
    options = parser.parse_args()
    began = time.perf_counter()
    told, labels = labelled()
    rows = [*development(told, labels)] if options.all else []
    for half, name in ((0, "development"), (1, "held out")):
        rows += figures(name, *of_half(told, labels, half))
    if options.curve:
        rows += curve(told, labels)
    result = {
        "command": "python -m tests.lab bench.clusters",
        "data": "news-aggregator",
        "seed": SEED,
        "rows": rows,
    }
    result["seconds"] = round(time.perf_counter() - began, 1)
    print(json.dumps(result) if options.json else table(rows))


def labelled() -> tuple[list[TitledItem], list[str]]:
    """Return the items and the story each belongs to, in order of time."""
    path = Path(os.environ["TIDINGS_DATA"]) / "news-aggregator" / "news.csv.gz"
    with gzip.open(path, "rt", newline="", encoding="utf-8") as lines:
        found = sorted(csv.DictReader(lines, escapechar="\\"), key=lambda row: int(row["timestamp_ms"]))
    told = [
        TitledItem(
            item_id=n,
            source=row["hostname"],
            title=row["title"],
            dated_at=datetime.fromtimestamp(int(row["timestamp_ms"]) / 1000, UTC),
        )
        for n, row in enumerate(found)
    ]
    return told, [row["story"] for row in found]


def of_half(
    told: Sequence[TitledItem], labels: Sequence[str], half: int
) -> tuple[list[TitledItem], list[str]]:
    """Return the items of the development (0) or the held-out (1) stories."""
    kept = [
        (t, s)
        for t, s in zip(told, labels, strict=True)
        if hashlib.sha256(s.encode()).digest()[1] % 2 == half
    ]
    return [t for t, _ in kept], [s for _, s in kept]


def figures(name: str, told: Sequence[TitledItem], labels: Sequence[str]) -> list[Row]:
    """Return our row, the floor's and the control's on one half."""
    ours = clusters(told)
    shuffled = list(labels)
    random.Random(SEED).shuffle(shuffled)
    return [
        row(f"{name}: ours", ours, labels),
        row(f"{name}: same title only", [fold(t.title) for t in told], labels),
        row(f"{name}: ours, labels shuffled", ours, shuffled),
    ]


def development(told: Sequence[TitledItem], labels: Sequence[str]) -> list[Row]:
    """Return rows for other thresholds on the development half, from which the choice was made."""
    items, truth = of_half(told, labels, 0)
    return [
        row(f"development: centroid {close}, {shared} words", clusters(items, close, shared), truth)
        for shared in (2, 3)
        for close in (0.2, 0.25, 0.3, 0.35, 0.4)
    ]


def curve(told: Sequence[TitledItem], labels: Sequence[str]) -> list[Row]:
    """Return each half at other thresholds, alone and among strangers."""
    others = strangers(told)
    rows = []
    for half, name in ((0, "development"), (1, "held out")):
        items, truth = of_half(told, labels, half)
        mixed = sorted([*zip(items, truth, strict=True), *others], key=lambda pair: pair[0].dated_at)
        for once, shared, close in CURVE:
            title = f"{name}: {shared} words, {close}{'' if once else ', again and again'}"
            alone = row(title, clusters(items, close, shared, once), truth)
            found = clusters([item for item, _ in mixed], close, shared, once)
            sizes = Counter(found)
            caught = [n for n, (_, label) in zip(found, mixed, strict=True) if label.startswith("~")]
            share = sum(sizes[n] > 1 for n in caught) / len(caught)
            among = row("", found, [label for _, label in mixed])
            rows.append(
                alone | {"among_strangers": among["pair_precision"], "strangers_caught": round(share, 4)}
            )
    return rows


def strangers(told: Sequence[TitledItem]) -> list[tuple[TitledItem, str]]:
    """Return headlines of other years, each its own story, spread over the time of `told` and 60 sources."""
    path = Path(os.environ["TIDINGS_DATA"]) / "mind-small-sample" / "news.csv.gz"
    with gzip.open(path, "rt", newline="", encoding="utf-8") as lines:
        titles = list(dict.fromkeys(line["title"] for line in csv.DictReader(lines)))
    first, last = told[0].dated_at, told[-1].dated_at
    moments = random.Random(SEED)
    return [
        (
            TitledItem(
                len(told) + n, f"stranger{n % 60}.example", title, first + moments.random() * (last - first)
            ),
            f"~{n}",
        )
        for n, title in enumerate(titles)
    ]


def clusters(
    told: Sequence[TitledItem], close: float = CENTROID_MIN, shared: int = SHARED_WORDS_MIN, once: bool = True
) -> list[Hashable]:
    """Return the cluster of each item, or one of its own if it has none."""
    found: dict[int, Hashable] = {}
    for story in cluster_items([], told, close=close, shared=shared, once=once):
        found |= {item.item_id: story[0].item_id for item in story}
    return [found.get(item.item_id, item.item_id) for item in told]


def row(name: str, found: Sequence[Hashable], truth: Sequence[Hashable]) -> Row:
    """Pairwise and B-cubed precision and recall (Bagga & Baldwin 1998)."""
    both, ours, labels = Counter(zip(found, truth, strict=True)), Counter(found), Counter(truth)
    right = sum(pairs(n) for n in both.values())
    together = sum(pairs(n) for n in ours.values())
    return {
        "name": name,
        "items": len(truth),
        "stories": len(labels),
        "clusters": sum(n > 1 for n in ours.values()),
        "pair_precision": round(right / together, 4) if together else 1.0,
        "pair_recall": round(right / sum(pairs(n) for n in labels.values()), 4),
        "b3_precision": round(sum(n * n / ours[a] for (a, _), n in both.items()) / len(truth), 4),
        "b3_recall": round(sum(n * n / labels[b] for (_, b), n in both.items()) / len(truth), 4),
    }


def pairs(n: int) -> int:
    """How many pairs `n` things make."""
    return n * (n - 1) // 2


def table(rows: Sequence[Row]) -> str:
    """Return the rows as text."""
    heads = list(rows[-1])
    lines = [f"{'':<44}" + "".join(f"{head:>16}" for head in heads[1:])]
    return "\n".join(
        [
            *lines,
            *(f"{r['name']:<44}" + "".join(f"{r.get(head, ''):>16}" for head in heads[1:]) for r in rows),
        ]
    )


if __name__ == "__main__":
    main()
