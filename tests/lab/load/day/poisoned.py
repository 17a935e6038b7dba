"""Hostile rows of the day: one in each loop over strangers' material that runs in it.

The rows and the functions that break for them are those of `tests.lab faults poison`. There one process has
one such row; here all of them are there at once, in the real processes, for the whole day. Each loop has a
row of its own: a reader of that name, and a feed whose posts say it.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.utils import timezone

from digest.entities import ITEM_WINDOW_DAYS
from digest.models import Destination, Digest, Feed, Item, NotificationSettings, Reader
from tests.lab.bench.publisher import address
from tests.lab.faults.poison import LOOPS
from tests.lab.load.day.people import pk_of
from tests.lab.load.day.site import Site
from tests.support.factories import SourceFactory, SubscriptionFactory, confirmed

# How long the workers may take for the tasks after the night.
PATIENCE_S = 240.0
# The day has no mailbox.
LEFT_OUT = ("newsletters",)
MARKS = {name: f"nightshade{n:02d}" for n, name in enumerate(LOOPS) if name not in LEFT_OUT}
# Publishers of the feeds with hostile rows, after those of hostile answers.
FIRST_HOST = 640
# Without the last step, which would ask for suggestions once more for those who are counted. Memories are
# refreshed by a task of beat that is due later, and icons 30 sites at a time, so a day may end before the
# hostile ones. The last two tasks are done by the workers: beat asks for them every ten and five minutes.
NIGHT = """
from celery import current_app
from django.utils import timezone
from advisor.guidance.store import memories_refresh_active
from config.jobs.nightly import STEPS, nightly_run
from digest.articles.favicons import favicons_update
steps = {name: step for name, step in STEPS.items() if name != "advise"}
row = nightly_run(now=timezone.now(), force=True, manual=True, steps=steps)
memories_refresh_active(now=timezone.now())
for _ in range(3):
    favicons_update(now=timezone.now())
for task in ("config.daily_builds", "digest.feeds_fetch"):
    current_app.send_task(task)
print(row.status)
"""


def plan_write(path: Path) -> None:
    """Write down which functions fail for which row, before any process starts."""
    plan = {LOOPS[name].breaks: [mark, str(pk_of(mark))] for name, mark in MARKS.items()}
    path.write_text(json.dumps(plan), encoding="utf-8")


@dataclass(slots=True)
class Poisoned:
    """The hostile rows, and what became of the others."""

    site: Site
    publisher: int
    commands: dict[str, int] = field(default_factory=dict)
    night_at: datetime | None = None

    def start(self, reader: Reader) -> None:
        """Give `reader` the feeds, and the hostile readers what they need to be met."""
        now = timezone.now()
        for n, mark in enumerate(MARKS.values()):
            feed = Feed.objects.create(
                url=f"http://{address(FIRST_HOST + n)}:{self.publisher}/fresh/{mark}",
                source=SourceFactory(key=f"{mark}.example"),
                next_check_at=now - timedelta(minutes=60),
            )
            SubscriptionFactory(reader=reader, feed=feed, full_text=True)
            hostile = Reader.objects.get(username=mark)
            hostile.mail_rhythm, hostile.mail_hour = "daily", 0
            hostile.save()
            confirmed(hostile)
            Destination.objects.create(
                reader=hostile, kind="webhook", address="https://127.0.0.1/", created_at=now
            )
            NotificationSettings.objects.create(
                reader=hostile, events=["digest"], since=now - timedelta(days=1), quiet_from=0, quiet_until=0
            )

    def commands_run(self, release: Path, username: str) -> None:
        """Do what an operator does at a terminal, and the night."""
        self.night_at = timezone.now()
        self.commands["night"] = self.site.code(release, "shell", "-c", NIGHT)
        hosts = ("alpha", MARKS["lists that are imported"], "charlie")
        outlines = "".join(f'<outline text="{one}" xmlUrl="https://{one}.example/feed"/>' for one in hosts)
        path = Path(self.site.environment["DAY_POISON"]).with_name("list.opml")
        path.write_text(f'<opml version="2.0"><body>{outlines}</body></opml>', encoding="utf-8")
        listed = ("import_opml", str(path), "--user-id", username)
        for command in (listed, *(loop.command for loop in LOOPS.values() if loop.command)):
            self.commands[command[0]] = self.site.code(release, *command)
        until = time.monotonic() + PATIENCE_S
        while len(self.met()) < len(MARKS) and time.monotonic() < until:
            time.sleep(1)

    def met(self) -> set[str]:
        """Return the functions that failed for their row."""
        plan = Path(self.site.environment["DAY_POISON"]).with_name("met.txt")
        return set(plan.read_text(encoding="utf-8").split()) if plan.exists() else set()

    def untold(self) -> set[str]:
        """Return those of which no log says so."""
        logs = "".join(path.read_text(errors="replace") for path in self.site.logs.glob("*.log"))
        return {path for path in self.met() if f"poisoned {path}" not in logs}

    def hidden(self) -> list[str]:
        """Return the commands that had a hostile row and did not end with 1."""
        return [name for name, code in self.commands.items() if name != "night" and code != 1]

    def unserved(self, names: Sequence[str]) -> dict[str, int]:
        """Return how many other readers have no digest of today, and how many other posts have no story.

        Posts that came after the night began are left out: the next round compares them. So are posts that
        are older than a digest's window: no round does.
        """
        today = timezone.now().date()
        served = Digest.objects.filter(date=today, reader__username__in=names).values("reader").distinct()
        others = Item.objects.filter(feed__subscriptions__reader__username__in=names, clustered_at=None)
        window = (self.night_at - timedelta(days=ITEM_WINDOW_DAYS), self.night_at)
        others = others.filter(first_seen_at__lt=self.night_at, dated_at__range=window)
        for mark in MARKS.values():
            others = others.exclude(title__startswith=mark)
        return {"readers": len(names) - served.count(), "items": others.distinct().count()}

    def report(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the figures of the day."""
        return {
            "loops": len(MARKS),
            "met": sorted(self.met()),
            "untold": sorted(self.untold()),
            "unserved": self.unserved(names),
            "commands": self.commands,
            "hidden": self.hidden(),
        }
