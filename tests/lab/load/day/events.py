"""The events of the day. Each is done to running servers, and awaited until its end."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from advisor.models import Run
from tests.lab.load.day.browser import Browser
from tests.lab.load.day.people import PASSWORD, runs_state
from tests.lab.load.day.release import NEXT, release_switch
from tests.lab.load.day.servers import OwnRedis
from tests.lab.load.day.site import Site
from tests.lab.load.day.traffic import Watch

CELERY = ("work", "night", "fetch", "advise")
# No event may take longer. The figures show how long it took.
PATIENCE_S = 150.0
REDIS_AWAY_S, QUIET_S = 5.0, 15.0
MIGRATE_TRIES = 6
# After this many views of the new version in a row, no process of the old one is left.
LOOKS = 6


@dataclass(slots=True)
class Day:
    """The values that an event needs, and the results so far."""

    site: Site
    redis: OwnRedis
    watch: Watch
    port: int
    next_release: Any
    askers: list[str]
    asked: list[str] = field(default_factory=list)
    browsers: list[Browser] = field(default_factory=list)
    told: dict[str, dict[str, Any]] = field(default_factory=dict)

    def ask(self, count: int) -> list[str]:
        """Let `count` readers ask for suggestions, each once. Return their names."""
        names, self.askers = self.askers[:count], self.askers[count:]
        for name in names:
            browser = Browser(self.port, keeps=False)
            self.browsers.append(browser)
            browser.sign_in(name, PASSWORD)
            later = {"Prefer": "respond-async"}
            answer = browser.ask("generate", "POST", "/api/suggestions/generate", headers=later)
            assert answer.status == 202, f"{name}: {answer.status} {answer.body[:300]!r}"
        self.asked += names
        return names


def quiet(day: Day) -> None:
    """Do nothing special: measure pages in a healthy state, and some normal runs."""
    names = day.ask(4)
    took = _until(lambda: _over(names))
    time.sleep(QUIET_S)
    day.told["quiet"] = {"runs": len(names), "runs_s": took}


def worker_killed(day: Day) -> None:
    """kill -9 the advisor's worker and its forks while they are at runs; wait for every run's end."""
    names = day.ask(8)
    _until(lambda: _running(names) > 0, step_s=0.01)
    held = _running(names)
    day.site.kill("advise")
    took = _until(lambda: _over(names))
    day.told["worker_killed"] = {"runs": len(names), "held": held, "until_all_done_s": took}


def redis_killed(day: Day) -> None:
    """kill -9 Redis, which forgets its queues; readers go on asking; wait for every run's end."""
    names = day.ask(6)
    day.redis.kill()
    waiting = sum(not _over([name]) for name in names)
    names += day.ask(2)
    time.sleep(REDIS_AWAY_S)
    day.watch.look()
    day.redis.start()
    took = _until(lambda: _over(names))
    day.told["redis_killed"] = {"runs": len(names), "forgotten": waiting, "until_all_done_s": took}


def deployed(day: Day) -> None:
    """Migrate beside the old code, then let web, workers and beat go on with the new, one after another."""
    names = day.ask(6)
    began = time.monotonic()
    # A migration that has to wait for a table gives up before the site waits behind it. It is then run again.
    tries = 0
    while True:
        tries += 1
        try:
            day.site.manage(day.next_release, "migrate", "--verbosity", "0", PGOPTIONS="-c lock_timeout=5s")
            break
        except AssertionError as failed:
            if "lock timeout" not in str(failed) or tries == MIGRATE_TRIES:
                raise
    migrated = time.monotonic() - began
    release_switch(day.site.current, day.next_release)
    began = time.monotonic()
    day.site.reload("web")
    _until(lambda: all(NEXT in versions(day.watch.look()) for _ in range(LOOKS)))
    reloaded = time.monotonic() - began
    stopped = {name: round(day.site.restart(name), 2) for name in (*CELERY, "beat")}
    took = _until(lambda: _over(names))
    day.told["deployed"] = {
        "runs": len(names),
        "migrate_s": round(migrated, 2),
        "migrate_tries": tries,
        "web_s": round(reloaded, 2),
        "stop_s": stopped,
        "until_all_done_s": took,
    }


def versions(found: dict[Any, float]) -> set[str]:
    """Return the versions of one look at `/metrics`."""
    return {dict(labels)["version"] for name, labels in found if name == "tidings_build_info"}


def _running(names: Sequence[str]) -> int:
    return Run.objects.filter(reader__username__in=names, status=Run.Status.RUNNING).count()


def _over(names: Sequence[str]) -> bool:
    return runs_state(names)["open"] == 0


def _until(done: Callable[[], bool], step_s: float = 0.25) -> float:
    """Wait for it; how many seconds that took, the patience at most."""
    began = time.monotonic()
    while not done() and time.monotonic() - began < PATIENCE_S:
        time.sleep(step_s)
    return round(time.monotonic() - began, 2)
