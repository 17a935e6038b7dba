"""Deliver every task ten times: once, then nine times at once. The stored rows must be the same after both.

A real worker does it if there is a broker, else one thread per delivery. Times and workers' signs of life are
left out of the comparison.
"""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import models
from django.utils import timezone

from advisor.models import Decision, Run
from advisor.tasks import run_execute_task
from config.tasks import TASKS
from digest.models import Feed
from tests.lab.bench.publisher import address, publishers
from tests.lab.faults.boundaries import Json
from tests.lab.faults.brokers import own_redis
from tests.lab.faults.crowd import runs_queue
from tests.lab.faults.kills import environment_of
from tests.lab.faults.model_server import model_server
from tests.lab.faults.races import told
from tests.lab.faults.workers import until, worker, working
from tests.support.factories import (
    FeedFactory,
    ItemFactory,
    ReaderFactory,
    SourceFactory,
    SubscriptionFactory,
)
from tests.support.mailbox import Mailbox, mailbox_open

MORE = 9
ROOMS = ("advisor", "suggestions", "digest", "ranking", "tidings")
ENDS_S = 600.0
QUEUES = ("default", "fetch", "rank", "mail", "advise")


def run(name: str, full: bool) -> Json:
    """Return the figures; `full` makes no difference."""
    with model_server() as model_port, publishers() as feeds_port, mailbox_open() as box:
        environment = {**environment_of(model_port, feeds_port), "NIGHTLY_HOUR": "0"}
        environment["EMAIL_URL"] = f"smtp://127.0.0.1:{box.port}"
        settings.NIGHTLY_HOUR = 0
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", box.port
        with working(*([worker(environment, concurrency=3)] if settings.REDIS_URL else [])):
            return delivered(world(feeds_port), box)


def world(port: int) -> str:
    """Readers with mail, items of today, a feed that is due, and a run that waits; the run's id."""
    now = timezone.now()
    (run_id,) = runs_queue(1) if not settings.REDIS_URL else (_run_row(),)
    for name in ("ada", "ben"):
        reader = ReaderFactory(username=name, time_zone="UTC", mail_rhythm="daily", mail_hour=0)
        feed = FeedFactory(source=SourceFactory(key=f"{name}.example"))
        SubscriptionFactory(reader=reader, feed=feed)
        ItemFactory.create_batch(3, source=feed.source, published_at=now - timedelta(hours=3))
    source = SourceFactory(key="paper.example")
    Feed.objects.create(url=f"http://{address(0)}:{port}/good/paper", source=source, next_check_at=now)
    return str(run_id)


def _run_row() -> object:
    """Create a run that no worker knows of."""
    kept, settings.REDIS_URL = settings.REDIS_URL, ""
    try:
        return runs_queue(1)[0]
    finally:
        settings.REDIS_URL = kept


def delivered(run_id: str, box: Mailbox) -> Json:
    """Deliver each task once, then nine times more."""
    ways: dict[str, tuple[Any, tuple[str, ...]]] = {name: (task, ()) for name, task in TASKS.items()}
    ways["advisor.run_execute"] = (run_execute_task, (run_id,))
    differing: dict[str, list[str]] = {}
    broken: list[str] = []
    for name, (task, given) in ways.items():
        broken += deliver(task, given, 1)
        before = photograph()
        broken += deliver(task, given, MORE)
        if changed := differences(before, photograph()):
            differing[name] = changed
    failures = Decision.objects.filter(actor__in=("policy", "worker")).values_list("reason", flat=True)
    broken += failures
    return {
        "tasks": len(ways),
        "deliveries": len(ways) * (MORE + 1),
        "differing": len(differing),
        "differences": differing,
        "failed": len(broken),
        "said": broken[:3],
        "mails_doubled": sum(count > 1 for count in Counter(box.recipients).values()),
        "mails": len(box.recipients),
        "ends": dict(Counter(Run.objects.values_list("status", flat=True))),
    }


def deliver(task: Any, given: tuple[str, ...], times: int) -> list[str]:
    """Deliver a task `times` times and wait for all. Return the errors in this process."""
    if not settings.REDIS_URL:
        return told(lambda _: task(*given), times)[1]
    for _ in range(times):
        task.celery.apply_async(args=given)
    redis = own_redis()
    until(lambda: not sum(waiting(redis.ask)), ENDS_S)
    return []


def waiting(ask: Callable[..., str]) -> list[int]:
    """How many messages each queue holds, and how many are with a worker."""
    return [int(ask("LLEN", queue) or 0) for queue in QUEUES] + [int(ask("HLEN", "unacked") or 0)]


def photograph() -> dict[str, Counter[str]]:
    """Return every row of ours, without times."""
    seen = {}
    for room in ROOMS:
        for model in apps.get_app_config(room).get_models():
            if model.__name__ != "Heartbeat":
                names = [
                    f.attname for f in model._meta.concrete_fields if not isinstance(f, models.DateTimeField)
                ]
                seen[model._meta.label] = Counter(map(repr, model._base_manager.values_list(*names)))
    return seen


def differences(before: dict[str, Counter[str]], after: dict[str, Counter[str]]) -> list[str]:
    """Return the rows that disappeared or are new."""
    return [
        f"{label}: {len(list((after[label] - before[label]).elements()))} rows new or changed, e.g. "
        f"{next(iter(after[label] - before[label]), next(iter(before[label] - after[label]), ''))[:160]}"
        for label in after
        if after[label] != before[label]
    ]
