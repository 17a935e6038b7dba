"""The night's work on the large installation: `python -m tests.lab load.night [--readers N] [--worker]`.

The seven steps in their order, in one process, on the database of `DATABASE_URL`: fetching finds nothing due,
two thousand new items get stories, vectors and extracts, everybody who rates learns (in a real night one in
seven does), every digest is due. With `--readers` all but the first N readers are switched off meanwhile.
Advice is asked for: with a `REDIS_URL` the runs themselves wait for workers (`load.reads` times them). With
`--worker` a Celery worker shares the steps of many readers.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

from tests.lab.bench.running import Watch
from tests.lab.load.setting import Json, django_up, head, rows_of, told
from tests.lab.load.watching import watched

READY_S = 60


def main() -> None:
    """Do a night and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=0, help="only the first N of them")
    parser.add_argument("--worker", action="store_true", help="with a second process, of the queue rank")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    django_up()
    from django.conf import settings  # noqa: PLC0415

    if not settings.REDIS_URL:
        raise SystemExit("Name a Redis in REDIS_URL: without one the advisor's runs are done here and now.")
    report = {**head("night"), "rows": rows_of("digest_item", "digest_reader", "digest_feedback")}
    with second_worker() if options.worker else nullcontext():
        watch = Watch()
        with_some(options.readers, lambda: report.update(steps=night()))
    from digest.models import Reader  # noqa: PLC0415

    readers = options.readers or Reader.objects.filter(is_active=True).count()
    total = sum(step["wall_s"] for step in report["steps"])
    report |= {
        "readers": readers,
        "processes": 1 + options.worker,
        "wall_s": round(total, 1),
        "ms_a_reader": round(1000 * total / readers, 1),
    }
    report |= {f"watch_{key}": value for key, value in watch.read().items()}
    report["targets"] = []
    told(report, options.json)


@contextmanager
def second_worker() -> Iterator[None]:
    """Yield a Celery worker that serves the queue of the night, ready when this begins."""
    from config.celery import app  # noqa: PLC0415

    app.control.purge()
    command = [sys.executable, "-m", "celery", "-A", "config", "worker", "-Q", "rank", "-c", "1"]
    worker = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        late = time.monotonic() + READY_S
        while not app.control.ping(timeout=1):
            if time.monotonic() > late:
                raise SystemExit("The worker did not come up.")
        yield
    finally:
        worker.terminate()
        worker.wait(READY_S)


def with_some(count: int, work: Callable[[], object]) -> None:
    """Do it with the first `count` readers alone, or with all for 0."""
    from digest.models import Reader  # noqa: PLC0415

    others = Reader.objects.filter(username__gte=f"r{count:05}") if count else Reader.objects.none()
    others.update(is_active=False)
    try:
        work()
    finally:
        others.update(is_active=True)


def night() -> list[Json]:
    """Return each step with its cost."""
    from django.utils import timezone  # noqa: PLC0415

    from config.jobs.nightly import STEPS  # noqa: PLC0415

    return [{"step": name, **watched(partial(step, timezone.now()))} for name, step in STEPS.items()]


if __name__ == "__main__":
    main()
