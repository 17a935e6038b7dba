"""Search, ranking and the choice of readers to advise, at size: `python -m tests.lab load.reads [--json]`.

Each is measured for readers drawn at random, in one process: a search through their visible items (words of
any frequency, as in `tests.lab.bench.search`), one digest ranked and built, the weekly choice of readers, the
community figures, and whole runs of the advisor with its planner.
"""

import argparse
import os
import random
import time
from collections.abc import Callable, Iterable
from typing import Any

from django.utils import timezone

from tests.lab.bench.running import Watch
from tests.lab.load.server import processor_ms, used_since
from tests.lab.load.setting import Json, django_up, head, rows_of, spread, target, told
from tests.lab.load.watching import watched

SEARCHES, BUILDS, RUNS = 200, 100, 20
SEARCH_P95_MS, BUILD_P95_MS = 50.0, 200.0


def main() -> None:
    """Measure and report. Exit 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    django_up()
    dice = random.Random(options.seed)
    from digest.models import Reader  # noqa: PLC0415

    report = {**head("reads"), "seed": options.seed}
    report["rows"] = rows_of("digest_item", "digest_reader", "digest_feedback", "digest_impression")
    watch = Watch()
    readers = list(Reader.objects.filter(username__startswith="r").order_by("pk"))
    report["community"] = community(readers[0])
    report["search"] = searches(dice, readers)
    report["ranking"] = builds(dice.sample(readers, BUILDS))
    report["choosing"] = choosing()
    report["runs"] = runs(dice)
    report |= {f"watch_{key}": value for key, value in watch.read().items()}
    report["targets"] = [
        target("search, p95 in ms", SEARCH_P95_MS, report["search"]["p95_ms"]),
        target("one digest built, p95 in ms", BUILD_P95_MS, report["ranking"]["p95_ms"]),
    ]
    told(report, options.json)
    raise SystemExit(0 if all(aim["met"] for aim in report["targets"]) else 1)


def timed(works: Iterable[Callable[[], Any]]) -> Json:
    """How long each took by the clock, and of the processors' time: this process's and its connection's."""
    from django.db import connection  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pids = [os.getpid(), *cursor.fetchone()]
    wall, own = [], []
    for work in works:
        began, worked = time.perf_counter(), processor_ms(pids)
        work()
        wall.append(time.perf_counter() - began)
        own.append(used_since(worked, pids) / 1000)
    used = spread(own)
    return spread(wall) | {"cpu_p50_ms": used["p50_ms"], "cpu_p95_ms": used["p95_ms"]}


def community(reader: Any) -> Json:
    """Measure the community figures of the items of a week, for one reader."""
    from django.utils import timezone  # noqa: PLC0415

    from digest.feedback.peers import community_rates_many  # noqa: PLC0415
    from digest.models import Item  # noqa: PLC0415

    items = list(Item.objects.order_by("-dated_at").values_list("pk", flat=True)[:5_000])

    def ask() -> int:
        return len(community_rates_many(reader_ids=[reader.pk], item_ids=items, now=timezone.now()))

    return watched(ask)


def searches(dice: random.Random, readers: list[Any]) -> Json:
    """Words drawn evenly on a log scale of their rank, by readers in turn."""
    from digest.items.search import items_search  # noqa: PLC0415
    from digest.models import Item  # noqa: PLC0415

    said = [
        title.lower().split() for title in Item.objects.order_by("-pk").values_list("title", flat=True)[:500]
    ]
    asked = []
    for n in range(SEARCHES):
        words = dice.choice(said)
        word = dice.choice(words)
        asked.append(
            [word, f"{word} {dice.choice(words)}", f'"{words[3]} {words[4]}"', f"{word[:4]}*"][n % 4]
        )

    def work(query: str) -> Callable[[], Any]:
        reader = dice.choice(readers)
        return lambda: items_search(reader_id=reader.pk, query=query, now=timezone.now())

    works = [work(query) for query in asked]
    timed(works[:10])
    return timed(works)


def builds(readers: list[Any]) -> Json:
    """Return one reader's digest at a time, as the front page builds it."""
    from django.utils import timezone  # noqa: PLC0415

    from digest.daily.services import digest_build  # noqa: PLC0415
    from digest.days import day_of  # noqa: PLC0415

    now = timezone.now()
    return timed(lambda r=r: digest_build(reader=r, date=day_of(now, r.zone), now=now) for r in readers)


def choosing() -> Json:
    """Measure the choice of readers due for advice this week, and the queries of the rationing."""
    from django.utils import timezone  # noqa: PLC0415

    from advisor.run.scheduling import run_candidates  # noqa: PLC0415
    from advisor.selectors import readers_due  # noqa: PLC0415

    now = timezone.now()
    due = readers_due(now=now)
    return {
        "readers": len(due),
        "due": watched(lambda: len(readers_due(now=now))),
        "standings": watched(lambda: len(run_candidates(readers=due, now=now))),
    }


def runs(dice: random.Random) -> Json:
    """Whole runs with the planner, reviewers and memory, for some of those due."""
    from django.utils import timezone  # noqa: PLC0415

    from advisor.run.scheduling import reader_advise  # noqa: PLC0415
    from advisor.selectors import readers_due  # noqa: PLC0415
    from suggestions.models import Suggestion  # noqa: PLC0415

    now = timezone.now()
    waiting = set(Suggestion.objects.filter(status="pending").values_list("reader_id", flat=True))
    some = dice.sample([reader for reader in readers_due(now=now) if reader.pk not in waiting], RUNS)
    statuses: list[str] = []

    def one(reader: Any) -> None:
        statuses.append(reader_advise(reader=reader, now=now, force=True)["status"])

    return timed(lambda r=r: one(r) for r in some) | {"statuses": sorted(set(statuses))}


if __name__ == "__main__":
    main()
