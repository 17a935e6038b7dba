"""Figures of the admin's first page: failures, queues and spending."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlencode

from django import template
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Count, Max, Model, Q, QuerySet, Sum, Value
from django.db.models.functions import Coalesce
from django.template.defaultfilters import date as date_words
from django.urls import reverse
from django.utils import timezone
from django.utils.timezone import localtime

from advisor.agent.error_policy import page_failure_alert
from advisor.models import Heartbeat, Run, Step
from advisor.run.workers import jobs_last_started
from advisor.run_values import PLANNER_MODEL
from advisor.selectors import ACTIVE_STATUSES, BACKUP_JOB, JOB_PREFIX, worker_alive
from config.jobs.lease import nightly_as_dict
from config.models import NightlyReport
from config.pulse.files import worker_has_pulse
from config.readiness import NO_ALERT, is_ready, readiness
from digest.feeds.health import NETWORK_TO_DO, mostly_failed
from digest.feeds.selectors import (
    error_counts,
    feed_is_due,
    fetching_trouble,
    in_trouble,
    is_read,
    network_trouble,
)
from digest.llm.providers import models_exist
from digest.mail.render import mail_goes_out
from digest.models import Delivery, Feed, Reader, Spend
from digest.requests import reader_of
from digest.sources.newsletters import mailbox_state
from digest.web.pages.costs import BOOKED, USD, usd_words
from ranking.common.clocks import future_words, is_ahead
from ranking.common.damage import is_damage
from ranking.common.text import words_cut
from suggestions.models import Outcome
from suggestions.outcomes.check import decisions_unchecked

register = template.Library()

# Larger counts show as "1,000+". That tells an operator enough and avoids reading a whole table.
COUNT_MAX: Final = 1_000
# If no night has begun for this long, one was missed.
NIGHT_LATE: Final = timedelta(hours=30)
DAY, WEEK = timedelta(days=1), timedelta(days=7)
# The models of so many latest runs are looked at, and so much of their errors is shown.
RUNS_SEEN: Final = 20
NOTE_CHARS: Final = 300
# So many kinds of errors of feeds fit in a line.
KINDS_SHOWN: Final = 2
# What helps if a figure is bad. Runbook means docs/runbook.md.
HEALTH_TO_DO: Final = {
    "database": "Start the database server, and see its log and its disk (runbook: TidingsDatabaseDown).",
    "migrations": "Run manage.py migrate.",
    "disk": "Move old backups to another disk, and delete old logs. The folder “pictures” may be deleted at "
    "any time (runbook: TidingsDiskFull).",
    "network": "Mend this machine’s network or its names (DNS): resolvectl status, ping. The feeds are tried "
    "again every few minutes (runbook: No network).",
    "alerts": "Look for damage: manage.py check --database default (runbook: A damaged database).",
    "broker": "Start Redis. Nothing is lost meanwhile (runbook: TidingsBrokerDown).",
    "schedule": "Start the worker. Until then pages work, but nothing is fetched and no mail is sent "
    "(runbook: TidingsScheduleStands).",
    "workers": "Restart the worker that is named (runbook: A worker that hangs).",
}
FEEDS_STALLED_TO_DO: Final = "Start the worker, or mend this machine’s network (runbook: TidingsFeedsLate)."
FEEDS_TO_DO: Final = "The list says why each one fails. Failing ones are tried again by themselves."
MAILBOX_TO_DO: Final = "Correct NEWSLETTERS_URL. The mails wait in the mailbox meanwhile."
MAIL_NONE_TO_DO: Final = "Set EMAIL_URL to a mail server."
MAIL_TO_DO: Final = "Correct EMAIL_URL or the mail server. Then run manage.py deliver."
NIGHT_LATE_TO_DO: Final = "Start a worker, or run manage.py run_nightly (runbook: TidingsNightMissed)."
NIGHT_TO_DO: Final = "Failed steps are tried again twice. By hand: manage.py run_nightly."
BACKUP_TO_DO: Final = "Run manage.py backup --keep 7 FOLDER, every day by a timer or cron."
SPEND_TO_DO: Final = (
    "Nothing: until midnight UTC the planner does the runs. A cap is a setting (…_DAILY_CAP_USD)."
)
MODELS_TO_DO: Final = (
    "Run manage.py check_model: it names the wrong key or address. Meanwhile the planner makes suggestions."
)
QUEUE_TO_DO: Final = "Start the worker: manage.py work."
# Of daily backups two were missed. The alert TidingsBackupOld has the same bound.
BACKUP_LATE: Final = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class OverviewFigure:
    """One figure with a note and the address of its list.

    `bad` means that an operator should look at it. Then `to_do` says what helps. `not_yet` means that nothing
    shows yet whether it works.
    """

    name: str
    value: str
    note: str
    href: str
    bad: bool = False
    to_do: str = ""
    not_yet: bool = False


@register.simple_tag(takes_context=True)
def operators_overview(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures that the signed-in operator may see: those that need a look, and the others.

    `is_proven` says whether none of them still waits for its first time.
    """
    figures = overview_figures(reader=reader_of(context["request"]), now=timezone.now())
    return {
        "bad": [one for one in figures if one.bad],
        "good": [one for one in figures if not one.bad],
        "is_proven": not any(one.not_yet for one in figures),
    }


def overview_figures(*, reader: Reader, now: datetime) -> list[OverviewFigure]:
    """Return the figures that this operator may see, in a fixed order. At most sixteen queries.

    Counts stop at 1,001 rows, and no query reads items, ratings or digests. A part whose tables are damaged
    is a bad figure itself.
    """
    parts = (
        (NightlyReport, _health),
        (Feed, _feeds),
        (Delivery, _mail),
        (NightlyReport, _night),
        (Heartbeat, _backup),
        (Spend, _spend),
        (Run, _models),
        (Outcome, _outcomes),
        (Run, _queue),
    )
    return [figure for model, part in parts if _may_view(reader, model) for figure in _figures(part, now)]


def _figures(part: Callable[[datetime], Iterable[OverviewFigure]], now: datetime) -> list[OverviewFigure]:
    try:
        return list(part(now))
    except DatabaseError as error:
        if not is_damage(str(error)):
            raise
        page_failure_alert(error=error, now=now)
        name = part.__name__.strip("_").capitalize()
        note = f"The database is damaged: {error}"
        return [OverviewFigure(name, "cannot be read", note, reverse("readyz"), True, HEALTH_TO_DO["alerts"])]


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
    failing = [check for check in checks if not check.ok]
    failed = [f"{check.name}: {check.detail}" for check in failing]
    value = ("degraded" if failed else "ready") if is_ready(checks) else "not ready"
    space = [check.detail for check in checks if check.name == "disk" and check.ok]
    over = [
        check.detail for check in checks if check.name == "alerts" and check.ok and check.detail != NO_ALERT
    ]
    to_do = " ".join(HEALTH_TO_DO[check.name] for check in failing)
    note = "; ".join([*(failed or space), *over])
    yield OverviewFigure("Health", value, note, reverse("readyz"), bool(failed), to_do)


def _feeds(now: datetime) -> Iterator[OverviewFigure]:
    read = Feed.objects.filter(is_read())
    troubled = _count(read.filter(in_trouble()))
    planned = read.filter(state=Feed.State.ACTIVE, next_check_at__isnull=False)
    due = _count(planned.filter(feed_is_due(now=now)))
    href = _list(Feed, condition="trouble") if troubled else _list(Feed)
    codes = error_counts() if troubled else {}
    offline = network_trouble()
    stalled = offline or fetching_trouble(now=now)
    kinds = [] if offline else _kinds(codes, troubled)
    note = f"{stalled} {'; '.join((*kinds, f'{_count_words(due)} due to be fetched'))}".strip()
    to_do = NETWORK_TO_DO if offline else FEEDS_STALLED_TO_DO if stalled else FEEDS_TO_DO
    is_bad = troubled > 0 or bool(stalled)
    yield OverviewFigure("Feeds in trouble", _count_words(troubled), note, href, is_bad, to_do)
    if mailbox := mailbox_state():
        value = "failing" if mailbox.problem else "read"
        note = mailbox.problem or f"last at {date_words(localtime(mailbox.read_at), 'H:i')}"
        href, is_bad = _list(Feed, kind="newsletter"), bool(mailbox.problem)
        yield OverviewFigure("Newsletters", value, note, href, is_bad, MAILBOX_TO_DO)


def _kinds(codes: Mapping[str, int], troubled: int) -> Iterator[str]:
    """Yield the commonest errors of feeds with their counts, and how many feeds have other troubles."""
    failing = sorted(((n, code) for code, n in codes.items() if code), reverse=True)[:KINDS_SHOWN]
    for n, code in failing:
        yield f"{_count_words(n)} × {code.replace('_', ' ')}"
    more = troubled - sum(n for n, _ in failing)
    if failing and more > 0:
        yield f"… and {_count_words(more)} more of other kinds"


def _cut(parts: Sequence[str]) -> str:
    """Return as many of `parts` as a note has room for, at least one, and the number of the others."""
    shown: list[str] = []
    for part in parts:
        if shown and sum(map(len, (*shown, part))) > NOTE_CHARS:
            break
        shown.append(words_cut(part, NOTE_CHARS))
    more = len(parts) - len(shown)
    return "; ".join([*shown, *([f"… and {more} more"] if more else [])])


def _mail(now: datetime) -> Iterator[OverviewFigure]:
    """Yield the mails of the last day that failed, or the readers who want mail where none goes out."""
    if not mail_goes_out():
        wanting = Reader.objects.filter(is_active=True).exclude(mail_rhythm=Reader.MailRhythm.OFF)
        if count := _count(wanting):
            note = f"no mail server, but readers who want their digest by mail: {_count_words(count)}"
            href = _list(Reader, is_active__exact="1")
            yield OverviewFigure("Mail", "none goes out", note, href, True, MAIL_NONE_TO_DO)
        return
    rows = Delivery.objects.filter(status=Delivery.Status.FAILED, claimed_at__gt=now - DAY)
    failed = _count(rows)
    error = rows.order_by("-claimed_at").values_list("error", flat=True).first() if failed else ""
    href = _list(Delivery, status__exact=Delivery.Status.FAILED.value)
    note = error or "mails of the last day"
    yield OverviewFigure("Mails that failed", _count_words(failed), note, href, failed > 0, MAIL_TO_DO)


def _night(now: datetime) -> Iterator[OverviewFigure]:
    night = NightlyReport.objects.order_by("-day").first()
    if night is None:
        yield OverviewFigure("Last night", "none yet", "", _list(NightlyReport), not_yet=True)
        return
    if is_ahead(night.started_at, now):
        note = f"{future_words('The last report', night.started_at)}. The next night deletes it."
        href = _list(NightlyReport)
        yield OverviewFigure("Last night", "wrong clock", note, href, True, NIGHT_LATE_TO_DO)
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
    to_do = NIGHT_LATE_TO_DO if late else NIGHT_TO_DO
    yield OverviewFigure("Last night", value, note, href, bool(failed or fetched) or late, to_do)


def _backup(now: datetime) -> Iterator[OverviewFigure]:
    """Yield when `manage.py backup` last made a backup. Other ways to make one leave no trace here.

    Without any, the time counts from the last migration: earlier versions did not note backups.
    """
    last = jobs_last_started().get(BACKUP_JOB.removeprefix(JOB_PREFIX))
    if last and is_ahead(last, now):
        note = future_words("The last backup", last)
        yield OverviewFigure("Last backup", "wrong clock", note, _list(Heartbeat), True, BACKUP_TO_DO)
        return
    value = date_words(localtime(last), "j F, H:i") if last else "none by this version yet"
    since = last or MigrationRecorder(connection).migration_qs.aggregate(last=Max("applied"))["last"] or now
    late = now - since > BACKUP_LATE
    note = "by manage.py backup" if last or late else BACKUP_TO_DO
    yield OverviewFigure("Last backup", value, note, _list(Heartbeat), late, BACKUP_TO_DO, last is None)


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
    yield OverviewFigure("Spent today", value, note, href, sums["today"] >= caps > 0, SPEND_TO_DO)
    yield OverviewFigure("Spent this month", f"${usd_words(sums['month'])}", f"{today:%B} so far", href)


def _models(now: datetime) -> Iterator[OverviewFigure]:
    """Yield the models whose last call in the latest runs failed, if models are configured."""
    if not models_exist():
        return
    runs = Run.objects.filter(created_at__gt=now - WEEK).order_by("-created_at").values("pk")[:RUNS_SEEN]
    calls = Step.objects.filter(run__in=[row["pk"] for row in runs], kind=Step.Kind.MODEL)
    last = {
        model: (code, words)
        for model, code, words in calls.order_by("at", "pk").values_list("model", "error_code", "result")
        if model and model != PLANNER_MODEL
    }
    failing = [f"{model}: {words or code.replace('_', ' ')}" for model, (code, words) in last.items() if code]
    value = f"{len(failing)} of {len(last)} fail" if failing else f"{len(last)} answer"
    note = _cut(failing) or "in the runs of the last week"
    yield OverviewFigure("Models", value, note, _list(Run), bool(failing), MODELS_TO_DO)


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
    note = f"{running:,} running" + ("" if lives else "; no worker is alive")
    href = _list(Run, status__exact=Run.Status.QUEUED.value)
    yield OverviewFigure("Runs queued", f"{queued:,}", note, href, not lives, QUEUE_TO_DO)
