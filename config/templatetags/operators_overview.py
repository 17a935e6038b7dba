"""Figures of the admin's first page: failures, queues and spending."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlencode

from django import template
from django.conf import settings
from django.db.models import Count, Model, Q, QuerySet, Sum, Value
from django.db.models.functions import Coalesce
from django.template.defaultfilters import date as date_words
from django.urls import reverse
from django.utils import timezone
from django.utils.timezone import localtime

from advisor.models import Heartbeat, Run
from advisor.run.workers import jobs_last_started
from advisor.selectors import ACTIVE_STATUSES, BACKUP_JOB, JOB_PREFIX, worker_alive
from config.jobs.lease import nightly_as_dict
from config.models import NightlyReport
from config.pulse.files import worker_has_pulse
from config.readiness import is_ready, readiness
from digest.feeds.health import mostly_failed
from digest.feeds.selectors import in_trouble, is_read
from digest.models import Feed, Reader, Spend
from digest.requests import reader_of
from digest.sources.newsletters import mailbox_state
from digest.web.pages.costs import BOOKED, USD, usd_words
from suggestions.models import Outcome
from suggestions.outcomes.check import decisions_unchecked

register = template.Library()

# Larger counts show as "1,000+". That tells an operator enough and avoids reading a whole table.
COUNT_MAX: Final = 1_000
# If no night has begun for this long, one was missed.
NIGHT_LATE: Final = timedelta(hours=30)
# Of daily backups two were missed. The alert TidingsBackupOld has the same bound.
BACKUP_LATE: Final = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class OverviewFigure:
    """One figure with a note and the address of its list. `bad` means that an operator should look at it."""

    name: str
    value: str
    note: str
    href: str
    bad: bool = False


@register.simple_tag(takes_context=True)
def operators_overview(context: Mapping[str, Any]) -> list[OverviewFigure]:
    """Return the current figures that the signed-in operator may see."""
    return overview_figures(reader=reader_of(context["request"]), now=timezone.now())


def overview_figures(*, reader: Reader, now: datetime) -> list[OverviewFigure]:
    """Return the figures that this operator may see, in a fixed order. At most twelve queries.

    Counts stop at 1,001 rows, and no query reads items, ratings or digests.
    """
    parts = (
        (NightlyReport, _health),
        (Feed, _feeds),
        (NightlyReport, _night),
        (Heartbeat, _backup),
        (Spend, _spend),
        (Outcome, _outcomes),
        (Run, _queue),
    )
    return [figure for model, part in parts if _may_view(reader, model) for figure in part(now)]


def _may_view(reader: Reader, model: type[Model]) -> bool:
    return reader.has_perm(f"{model._meta.app_label}.view_{model._meta.model_name}")


def _list(model: type[Model], **chosen: str) -> str:
    """Return the address of the admin's list of `model`, with these filters."""
    href = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return f"{href}?{urlencode(chosen)}" if chosen else href


def _count(rows: QuerySet[Any]) -> int:
    """Count up to `COUNT_MAX` + 1 rows."""
    return rows.order_by()[: COUNT_MAX + 1].count()


def _count_words(count: int) -> str:
    return f"{COUNT_MAX:,}+" if count > COUNT_MAX else f"{count:,}"


def _health(now: datetime) -> Iterator[OverviewFigure]:
    """Yield what /readyz says, with the reason of each check that failed, and the free space."""
    checks = readiness(now=now)
    failed = [f"{check.name}: {check.detail}" for check in checks if not check.ok]
    value = ("degraded" if failed else "ready") if is_ready(checks) else "not ready"
    space = [check.detail for check in checks if check.name == "disk" and check.ok]
    yield OverviewFigure("Health", value, "; ".join(failed + space), reverse("readyz"), bad=bool(failed))


def _feeds(now: datetime) -> Iterator[OverviewFigure]:
    read = Feed.objects.filter(is_read())
    troubled = _count(read.filter(in_trouble()))
    due = _count(read.filter(state=Feed.State.ACTIVE, next_check_at__lte=now))
    href = _list(Feed, condition="trouble") if troubled else _list(Feed)
    note = f"gone, refused, failing, moved or empty; {_count_words(due)} due to be fetched"
    yield OverviewFigure("Feeds in trouble", _count_words(troubled), note, href, bad=troubled > 0)
    if mailbox := mailbox_state():
        value = "failing" if mailbox.problem else "read"
        note = mailbox.problem or f"last at {date_words(localtime(mailbox.read_at), 'H:i')}"
        href = _list(Feed, condition="imported")
        yield OverviewFigure("Newsletters", value, note, href, bad=bool(mailbox.problem))


def _night(now: datetime) -> Iterator[OverviewFigure]:
    night = NightlyReport.objects.order_by("-day").first()
    if night is None:
        yield OverviewFigure("Last night", "none yet", "", _list(NightlyReport))
        return
    steps = nightly_as_dict(night)["steps"]
    failed = [step["name"] for step in steps if step["status"] == "failed"]
    began = date_words(localtime(night.started_at), "j F, H:i")
    ended = (
        f" to {date_words(localtime(night.finished_at), 'H:i')}" if night.finished_at else ", not over yet"
    )
    done = sum(step["status"] == "done" for step in steps)
    fetched, error = _fetch_words(steps)
    well = "" if fetched else "none failed"
    steps_words = f"failed: {', '.join(failed)}" if failed else well
    note = "; ".join(filter(None, (f"{began}{ended}", f"{done} steps done", steps_words, error)))
    late = now - night.started_at > NIGHT_LATE
    value = ", ".join(filter(None, (f"{len(failed)} failed" if failed else "", fetched))) or night.status
    href = reverse("admin:tidings_nightlyreport_change", args=[night.pk])
    yield OverviewFigure("Last night", value, note, href, bad=bool(failed or fetched) or late)


def _backup(now: datetime) -> Iterator[OverviewFigure]:
    """Yield when `manage.py backup` last made a backup. Other ways to make one leave no trace here."""
    last = jobs_last_started().get(BACKUP_JOB.removeprefix(JOB_PREFIX))
    value = date_words(localtime(last), "j F, H:i") if last else "none yet"
    note = "by manage.py backup" + ("" if last else "; --keep 7 in a timer or cron makes one a day")
    late = last is None or now - last > BACKUP_LATE
    yield OverviewFigure("Last backup", value, note, _list(Heartbeat), bad=late)


def _fetch_words(steps: Iterable[Mapping[str, Any]]) -> tuple[str, str]:
    """Return two texts: the number of feeds fetched, and the commonest error.

    Both are empty unless most feeds of the night failed.
    """
    counts: dict[str, Any] = next((step.get("counts", {}) for step in steps if step["name"] == "fetch"), {})
    feeds, ok, failed = (counts.get(name, 0) for name in ("feeds", "ok", "failed"))
    if not mostly_failed(feeds=feeds, failed=failed):
        return "", ""
    error = str(counts.get("error", "")).replace("_", " ")
    why = f"most often: {error} ({counts['error_feeds']:,})" if error else ""
    return f"{ok:,} of {feeds:,} feeds fetched", why


def _spend(now: datetime) -> Iterator[OverviewFigure]:
    """Yield the spending of the UTC day and of the month so far. Open reservations count in full."""
    today = now.astimezone(UTC).date()
    zero = Value(Decimal(0), output_field=USD)
    month = Spend.objects.filter(day__gte=today.replace(day=1), day__lte=today).order_by()
    sums = month.aggregate(
        today=Coalesce(Sum(BOOKED, filter=Q(day=today)), zero), month=Coalesce(Sum(BOOKED), zero)
    )
    caps = Decimal(str(settings.LLM_DAILY_CAP_USD)) + Decimal(str(settings.ADVISOR_DAILY_CAP_USD))
    href = reverse("digest:costs")
    value, note = f"${usd_words(sums['today'])}", f"of at most ${usd_words(caps)} a UTC day"
    yield OverviewFigure("Spent today", value, note, href, bad=sums["today"] >= caps > 0)
    yield OverviewFigure("Spent this month", f"${usd_words(sums['month'])}", f"{today:%B} so far", href)


def _outcomes(now: datetime) -> Iterator[OverviewFigure]:
    due = _count(decisions_unchecked(now=now))
    note = "accepted two weeks ago or more; the night checks them"
    href = _list(Outcome, waiting="due")
    yield OverviewFigure("Outcomes to check", _count_words(due), note, href)


def _queue(now: datetime) -> Iterator[OverviewFigure]:
    rows = Run.objects.filter(status__in=ACTIVE_STATUSES).order_by()
    counts = dict(rows.values_list("status").annotate(n=Count("pk")))
    queued, running = (counts.get(status, 0) for status in (Run.Status.QUEUED, Run.Status.RUNNING))
    lives = settings.REDIS_URL or worker_alive(now=now) or worker_has_pulse(settings.VAR_DIR)
    note = f"{running:,} running" + ("" if lives else "; no worker is alive: start manage.py work")
    href = _list(Run, status__exact=Run.Status.QUEUED.value)
    yield OverviewFigure("Runs queued", f"{queued:,}", note, href, bad=not lives)
