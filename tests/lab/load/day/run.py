"""The day itself, from the first page to the last look at the dashboard."""

import os
import platform
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.utils import timezone

from config.models import NightlyReport
from digest.models import Reader
from tests.lab.load.day.browser import Browser
from tests.lab.load.day.events import Day, deployed, quiet, redis_killed, worker_killed
from tests.lab.load.day.figures import answers_of, latency, targets_of
from tests.lab.load.day.people import (
    PASSWORD,
    items_rated,
    readers_make,
    runs_state,
    shelf_fill,
    statistics_update,
)
from tests.lab.load.day.poisoned import MARKS, Poisoned, plan_write
from tests.lab.load.day.servers import OwnRedis
from tests.lab.load.day.site import Site
from tests.lab.load.day.traffic import READERS, Trickle, Watch
from tests.lab.load.day.worst import Worst

START_S = 90.0
ASKERS = 26
# For the dashboard to catch up with the last event.
AFTER_S = 5.0


def day_run(site: Site, redis: OwnRedis, port: int, following: Path, publisher: int) -> dict[str, Any]:
    """Start everything, run the events, and judge. Return the record. `publisher` is 0 for a day without the
    worst."""
    readers = [f"reader{n}" for n in range(READERS)]
    askers = [f"asker{n}" for n in range(ASKERS)]
    if publisher:
        plan_write(Path(site.environment["DAY_POISON"]))
    readers_make([*readers, *askers, *(MARKS.values() if publisher else ())])
    shelf_fill()
    statistics_update()
    now = timezone.now()
    done = NightlyReport.Status.COMPLETED  # the nightly job is no part of this day
    NightlyReport.objects.create(day=now.astimezone(UTC).date(), status=done, started_at=now, finished_at=now)
    began = datetime.now(UTC)
    first = Browser(port, keeps=False)
    site.start()
    waited = _ready(site, first)
    print(f"ready after {waited:.0f} s", file=sys.stderr)
    # failures from before the site listened
    first.answers = [answer for answer in first.answers if answer.status > 0]
    watch = Watch(port)
    trickle = Trickle(port, readers, PASSWORD, items_rated())
    day = Day(site, redis, watch, port, following, askers)
    watch.start()
    trickle.start()
    worst = Worst(port, publisher, Poisoned(site, publisher)) if publisher else None
    if worst:
        worst.start(Reader.objects.get(username=readers[0]))
    spans: dict[str, tuple[float, float]] = {}
    for event in (quiet, worker_killed, redis_killed, deployed):
        at = time.monotonic()
        event(day)
        spans[event.__name__] = (at, time.monotonic())
        print(f"{event.__name__}: {day.told[event.__name__]}", file=sys.stderr)
    if worst:
        statistics_update()
        worst.poisoned.commands_run(following, readers[1])
        worst.stop()
    time.sleep(AFTER_S)
    trickle.stop()
    watch.stop()
    watch.look()
    answers = answers_of(day, trickle, first.answers)
    targets = targets_of(day, trickle, answers, worst, [*readers, *askers])
    codes, option = site.stop(), " --worst" if worst else ""
    return {
        "name": "day",
        "work": "a worker killed, Redis killed, a deploy, under a trickle of pages and API calls",
        "command": f"python -m tests.lab load day{option} --json tests/lab/records/day.json",
        "data": "made up by the command",
        "seed": None,
        "at": began.isoformat(timespec="seconds"),
        "machine": {
            "cpus": os.cpu_count(),
            "architecture": platform.machine(),
            "system": platform.system(),
            "python": platform.python_version(),
        },
        "load": round(os.getloadavg()[0], 1),
        "error": "",
        "pending": "",
        "targets": targets,
        "report": {
            "rows": latency(answers, spans),
            "events": day.told,
            "not_whole": runs_state(day.asked)["not_whole"],
            "ready_s": round(waited, 1),
            "requests": len(answers),
            **({"worst": dict(sorted(worst.answers.items()))} if worst else {}),
            **({"poisoned": worst.poisoned.report([*readers, *askers])} if worst else {}),
            "kept_connections_closed": sum(answer.again for answer in answers),
            "ended_unasked": site.unasked,
            "exit_codes": codes,
        },
    }


def _ready(site: Site, browser: Browser) -> float:
    """Wait until the site answers, its schedule moves and its broker is there; how long that took."""
    began = time.monotonic()
    while True:
        answer = browser.ask("ready", "GET", "/readyz")
        if answer.status == 200 and b'"degraded": false' in answer.body:
            return time.monotonic() - began
        assert time.monotonic() - began < START_S, site.log("web")[-2000:] + answer.body.decode()
        time.sleep(0.5)
