"""Readers with opinions and runs that wait, for workers to carry out; and what must be true in the end."""

import itertools
from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from advisor.models import Decision, Run
from advisor.services.wake import run_wake
from digest.models import Reader
from suggestions.models import Suggestion
from tests.advisor.histories import opinionated
from tests.factories import ReaderFactory
from tests.faults.boundaries import Json

ACTIVE = (Run.Status.QUEUED, Run.Status.RUNNING)
# What the planner and the scripted model propose to a reader with clear opinions.
PROPOSED = {"loved.example", "loathed.example"}
_numbers = itertools.count()


def reader_new() -> Reader:
    """Somebody who clearly likes one source and dislikes another."""
    reader = ReaderFactory(username=f"reader-{next(_numbers)}", time_zone="UTC")
    opinionated(reader, now=timezone.now())
    return reader


def runs_queue(count: int) -> list[UUID]:
    """So many runs, each another reader's, as rows and as messages where there is a broker."""
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
    """Those under way, or that look like it."""
    return set(Run.objects.filter(status=Run.Status.RUNNING).values_list("pk", flat=True))


def runs_over(runs: Sequence[UUID] | None = None) -> bool:
    """Whether each has its end."""
    rows = Run.objects.all() if runs is None else Run.objects.filter(pk__in=runs)
    return not rows.filter(status__in=ACTIVE).exists()


def ends() -> Json:
    """How many runs ended how, and what they proposed too often or not at all."""
    asked = Counter(Suggestion.objects.values_list("reader_id", "target_key"))
    whole = Run.objects.filter(status=Run.Status.COMPLETED).values_list("reader_id", flat=True)
    return {
        "statuses": dict(Counter(Run.objects.values_list("status", flat=True))),
        "unended": Run.objects.filter(status__in=ACTIVE).count(),
        "doubled": sum(count > 1 for count in asked.values()),
        "lost": sum((reader_id, target) not in asked for reader_id in set(whole) for target in PROPOSED),
        "attempts": dict(Counter(Run.objects.values_list("attempt", flat=True))),
        "requeued": Decision.objects.filter(action="run_requeued").count(),
        "given_up": Decision.objects.filter(action="run_given_up").count(),
    }
