"""`python -m tests.lab page`: the effect of thumbs on the first page.

Readers with known tastes read 250, 50 or 6 real feeds for 18 days, and rate some of the first fifteen places.
The table has the share of these places that is to their taste: on the first morning, and after about 25, 64
and 114 thumbs. Items that stood there before do not count. With six feeds it is the share of the first five.
Other columns: the gain over the base arm with its 95 % interval over readers, sources among fifteen, the
share that stood on yesterday's page, that which stood among its first fifteen on the second morning, how many
are to taste and there for the first time, the mean age, P(like) discounted by age, and the share of the first
fifteen that is there only because of taste.
"""

import time
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

from ranking.common.commands import whole_number
from ranking.pool import Ids
from tests.lab.command import fail, progress, report_end
from tests.lab.page.arms import ARMS, Arm
from tests.lab.page.course import Page, Simulation
from tests.lab.page.feeds import DAYS, Stream, stream_read
from tests.lab.page.readers import groups_of, reader_draw
from tests.lab.page.table import rows_of, targets_of, words_of

SIZES, READERS, FIRST = (250, 50, 6), 24, 200


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate every arm for the same readers, and print the table."""
    options = vars(_parser().parse_args(argv))
    if not settings.TIDINGS_DATA:
        fail("Set TIDINGS_DATA to the folder of open data.", 2)
    started, processor = time.monotonic(), time.process_time()
    stream = stream_read(Path(settings.TIDINGS_DATA) / "feeds", limit=options["documents"])
    progress(f"{len(stream.items)} items of {len(stream.feeds)} English feeds")
    groups = groups_of(stream)
    wanted = [arm for arm in ARMS if not options["arms"] or arm.name in options["arms"]]
    rows = []
    for size in options["sizes"]:
        seeds = range(options["first"], options["first"] + options["readers"])
        rows += rows_of(size, wanted, simulate(stream, groups, wanted, size, seeds, options["days"]))
        progress(f"{size} feeds: {time.process_time() - processor:.0f} s of processor time")
    report = {
        "command": "python -m tests.lab page",
        "first_reader": options["first"],
        "feeds": len(stream.feeds),
        "items": len(stream.items),
        "rows": rows,
        "targets": targets_of(rows),
        "seconds": round(time.monotonic() - started, 1),
        "processor_seconds": round(time.process_time() - processor, 1),
    }
    return report_end(report, words_of(rows), as_json=options["json"])


def simulate(
    stream: Stream, groups: Sequence[Ids], arms: Sequence[Arm], size: int, seeds: Sequence[int], days: int
) -> dict[str, list[list[Page]]]:
    """Return the pages of each reader, by the arm's name."""
    found: defaultdict[str, list[list[Page]]] = defaultdict(list)
    for seed in seeds:
        for arm in arms:
            reader = reader_draw(stream, groups, seed=seed, size=size, law=arm.law)
            found[arm.name].append(Simulation(stream, reader, arm).run(days))
    return dict(found)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m tests.lab page", description=__doc__)
    parser.add_argument("--sizes", type=_sizes, default=SIZES, help="numbers of feeds (250,50,6)")
    parser.add_argument("--readers", type=whole_number(1), default=READERS, help=f"of each size ({READERS})")
    parser.add_argument(
        "--first", type=whole_number(0), default=FIRST, help=f"the first reader's seed ({FIRST})"
    )
    parser.add_argument("--days", type=whole_number(1), default=DAYS, help=f"pages of each reader ({DAYS})")
    parser.add_argument("--documents", type=whole_number(1), help="read so many feed documents only")
    parser.add_argument("--arms", nargs="+", help="names of arms; all without it")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    return parser


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split(","))
