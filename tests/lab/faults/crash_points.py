"""Kill at each boundary: after every statement and commit, and during every question to a model.

For each boundary there is a copy of the same database. One fork does the work and is killed there. Another
one looks at the rest, lets workers and people act as usual, and looks again. A run without a kill gives the
expected end. The times of recovery are passed in, not waited for.
"""

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime

from django.conf import settings
from django.db.models import DecimalField, Sum
from django.db.models.functions import Coalesce

from advisor.models import Run
from config.models import NightlyReport
from digest.models import Spend
from tests.lab.bench.publisher import address, publishers
from tests.lab.faults.boundaries import Json, counted, forked
from tests.lab.faults.copies import Template
from tests.lab.faults.model_server import MODEL, asked, call_usd, model_server
from tests.lab.faults.scenes import Scene, scenes
from tests.support.mailbox import Mailbox, mailbox_open

# The number of boundaries if not all are tried, spread evenly over the whole.
SAMPLE = 40
PROCESSES = 2
Point = tuple[str, int]
# Values that forks of this process inherit.
_SHARED: Json = {}


@dataclass
class Sweep:
    """The copies of one scene's database, and the model it asks."""

    scene: Scene
    template: Template
    model_port: int

    def reference(self) -> tuple[Json, int, int]:
        """Return the end without a kill, the number of boundaries and the number of questions."""
        with self.template.copied(), mailbox_open() as box:
            _, _, told = forked(lambda: self._whole(box))
            assert told is not None
            return told, told["boundaries"], asked(self.model_port, "whole")["requests"]

    def tried(self, point: Point, wanted: Json) -> Json:
        """Return the result of a kill at `point`."""
        kind, at = point
        with self.template.copied(), mailbox_open() as box:
            pid, signal, _ = forked(lambda: self._killed(kind, at, box))
            keys = (f"crash-{pid}-{at}", f"killed-{kind}-{at}", f"mended-{kind}-{at}")
            _, _, told = forked(lambda: self._mended(keys[2], box))
            assert told is not None
            bill = call_usd() * asked(self.model_port, *keys)["requests"]
            mails = [box.recipients.count(address) for address in set(box.recipients)]
        return {
            "point": f"{kind} {at}",
            "killed": bool(signal),
            "left_something": told["before"] != wanted["state"],
            "torn": sorted(set(told["torn"]) - set(wanted["torn"])),
            "broken": told["after"] != wanted["state"],
            "after": told["after"] if told["after"] != wanted["state"] else None,
            "short": float(told["booked"]) < float(bill) - 1e-9,
            "mails": len(mails),
            "mails_doubled": sum(count > 1 for count in mails),
            "lease_s": told["lease_s"],
        }

    def _whole(self, box: Mailbox) -> Json:
        self._told("whole", box)
        with counted() as boundaries:
            self.scene.act()
            passed = boundaries()
        return {"boundaries": passed, "state": self.scene.state(), "torn": self.scene.torn()}

    def _killed(self, kind: str, at: int, box: Mailbox) -> None:
        if kind == "question":
            self._told(f"crash-{os.getpid()}-{at}", box)
            self.scene.act()
            return
        self._told(f"killed-{kind}-{at}", box)
        with counted(at):
            self.scene.act()

    def _mended(self, key: str, box: Mailbox) -> Json:
        self._told(key, box)
        before, torn, lease_s = self.scene.state(), self.scene.torn(), lease_left(self.scene.now)
        self.scene.mend()
        return {
            "before": before,
            "torn": torn,
            "lease_s": lease_s,
            "after": self.scene.state(),
            "booked": booked_usd(),
        }

    def _told(self, key: str, box: Mailbox) -> None:
        """Set this fork's model key and mail server."""
        settings.OPENAI_API_KEY = key
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", box.port


def run(name: str, full: bool) -> Json:
    """Return the report of one scene."""
    settings.REDIS_URL, settings.FETCH_HOST_GAP_S = "", 0.0
    settings.ADVISOR_DAILY_CAP_USD = settings.ADVISOR_READER_DAILY_CAP_USD = 50.0
    with model_server() as model_port, publishers() as feeds_port:
        settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = f"http://127.0.0.1:{model_port}/v1", "prepare"
        settings.LLM_CHAIN = [MODEL]
        settings.FETCH_ALLOW_HOSTS, settings.FETCH_PORTS = [address(0), address(1)], [feeds_port]
        scene = dict(scenes(feeds_port))[name]
        scene.prepare()
        sweep = Sweep(scene, Template(), model_port)
        wanted, boundaries, questions = sweep.reference()
        every = [("boundary", n + 1) for n in range(boundaries)]
        points = chosen(every, full) + [("question", n + 1) for n in range(questions)]
        found = tried_all(sweep, points, wanted)
    return report(found, boundaries, questions)


def chosen(every: Sequence[Point], full: bool) -> list[Point]:
    """Return all of them, or some spread evenly, the first and the last among them."""
    if full or len(every) <= SAMPLE:
        return list(every)
    return [every[round(n * (len(every) - 1) / (SAMPLE - 1))] for n in range(SAMPLE)]


def tried_all(sweep: Sweep, points: Sequence[Point], wanted: Json) -> list[Json]:
    """Try every point, divided among as many processes as a small machine has cores."""
    _SHARED.update(sweep=sweep, wanted=wanted)
    with ProcessPoolExecutor(PROCESSES, mp_context=multiprocessing.get_context("fork")) as pool:
        return list(pool.map(_tried, points))


def _tried(point: Point) -> Json:
    sweep: Sweep = _SHARED["sweep"]
    return sweep.tried(point, _SHARED["wanted"])


def lease_left(now: datetime) -> float:
    """Return for how many seconds from `now` on interrupted work still belongs to the dead worker."""
    runs = Run.objects.filter(status=Run.Status.RUNNING).values_list("lease_until", flat=True)
    nights = NightlyReport.objects.filter(status="running").values_list("lease_until", flat=True)
    return max(((lease - now).total_seconds() for lease in (*runs, *nights) if lease), default=0.0)


def booked_usd(*, day: date | None = None) -> float:
    """Return the sum in the ledger, of one day or in all: settled rows as settled, open ones in full."""
    usd = DecimalField(max_digits=12, decimal_places=6)
    booked = Coalesce("settled_usd", "reserved_usd", output_field=usd)
    rows = Spend.objects.all() if day is None else Spend.objects.filter(day=day)
    return float(rows.aggregate(sum=Sum(booked))["sum"] or 0)


def report(found: Sequence[Json], boundaries: int, questions: int) -> Json:
    """Return the figures, and the points at which something was wrong."""

    def count(key: str) -> int:
        return sum(bool(row[key]) for row in found)

    return {
        "boundaries": boundaries,
        "questions": questions,
        "points": len(found),
        "killed": count("killed"),
        "broken": count("broken"),
        "torn": count("torn"),
        "short": count("short"),
        "control_found": count("left_something"),
        "mails_doubled": sum(row["mails_doubled"] for row in found),
        "mails_most": max((row["mails"] for row in found), default=0),
        "mails_missed_at": sum(row["mails"] < max(r["mails"] for r in found) for row in found),
        "lease_s": max((row["lease_s"] for row in found), default=0),
        "wrong": [row for row in found if row["broken"] or row["torn"] or row["short"]][:5],
    }
