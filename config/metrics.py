"""What `/metrics` tells: figures counted in the database at each look, and this process's own requests.

Every name begins with `tidings_`; deploy/prometheus/alerts.yml has the rules that rest on them. No label
carries a reader, a title or an address.
"""

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, time, timedelta

import structlog
from django.conf import settings
from django.db import Error as DatabaseFailure
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Count, Min, Q, Sum
from django.db.models.functions import Coalesce
from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from advisor.health import kpis
from advisor.kpis import State
from advisor.models import GuidanceEvent, Heartbeat, Run
from advisor.selectors import ACTIVE, JOB_PREFIX
from config.metrics_machine import Machinery, WebProcesses
from config.models import NightlyReport
from config.readiness import ERROR_CHARS
from config.requests import REQUESTS
from config.schedule import JOBS
from digest.models import Feed, Reader, Spend
from suggestions.models import Suggestion

log = structlog.get_logger(__name__)
CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
Sample = tuple[tuple[str, ...], float]
# A manual session begins with its last attempt.
ASKED = [trigger for trigger in Run.Trigger.values if trigger != Run.Trigger.MCP]


def metrics_text(*, now: datetime) -> bytes:
    """Everything there is to tell at `now`, in Prometheus's text format; a constant number of queries.

    With several processes behind one address (`PROMETHEUS_MULTIPROC_DIR`), requests, memory and processor
    time are summed over them.
    """
    registry = CollectorRegistry()
    registry.register(Machinery())
    registry.register(DatabaseFigures(now))
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        registry.register(WebProcesses())
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return generate_latest(registry) + generate_latest(REQUESTS)


class DatabaseFigures(Collector):
    """The figures that the database knows, whichever process is asked."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def collect(self) -> Iterator[Metric]:
        """Every family, of one moment; where the database fails, `tidings_database_up` 0 alone."""
        found: list[Metric] = []
        up = 1.0
        try:
            for part in (_watched, _feeds, _runs, _money, _work, _people, _guidance):
                found += part(self.now)
        except DatabaseFailure as error:
            log.warning("database_down", error=" ".join(str(error).split())[:ERROR_CHARS])
            found, up = [], 0.0
        yield _one("database_up", "1 where the database answers.", up)
        yield from found


def _family(name: str, words: str, samples: Iterable[Sample], labels: tuple[str, ...] = ()) -> Metric:
    family = GaugeMetricFamily(f"tidings_{name}", words, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family


def _one(name: str, words: str, value: float) -> Metric:
    return _family(name, words, [((), value)])


def _watched(now: datetime) -> Iterator[Metric]:
    """The figures operators watch, with their state: what the page “Figures to watch” shows."""
    rows = kpis(now=now)
    values = [((kpi.watch.key,), kpi.measured.value) for kpi in rows]
    known = [(labels, value) for labels, value in values if value is not None]
    yield _family("kpi", "A watched figure over its window: shares 0 to 1, USD, seconds.", known, ("name",))
    alerts = [((kpi.watch.key,), float(kpi.state is State.ALERT)) for kpi in rows]
    yield _family("kpi_alert", "1 where a watched figure is beyond its threshold.", alerts, ("name",))
    cases = [((kpi.watch.key,), float(kpi.measured.n)) for kpi in rows]
    yield _family("kpi_cases", "The cases behind a watched figure.", cases, ("name",))


def _feeds(now: datetime) -> Iterator[Metric]:
    states = dict(Feed.objects.order_by().values_list("state").annotate(n=Count("pk")))
    by_state = [((state,), float(states.get(state, 0))) for state in Feed.State.values]
    yield _family("feeds", "Feeds by state.", by_state, ("state",))
    due = Q(next_check_at__lte=now) | Q(next_check_at=None)
    sums = Feed.objects.filter(state=Feed.State.ACTIVE).aggregate(
        due=Count("pk", filter=due),
        failing=Count("pk", filter=Q(failures__gt=0)),
        oldest=Min("next_check_at"),
    )
    yield _one("feeds_due", "Active feeds whose time to be fetched has come.", sums["due"])
    yield _one("feeds_failing", "Active feeds whose last fetch failed.", sums["failing"])
    late = max(0.0, (now - sums["oldest"]).total_seconds()) if sums["oldest"] else 0.0
    yield _one("feeds_late_seconds", "How long the feed that waits longest has been due.", late)


def _runs(now: datetime) -> Iterator[Metric]:
    rows = Run.objects.filter(status__in=ACTIVE).order_by()
    counts = dict(rows.values_list("status").annotate(n=Count("pk")))
    by_status = [((status,), float(counts.get(status, 0))) for status in ACTIVE]
    yield _family("runs_open", "Runs not yet over, by status.", by_status, ("status",))
    ages = rows.aggregate(
        queued=Min("created_at", filter=Q(status=Run.Status.QUEUED)),
        lease=Min("lease_until", filter=Q(status=Run.Status.RUNNING)),
    )
    waits = (now - ages["queued"]).total_seconds() if ages["queued"] else 0.0
    yield _one("run_queued_seconds", "How long the oldest queued run has waited.", waits)
    overdue = max(0.0, (now - ages["lease"]).total_seconds()) if ages["lease"] else 0.0
    yield _one("run_lease_expired_seconds", "How long ago the oldest lease of a run ended.", overdue)
    recent = Run.objects.filter(created_at__gte=now - timedelta(days=1), trigger__in=ASKED)
    again = recent.filter(attempt__gt=1).count()
    yield _one("runs_taken_up_again", "Runs of the last day whose first worker was lost.", again)
    waiting = Suggestion.objects.filter(status=Suggestion.Status.PENDING).count()
    yield _one("suggestions_pending", "Suggestions that wait for their readers.", waiting)


def _money(now: datetime) -> Iterator[Metric]:
    """What the UTC day has booked, open reservations in full, beside its caps."""
    booked = Sum(Coalesce("settled_usd", "reserved_usd"))
    rows = Spend.objects.filter(day=now.astimezone(UTC).date()).order_by()
    spent = dict(rows.values_list("surface").annotate(usd=booked))
    caps = {"ingest": settings.LLM_DAILY_CAP_USD, "advisor": settings.ADVISOR_DAILY_CAP_USD}
    today = [((name,), float(spent.get(name, 0))) for name in caps]
    yield _family("spend_usd", "Booked for models on this UTC day.", today, ("surface",))
    limits = [((name,), cap) for name, cap in caps.items()]
    yield _family("spend_cap_usd", "What may be spent on models in a UTC day.", limits, ("surface",))


def _work(now: datetime) -> Iterator[Metric]:
    """When each scheduled job last began, each embedded worker last breathed, and how the night went."""
    ages = [(name, (now - at).total_seconds()) for name, at in Heartbeat.objects.values_list("worker", "at")]
    began = {name.removeprefix(JOB_PREFIX): age for name, age in ages if name.startswith(JOB_PREFIX)}
    never = (now - _made_at(now)).total_seconds()
    jobs = [((name,), age) for name, age in ({job.name: never for job in JOBS} | began).items()]
    about = "Since a scheduled job last began, or since the tables were made."
    yield _family("job_age_seconds", about, jobs, ("job",))
    workers = [age for name, age in ages if not name.startswith(JOB_PREFIX)]
    if workers:
        yield _one("worker_age_seconds", "Since an embedded worker's last sign of life.", min(workers))
    night = NightlyReport.objects.order_by("-day").first()
    age = (now - datetime.combine(night.day, time.min, UTC)).total_seconds() if night else never
    about = "Since the UTC day of the last night began, or since the tables were made."
    yield _one("night_age_seconds", about, age)
    failed = sum(step.get("status") == "failed" for step in night.steps.values()) if night else 0
    yield _one("night_steps_failed", "Steps of the last night that failed.", failed)


def _made_at(now: datetime) -> datetime:
    """When the first table was made: since then there is something that the schedule could do."""
    made: datetime | None = MigrationRecorder.Migration.objects.aggregate(first=Min("applied"))["first"]
    return made or now


def _people(now: datetime) -> Iterator[Metric]:
    yield _one("readers", "Readers who may sign in.", Reader.objects.filter(is_active=True).count())


def _guidance(now: datetime) -> Iterator[Metric]:
    """Guidance's own day: what it said by level, and what it swallowed."""
    since = datetime.combine(now.astimezone(UTC).date(), time.min, UTC)
    rows = GuidanceEvent.objects.filter(at__gte=since).order_by()
    levels = [((level,), float(n)) for level, n in rows.values_list("level").annotate(n=Count("pk"))]
    yield _family("guidance_events", "What guidance said on this UTC day, by level.", levels, ("level",))
    failed = rows.exclude(error_code="").count()
    yield _one("guidance_failures", "What guidance swallowed on this UTC day.", failed)
