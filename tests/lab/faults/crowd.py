"""Readers with clear tastes and waiting runs, for workers to carry out, and the conditions that must hold at
the end."""

import itertools
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from advisor.models import Decision, Run
from advisor.run.request import run_wake
from config.models import NightlyReport
from digest.models import Reader
from suggestions.models import Suggestion
from tests.lab.faults.boundaries import Json
from tests.support.factories import ReaderFactory
from tests.support.histories import opinionated

ACTIVE = (Run.Status.QUEUED, Run.Status.RUNNING)
# The proposals of the planner and the scripted model for a reader with clear tastes.
PROPOSED = {"loved.example", "loathed.example"}
_numbers = itertools.count()


def nights_over() -> None:
    """Mark tonight's and tomorrow's nightly jobs as done, because their changes are no part of these rows."""
    now = timezone.now()
    NightlyReport.objects.bulk_create(
        NightlyReport(day=(now + timedelta(days=n)).date(), status="completed", started_at=now)
        for n in range(2)
    )


def reader_new() -> Reader:
    """Somebody who clearly likes one source and dislikes another."""
    reader = ReaderFactory(username=f"reader-{next(_numbers)}", time_zone="UTC")
    opinionated(reader, now=timezone.now())
    return reader


def runs_queue(count: int) -> list[UUID]:
    """Queue `count` runs, each of another reader, as rows, and as messages if there is a broker."""
    runs = []
    for _ in range(count):
        now = timezone.now()
        run = Run.objects.create(reader=reader_new(), day=now.date(), trigger="scheduled", created_at=now)
        runs.append(run.pk)
    if settings.REDIS_URL:
        for run_id in runs:
            run_wake(run_id)
    return runs


def runs_running() -> set[UUID]:
    """Return the runs that are active, or look so."""
    return set(Run.objects.filter(status=Run.Status.RUNNING).values_list("pk", flat=True))


def runs_over(runs: Sequence[UUID] | None = None) -> bool:
    """Return whether each has its end."""
    rows = Run.objects.all() if runs is None else Run.objects.filter(pk__in=runs)
    return not rows.filter(status__in=ACTIVE).exists()


def ends() -> Json:
    """Return the outcomes of the runs, and the targets they proposed too often or not at all."""
    asked = Counter(Suggestion.objects.values_list("reader_id", "target_key"))
    whole = Run.objects.filter(status=Run.Status.COMPLETED).values_list("reader_id", flat=True)
    lost = {reader: PROPOSED - {target for who, target in asked if who == reader} for reader in whole}
    return {
        "statuses": dict(Counter(Run.objects.values_list("status", flat=True))),
        "unended": Run.objects.filter(status__in=ACTIVE).count(),
        "doubled": sum(count > 1 for count in asked.values()),
        "lost": sum(map(len, lost.values())),
        "lost_of": told_of([reader for reader, targets in lost.items() if targets]),
        "attempts": dict(Counter(Run.objects.values_list("attempt", flat=True))),
        "requeued": Decision.objects.filter(action="run_requeued").count(),
        "given_up": Decision.objects.filter(action="run_given_up").count(),
    }


def told_of(readers: Sequence[UUID]) -> list[str]:
    """Return the outcomes of a few of these readers' runs, to find the cause."""
    rows = Run.objects.filter(reader__in=readers[:3]).order_by("created_at")
    return [f"{row.status} {row.attempt} {row.stop_reason}: {row.message}"[:200] for row in rows]
