"""`python -m tests.lab page offers`: how many readers are ever offered to order their page by their thumbs.

Readers of real feeds (`tests.lab page`) rate their pages for 18 days, without taste. After some of these days
the product's own rule checks their thumbs. Readers with shuffled thumbs should hardly ever be asked: their
share should be .10 at most, by the upper end of its 95 % interval (Wilson 1927). Other bars are printed, too.
The spread of tastes is the published one of their installation: below forty readers nothing is published, so
the usual figure; from forty on the sum over readers, also with shuffled thumbs, with its noise.
"""

import time
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings

from ranking.common.commands import whole_number
from ranking.community import spread_with_noise
from ranking.learning import wilson
from ranking.scoring import Ids
from ranking.taste.leans import SPREAD_PRIOR
from ranking.taste.signal import TasteSignal
from suggestions.changes.columns import attributes_of
from suggestions.planner.by_taste import SURE_Z, THUMBS_MIN
from suggestions.planner.population import BATCH_MIN
from suggestions.planner.tastes import Batch, batch_sum, contribution_of, spread_of, tallies_of
from tests.lab.command import fail, progress, report_end
from tests.lab.page.arms import ARMS, OFF
from tests.lab.page.course import Course, Simulation, rated_item
from tests.lab.page.feeds import BEGIN, DAYS, Stream, stream_read
from tests.lab.page.readers import REAL, SHUFFLED, Reader, groups_of, reader_draw

SIZE, READERS, FIRST = 50, 120, 2_000
# After these days' thumbs the rule checks, as the weekly run and its reminders may.
LOOKS = (3, 5, 7, 9, 11, 13, 15, 18)
INSTALLATIONS = (1, 5, 40, 1_000)
# Thumbs of each of an installation's other readers.
THUMBS_OTHERS = 60
OFFERED_MOST = 0.1
# The z from which the offer is made, and others.
BARS = (2.5, SURE_Z, 3.0, 3.25, 3.5)
Row = dict[str, Any]


class Looked(Simulation):
    """A reader's pages without taste; `seen` has the examples after each day of `LOOKS`."""

    def __init__(self, stream: Stream, reader: Reader, days: int) -> None:
        """Read and rate the pages of this many days."""
        super().__init__(stream, reader, next(arm for arm in ARMS if arm.name == OFF))
        self.seen: list[TasteSignal] = []
        self.run(days)

    def _read(self, course: Course, day: int, items: Sequence[int], at: datetime) -> None:
        super()._read(course, day, items, at)
        if day in LOOKS:
            thumbs = [self._example(item, up, when) for item, (up, when) in course.rated.items()]
            newest = sorted(thumbs, key=lambda one: one.at, reverse=True)
            self.seen.append(TasteSignal(newest, at, centre=self.centre))

    def checks(self, spread: float) -> list[tuple[int, float]]:
        """Return the number of thumbs and the z-score of each look that has enough thumbs for the rule."""
        told = [replace(signal, spread=spread).foretold({}) for signal in self.seen]
        return [(len(one.rows), one.sureness) for one in told if len(one.rows) >= THUMBS_MIN]


def asked_at(checks: Sequence[tuple[int, float]], bar: float) -> int | None:
    """Return the number of thumbs at which a reader is first asked; `None` if never."""
    return next((thumbs for thumbs, z in checks if z >= bar), None)


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate the readers, and print a row for each installation and law."""
    options = vars(_parser().parse_args(argv))
    if not settings.TIDINGS_DATA:
        fail("Set TIDINGS_DATA to the folder of open data.", 2)
    started, processor = time.monotonic(), time.process_time()
    stream = stream_read(Path(settings.TIDINGS_DATA) / "feeds", limit=options["documents"])
    groups = groups_of(stream)
    seeds = range(options["first"], options["first"] + options["readers"])
    rows = offer_rows(stream, groups, options["size"], seeds, options["days"])
    report = {
        "command": "python -m tests.lab page offers",
        "feeds": options["size"],
        "first_reader": options["first"],
        "looks": LOOKS,
        "rows": rows,
        "targets": [
            {
                "metric": f"{row['readers_there']} readers: ever asked, thumbs shuffled, upper end of 95 %",
                "target": f"<= {OFFERED_MOST}",
                "value": row["asked_95"][1],
                "met": row["asked_95"][1] <= OFFERED_MOST,
            }
            for row in rows
            if row["law"] == SHUFFLED and row["bar"] == SURE_Z
        ],
        "seconds": round(time.monotonic() - started, 1),
        "processor_seconds": round(time.process_time() - processor, 1),
    }
    return report_end(report, as_json=options["json"])


def offer_rows(
    stream: Stream, groups: Sequence[Ids], size: int, seeds: Sequence[int], days: int
) -> list[Row]:
    """Return how many readers of shuffled thumbs, and of real ones, each bar asks on each installation."""
    rows = []
    for law in (SHUFFLED, REAL):
        drawn = (reader_draw(stream, groups, seed=seed, size=size, law=law) for seed in seeds)
        looked = [Looked(stream, reader, days) for reader in drawn]
        progress(f"{law}: {len(looked)} readers have read")
        spreads = {there: published(stream, groups, size, there, law) for there in INSTALLATIONS}
        checked = {spread: [one.checks(spread) for one in looked] for spread in {*spreads.values()}}
        for there, spread in spreads.items():
            for bar in BARS:
                found = [asked_at(checks, bar) for checks in checked[spread]]
                row = {"law": law, "readers_there": there, "spread": round(spread, 4), "bar": bar}
                rows.append(row | _asked([one for one in found if one], len(looked)))
    return rows


def _asked(thumbs: Sequence[int], readers: int) -> Row:
    """Return the share of readers who were asked, its 95 % interval, and their median of thumbs."""
    return {
        "readers": readers,
        "asked": round(len(thumbs) / readers, 4),
        "asked_95": [round(end, 4) for end in wilson(len(thumbs), readers)],
        "thumbs_when_asked": sorted(thumbs)[len(thumbs) // 2] if thumbs else None,
    }


def published(stream: Stream, groups: Sequence[Ids], size: int, there: int, law: str) -> float:
    """Return the spread of tastes as published by an installation of this many readers of this law.

    Each of them counts with thumbs on items drawn from their own feeds.
    """
    if there < BATCH_MIN:
        return SPREAD_PRIOR
    batches = []
    for seed in range(there):
        rng = np.random.default_rng([seed, size, 3])
        reader = reader_draw(stream, groups, seed=10_000 + seed, size=size, law=law)
        rows = rng.choice(reader.rows, min(THUMBS_OTHERS, len(reader.rows)), replace=False).tolist()
        rated = [rated_item(stream, row, bool(reader.thumbs[row]), BEGIN) for row in rows]
        titles = {item.source: item.source for item in rated}
        attributes = attributes_of(rated, titles=titles)
        batches.append(contribution_of(tallies_of(rated, attributes, BEGIN)))
    total = batch_sum(batches)
    uniforms = 1 - np.random.default_rng([there, size]).random((2, 2))
    return spread_of([Batch(*spread_with_noise(total.estimates, total.weights, uniforms))])


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m tests.lab page offers", description=__doc__)
    parser.add_argument("--size", type=whole_number(1), default=SIZE, help=f"number of feeds ({SIZE})")
    parser.add_argument("--readers", type=whole_number(1), default=READERS, help=f"of each law ({READERS})")
    parser.add_argument(
        "--first", type=whole_number(0), default=FIRST, help=f"the first reader's seed ({FIRST})"
    )
    parser.add_argument("--days", type=whole_number(1), default=DAYS, help=f"pages of each reader ({DAYS})")
    parser.add_argument("--documents", type=whole_number(1), help="read so many feed documents only")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    return parser
