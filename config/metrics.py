"""Answer `/healthz`, `/readyz` and `/metrics` with figures from the database and this process.

All metric names begin with `tidings_`. deploy/prometheus/alerts.yml has the alert rules. No label contains a
reader, a title or an address.
"""

import hmac
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.db import Error as DatabaseFailure
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Count, Min, Q, Sum
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from advisor.audit.kpis import State, kpis
from advisor.models import GuidanceEvent, Heartbeat, Run
from advisor.selectors import ACTIVE_STATUSES, BACKUP_JOB, JOB_PREFIX
from config import __version__
from config.disk import disk_folders, disk_free
from config.jobs.schedule import JOBS, QUEUES
from config.middleware import REQUESTS
from config.models import NightlyReport
from config.readiness import error_text, is_ready, queue_lengths, readiness, readiness_background
from digest.feeds.selectors import feed_is_due, is_read
from digest.models import Feed, Reader, Spend
from digest.sources.newsletters import mailbox_state
from ranking.common.clocks import SKEW, age_s
from suggestions.models import Suggestion

log = structlog.get_logger(__name__)
Sample = tuple[tuple[str, ...], float]

LOOPBACK = ("127.0.0.1", "::1")
LOCAL_NAMES = (*LOOPBACK, "localhost")
# Headers that proxies add, in the spelling of `request.headers`. All X-Forwarded-… headers count as well.
PROXY_HEADERS = ("Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Original-Host")
# A session over MCP is never retried: it begins with its last attempt.
RETRIED = [trigger for trigger in Run.Trigger.values if trigger != Run.Trigger.MCP]
PROC = Path("/proc")
# Fields of /proc/PID/stat after the name, counted from 0 (proc(5) counts from 3).
UTIME, STIME, CUTIME, CSTIME = 11, 12, 13, 14


def healthz(request: HttpRequest) -> HttpResponse:
    """Answer `ok` as plain text if this process runs. Check nothing else."""
    return HttpResponse("ok", content_type="text/plain")


@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Answer 200 if requests can be served, else 503.

    The body is `{"ready", "degraded", "checks": {name: {"ok", …}}}`. A broken broker, schedule or worker and
    a disk that is nearly full only set `degraded`. Error details are included only for clients that may read
    `/metrics`.
    """
    checks = readiness(now=timezone.now())
    rows = {check.name: asdict(check) for check in checks}
    hidden = {"name"} if _is_trusted(request) else {"name", "detail"}
    for row in rows.values():
        for key in hidden:
            del row[key]
    fine = is_ready(checks)
    body = {"ready": fine, "degraded": fine and not all(check.ok for check in checks), "checks": rows}
    return JsonResponse(body, status=200 if fine else 503)


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer with all metrics. Raises `Http404` for clients that may not read them.

    A client needs METRICS_TOKEN as bearer token. If none is set, the request must come from this machine.
    """
    if not _is_trusted(request):
        raise Http404
    return HttpResponse(metrics_text(now=timezone.now()), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _is_trusted(request: HttpRequest) -> bool:
    """Return whether the request has METRICS_TOKEN or, if none is set, comes from this machine.

    The requests of a proxy on this machine also come from here, perhaps without a header that shows it. So
    without a token, SITE_URL and the requested host must both name this machine.
    """
    if settings.METRICS_TOKEN:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ").encode()
        return hmac.compare_digest(token, settings.METRICS_TOKEN.encode())
    site = urlsplit(settings.SITE_URL).hostname
    host = urlsplit(f"//{request.get_host()}").hostname
    own = site in LOCAL_NAMES and host in LOCAL_NAMES and settings.ALLAUTH_TRUSTED_PROXY_COUNT == 0
    passed_on = any(name in PROXY_HEADERS or name.startswith("X-Forwarded") for name in request.headers)
    return own and not passed_on and request.META.get("REMOTE_ADDR") in LOOPBACK


def metrics_text(*, now: datetime) -> bytes:
    """Return all metrics at `now` in Prometheus's text format. A constant number of queries.

    If several processes serve one address (`PROMETHEUS_MULTIPROC_DIR`), requests, memory and processor time
    are sums over all of them.
    """
    registry = CollectorRegistry()
    registry.register(InstallationMetrics())
    registry.register(DatabaseMetrics(now))
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        registry.register(WebProcessMetrics())
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return generate_latest(registry) + generate_latest(REQUESTS)


class InstallationMetrics(Collector):
    """The version, free disk space, and what the broker says, if there is one."""

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families."""
        yield _family("build_info", "1, with the running version.", [((__version__,), 1.0)], ("version",))
        free = [((name,), float(size)) for name, size in disk_free(disk_folders()).items()]
        text = "Free space on the disk of TIDINGS_VAR_DIR, and of SQLite's file."
        yield _family("disk_free_bytes", text, free, ("folder",))
        if not settings.REDIS_URL:
            return
        lengths = queue_lengths(QUEUES)
        yield _one("broker_up", "1 if the broker answers.", float(bool(lengths)))
        waiting = [((name,), float(length)) for name, length in lengths.items()]
        yield _family("queue_messages", "Messages that no worker has taken.", waiting, ("queue",))


class WebProcessMetrics(Collector):
    """Memory and processor time of all processes of this server, under the metric names of a single process.

    Processor time includes the parent, its living children and its ended children. So it never falls when one
    process replaces another.
    """

    def __init__(self, parent: int | None = None, proc: Path = PROC) -> None:
        self.parent, self.proc = parent or os.getppid(), proc

    def collect(self) -> Iterator[Metric]:
        """Yield both metric families, or nothing if the system has no /proc."""
        parent = self.proc / str(self.parent)
        try:
            children = (parent / "task" / str(self.parent) / "children").read_text(encoding="ascii").split()
            seconds = _cpu_seconds(parent, (UTIME, STIME, CUTIME, CSTIME))
            memory = _resident_bytes(parent)
        except OSError:
            return
        for child in children:
            try:
                own = _cpu_seconds(self.proc / child, (UTIME, STIME))
                memory += _resident_bytes(self.proc / child)
            except OSError:  # it has just ended; the parent's figures include it next time
                continue
            seconds += own
        yield GaugeMetricFamily("process_resident_memory_bytes", "Memory of all web processes.", value=memory)
        yield CounterMetricFamily(
            "process_cpu_seconds", "Processor time of all web processes.", value=seconds
        )


def _cpu_seconds(process: Path, fields: tuple[int, ...]) -> float:
    # Skip the process's name in brackets, which may contain anything.
    stat = (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return sum(int(stat[field]) for field in fields) / os.sysconf("SC_CLK_TCK")


def _resident_bytes(process: Path) -> float:
    pages = (process / "statm").read_text(encoding="ascii").split()[1]
    return float(int(pages) * os.sysconf("SC_PAGE_SIZE"))


class DatabaseMetrics(Collector):
    """Figures from the database, the same in every process."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def collect(self) -> Iterator[Metric]:
        """Yield all families for one moment. If the database fails, yield only `tidings_database_up` 0."""
        found: list[Metric] = []
        up = 1.0
        try:
            for part in (_kpis, _feeds, _runs, _money, _jobs, _guidance, _checks):
                found += part(self.now)
        except DatabaseFailure as error:
            log.warning("database_down", error=error_text(error))
            found, up = [], 0.0
        yield _one("database_up", "1 if the database answers.", up)
        yield from found


def _family(name: str, text: str, samples: Iterable[Sample], labels: tuple[str, ...] = ()) -> Metric:
    family = GaugeMetricFamily(f"tidings_{name}", text, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family


def _one(name: str, text: str, value: float) -> Metric:
    return _family(name, text, [((), value)])


def _kpis(now: datetime) -> Iterator[Metric]:
    """Yield the KPIs of the page “Key figures”, with their states."""
    rows = kpis(now=now)
    values = [((kpi.definition.key,), kpi.measured.value) for kpi in rows]
    known = [(labels, value) for labels, value in values if value is not None]
    yield _family("kpi", "A watched figure over its window: shares 0 to 1, USD, seconds.", known, ("name",))
    alerts = [((kpi.definition.key,), float(kpi.state is State.ALERT)) for kpi in rows]
    yield _family("kpi_alert", "1 if a watched figure is beyond its threshold.", alerts, ("name",))
    cases = [((kpi.definition.key,), float(kpi.measured.n)) for kpi in rows]
    yield _family("kpi_cases", "The cases behind a watched figure.", cases, ("name",))


def _feeds(now: datetime) -> Iterator[Metric]:
    states = dict(Feed.objects.order_by().values_list("state").annotate(n=Count("pk")))
    by_state = [((state,), float(states.get(state, 0))) for state in Feed.State.values]
    yield _family("feeds", "Feeds by state.", by_state, ("state",))
    sums = Feed.objects.filter(is_read(), state=Feed.State.ACTIVE).aggregate(
        due=Count("pk", filter=feed_is_due(now=now)),
        failing=Count("pk", filter=Q(failures__gt=0)),
        oldest=Min("next_check_at"),
    )
    yield _one("feeds_due", "Feeds that somebody reads and that are due to be fetched.", sums["due"])
    yield _one("feeds_failing", "Feeds that somebody reads and whose last fetch failed.", sums["failing"])
    late = max(0.0, (now - sums["oldest"]).total_seconds()) if sums["oldest"] else 0.0
    yield _one("feeds_late_seconds", "For how long the feed that waits longest has been due.", late)
    mailbox = mailbox_state()
    text = "1 if the mailbox of newsletters could not be read at the last try."
    yield _one("newsletters_failing", text, float(bool(mailbox and mailbox.problem)))


def _runs(now: datetime) -> Iterator[Metric]:
    rows = Run.objects.filter(status__in=ACTIVE_STATUSES).order_by()
    counts = dict(rows.values_list("status").annotate(n=Count("pk")))
    by_status = [((status,), float(counts.get(status, 0))) for status in ACTIVE_STATUSES]
    yield _family("runs_open", "Runs that have not ended, by status.", by_status, ("status",))
    ages = rows.aggregate(
        queued=Min("created_at", filter=Q(status=Run.Status.QUEUED)),
        lease=Min("lease_until", filter=Q(status=Run.Status.RUNNING)),
    )
    waits = (age_s(ages["queued"], now) or 0.0) if ages["queued"] else 0.0
    yield _one("run_queued_seconds", "How long the oldest queued run has waited.", waits)
    overdue = max(0.0, (now - ages["lease"]).total_seconds()) if ages["lease"] else 0.0
    yield _one("run_lease_expired_seconds", "How long ago the oldest lease of a run ended.", overdue)
    recent = Run.objects.filter(created_at__gte=now - timedelta(days=1), trigger__in=RETRIED)
    again = recent.filter(attempt__gt=1).count()
    yield _one("runs_taken_up_again", "Runs of the last day whose first worker was lost.", again)
    waiting = Suggestion.objects.filter(status=Suggestion.Status.PENDING).count()
    yield _one("suggestions_pending", "Suggestions that wait for their readers.", waiting)
    yield _one("readers", "Readers who may sign in.", Reader.objects.filter(is_active=True).count())


def _money(now: datetime) -> Iterator[Metric]:
    """Yield the spending of the UTC day, with open reservations in full, and its caps."""
    booked = Sum(Coalesce("settled_usd", "reserved_usd"))
    rows = Spend.objects.filter(day=now.astimezone(UTC).date()).order_by()
    spent = dict(rows.values_list("surface").annotate(usd=booked))
    caps = {"ingest": settings.LLM_DAILY_CAP_USD, "advisor": settings.ADVISOR_DAILY_CAP_USD}
    today = [((name,), float(spent.get(name, 0))) for name in caps]
    yield _family("spend_usd", "Booked for models on this UTC day.", today, ("surface",))
    limits = [((name,), cap) for name, cap in caps.items()]
    yield _family("spend_cap_usd", "What may be spent on models in a UTC day.", limits, ("surface",))


def _jobs(now: datetime) -> Iterator[Metric]:
    """Yield the ages of each job's last start, of a worker's last heartbeat, and of the last nightly run.

    What lies in the future counts as never: the clock was wrong.
    """
    # A job that never ran is as old as the first table, before which nothing could be scheduled.
    first_table = MigrationRecorder.Migration.objects.aggregate(at=Min("applied"))["at"]
    never = age_s(first_table or now, now) or 0.0
    found = {name: age_s(at, now) for name, at in Heartbeat.objects.values_list("worker", "at")}
    ages = {name: never if age is None else age for name, age in found.items()}
    jobs = [((job.name,), ages.get(f"{JOB_PREFIX}{job.name}", never)) for job in JOBS]
    text = "Since a scheduled job last began, or since the tables were made."
    yield _family("job_age_seconds", text, jobs, ("job",))
    if (since := ages.get(BACKUP_JOB)) is not None:
        yield _one(
            "backup_age_seconds", "Since the last `manage.py backup`; missing if there was none.", since
        )
    if workers := [age for name, age in ages.items() if not name.startswith(JOB_PREFIX)]:
        yield _one("worker_age_seconds", "Since the last heartbeat of an embedded worker.", min(workers))
    night = NightlyReport.objects.filter(started_at__lte=now + SKEW).order_by("-day").first()
    age = (now - datetime.combine(night.day, time.min, UTC)).total_seconds() if night else never
    text = "Since the UTC day of the last nightly run began, or since the tables were made."
    yield _one("night_age_seconds", text, max(0.0, age))
    failed = sum(step.get("status") == "failed" for step in night.steps.values()) if night else 0
    yield _one("night_steps_failed", "Steps of the last nightly run that failed.", failed)


def _checks(now: datetime) -> Iterator[Metric]:
    """Yield the checks that let /readyz say "degraded"."""
    rows = [((check.name,), float(check.ok)) for check in readiness_background(now=now)]
    yield _family("check_ok", "1 if this check of /readyz passes.", rows, ("check",))


def _guidance(now: datetime) -> Iterator[Metric]:
    """Yield the guidance events of this UTC day by level, and the guidance failures."""
    since = datetime.combine(now.astimezone(UTC).date(), time.min, UTC)
    rows = GuidanceEvent.objects.filter(at__gte=since).order_by()
    levels = [((level,), float(n)) for level, n in rows.values_list("level").annotate(n=Count("pk"))]
    yield _family("guidance_events", "Guidance events of this UTC day, by level.", levels, ("level",))
    failed = rows.exclude(error_code="").count()
    yield _one("guidance_failures", "Guidance errors of this UTC day that did not stop a run.", failed)
