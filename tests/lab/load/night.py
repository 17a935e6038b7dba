"""The night's work on the large installation: `python -m tests.lab load.night [--readers N] [--json]`.

The seven steps in their order, in one process, on the database of `DATABASE_URL`: fetching finds nothing due,
two thousand new items get stories, vectors and extracts, everybody who rates learns (in a real night one in
seven does), every digest is due. With `--readers` all but the first N readers are switched off meanwhile.
Advice is asked for: with a `REDIS_URL` the runs themselves wait for workers (`load.reads` times them).
"""

import argparse
from collections.abc import Callable
from functools import partial

from tests.lab.bench.running import Watch
from tests.lab.load.setting import Json, django_up, head, rows_of, told
from tests.lab.load.watching import watched


def main() -> None:
    """Do a night and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=0, help="only the first N of them")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    django_up()
    from django.conf import settings  # noqa: PLC0415

    if not settings.REDIS_URL:
        raise SystemExit("Name a Redis in REDIS_URL: without one the advisor's runs are done here and now.")
    report = {**head("night"), "rows": rows_of("digest_item", "digest_reader", "digest_feedback")}
    watch = Watch()
    with_some(options.readers, lambda: report.update(steps=night()))
    from digest.models import Reader  # noqa: PLC0415

    readers = options.readers or Reader.objects.filter(is_active=True).count()
    total = sum(step["wall_s"] for step in report["steps"])
    report |= {"readers": readers, "wall_s": round(total, 1), "ms_a_reader": round(1000 * total / readers, 1)}
    report |= {f"watch_{key}": value for key, value in watch.read().items()}
    report["targets"] = []
    told(report, options.json)


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
    """Each step with what it took."""
    from django.utils import timezone  # noqa: PLC0415

    from config.jobs.nightly import STEPS  # noqa: PLC0415

    return [{"step": name, **watched(partial(step, timezone.now()))} for name, step in STEPS.items()]


if __name__ == "__main__":
    main()
