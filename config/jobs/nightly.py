"""Run the nightly steps. One row per UTC day records them, so that any worker can continue after a crash.

`config.jobs.lease` decides which worker holds the row. A step is stored before it begins and when it ends, so
a crash repeats only the current step. A step that crashes its process twice is given up. After a failed step
the others still run, and the failed step is retried later on the same day.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.db.models import OuterRef, Subquery

from advisor.agent.error_policy import Action, alert_raise, error_handle, failures_alert
from advisor.run.execute import traces_prune
from advisor.run.scheduling import readers_advise
from advisor.run.workers import job_failed
from config.jobs.lease import CRASHES_MAX, LEASE, Step, night_claim, night_lease_renewal, night_save
from config.models import NightlyReport
from digest.accounts.assistant_access import assistants_prune
from digest.articles.pictures import pictures_prune
from digest.daily.first_fetch import stories_refresh
from digest.daily.services import digests_build
from digest.feedback.implicit import implicit_update_all
from digest.feedback.noisy_counts import community_publish
from digest.feedback.services import cycles_run
from digest.feeds.fetch_batch import feeds_fetch
from digest.feeds.health import outage_message, round_message
from digest.feeds.selectors import outage_began_at
from digest.feeds.services import twins_join
from digest.items.meanings import meanings_update, topic_meanings_prune
from digest.items.vectors import item_vectors_prune, item_vectors_update
from digest.mail.send import digests_deliver
from digest.models import Feedback, Reader
from digest.retention import items_prune, rows_prune
from digest.summaries.services import summaries_make
from ranking.common.broker import shared_task
from ranking.common.isolation import Parts, failures_collected
from ranking.selectors import cycles_last
from ranking.services import snapshots_prune, versions_prune
from suggestions.models import Evidence
from suggestions.outcomes.check import effects_check
from suggestions.outcomes.untaken import untaken_check
from suggestions.planner.population import taste_spread_publish

log = structlog.get_logger(__name__)
Status = NightlyReport.Status
Clock = Callable[[], datetime]
Counts = Mapping[str, object]
Work = Callable[[datetime], Counts]

# Learning cycles are weekly, because the size of their steps fits a week's ratings (docs/architecture.md).
LEARNING_CYCLE = timedelta(days=7)
ERROR_CHARS = 300
# A message that asks another worker to share a step expires after this long.
SHARE_S = 600
CRASHED = "It ended its process twice, so this night goes on without it."


class MailServerDown(Exception):
    """No mail server answered. Due mail waits for the next run."""


def fetch(now: datetime) -> Counts:
    """Fetch the feeds that are due. If most of several feeds failed, raise an alert."""
    report = feeds_fetch(now=now)
    found, (error, times) = report.as_dict(), report.commonest_error()
    feeds, failed = len(report.per_feed) + len(report.errors), len(report.errors)
    offline = outage_began_at()
    if (
        reason := outage_message(offline)
        if offline
        else round_message(feeds=feeds, failed=failed, error=error)
    ):
        alert_raise(kind="feeds_stalled", where="Fetching feeds", reason=reason, now=now)
    counts = {name: found[name] for name in ("feeds", "ok", "failed", "items_new")}
    return counts | ({"error": error, "error_feeds": times} if error else {})


def cluster(now: datetime) -> Counts:
    """Join feeds that are one, group items into stories, update vectors, and delete rows past retention."""
    parts = Parts("nightly cluster")
    joined = parts.run("twins", lambda: twins_join(now=now))
    stories = parts.run("stories", lambda: stories_refresh(now=now).as_dict())
    # Items that are evidence of a suggestion are kept beyond their retention.
    evidence = [Evidence.objects.filter(item=OuterRef("pk"))]
    counts = {
        "feeds_joined": joined,
        "vectors": parts.run("vectors", lambda: item_vectors_update(now=now)),
        "meanings": (parts.run("meanings", lambda: meanings_update(now=now)) or {}).get("topics", 0),
        "pruned": parts.run("old vectors", lambda: item_vectors_prune(now=now)),
        "topics_pruned": parts.run("old topics", topic_meanings_prune),
        "rows_pruned": sum(
            parts.run(name, partial(prune, now=now)) or 0
            for name, prune in (
                ("rows", rows_prune),
                ("snapshots", snapshots_prune),
                ("settings", versions_prune),
                ("traces", traces_prune),
                ("assistants", assistants_prune),
            )
        ),
        "items_pruned": parts.run("items", lambda: items_prune(now=now, referenced_by=evidence)),
        "pictures_pruned": parts.run("pictures", lambda: pictures_prune(now=now)),
    }
    parts.end()
    return {**(stories or {}), **counts}


def summarise(now: datetime) -> Counts:
    """Summarise new texts within the day's budget, the most valuable first."""
    report = summaries_make(now=now)
    counts = {name: getattr(report, name) for name in ("extracts", "asked", "made", "repaired")}
    return {**counts, **({"stopped": report.stopped} if report.stopped else {})}


def learn(now: datetime) -> Counts:
    """Publish community figures, run due weekly learning cycles, and update implicit preferences."""
    parts = Parts("nightly learn")
    figures = parts.run("figures", lambda: community_publish(now=now))
    _share("learn", now)
    report = parts.run("cycles", lambda: cycles_run(reader_ids=_learning_due(now), now=now))
    counts = {
        "figures": sum((figures or {}).values()),
        "tastes": parts.run("tastes", lambda: taste_spread_publish(now=now)),
        "reading": parts.run("reading", lambda: implicit_update_all(now=now)),
    }
    parts.end()
    done = {"readers": report.done, "moved": report.moved, "failed": report.failed} if report else {}
    return {**done, **counts}


def _learning_due(now: datetime) -> list[UUID]:
    """Return the ids of readers who rated since their last learning cycle, a week ago or more; two queries.

    Without a new rating a cycle would learn the same again: seven weeks of absence took a source from 1.0 to
    its cap.
    """
    today, last = now.astimezone(UTC).date(), cycles_last()
    until = today - LEARNING_CYCLE
    rated = Feedback.objects.filter(reader=OuterRef("pk")).order_by("-at").values("at")[:1]
    readers = Reader.objects.filter(is_active=True).annotate(rated=Subquery(rated)).exclude(rated=None)
    rows = readers.order_by("pk").values_list("pk", "rated")
    # A cycle of a later day was run by a wrong clock.
    last = {pk: day for pk, day in last.items() if day <= today}
    return [pk for pk, at in rows if pk not in last or last[pk] <= min(until, at.astimezone(UTC).date())]


def digests(now: datetime) -> Counts:
    """Build each reader's digest of their current day."""
    _share("digests", now)
    return {"built": digests_build(now=now)}


def deliver(now: datetime) -> Counts:
    """Send the mail that is due. Raises `MailServerDown` if no mail server answers."""
    report = digests_deliver(now=now)
    if report.down:
        raise MailServerDown(f"Mails waiting: {report.left}. No mail server could be reached: {report.down}")
    return report.as_dict()


def advise(now: datetime) -> Counts:
    """Judge accepted and refused changes, then request an advisor run for each reader who is due."""
    parts = Parts("nightly advise")
    checked = parts.run("effects", lambda: effects_check(now=now)["checked"])
    parts.run("untaken", lambda: untaken_check(now=now))
    requested = parts.run("requests", lambda: len(readers_advise(now=now)))
    parts.end()
    return {"effects": checked, "requested": requested}


STEPS: dict[str, Callable[[datetime], Counts]] = {
    step.__name__: step for step in (fetch, cluster, summarise, learn, digests, deliver, advise)
}


def _share(step: str, now: datetime) -> None:
    """Ask another Celery worker to work on the same step, from the last reader backwards.

    If there is no other worker, this one does the whole step.
    """
    if settings.REDIS_URL:
        from kombu.exceptions import OperationalError  # noqa: PLC0415 - part of Celery

        with suppress(OperationalError):
            night_share_task.celery.apply_async(args=(step, now.isoformat()), retry=False, expires=SHARE_S)


@shared_task(name="config.night_share")
def night_share_task(step: str, now: str) -> int:
    """Share a step: process its readers from the last one until the other worker is met. Return their number.

    Both workers check each hundred readers before they begin, so they never process a reader twice.
    """
    at = datetime.fromisoformat(now)
    if step == "learn":
        return cycles_run(reader_ids=_learning_due(at)[::-1], now=at).done
    return digests_build(now=at, last_first=True)


def nightly_run(
    *,
    now: datetime,
    force: bool = False,
    manual: bool = False,
    stopping: Callable[[], bool] = lambda: False,
    steps: Mapping[str, Work] = STEPS,
) -> NightlyReport:
    """Run the remaining steps of the night of `now` (a UTC day) and return its report.

    If the night is finished or another worker holds it, return it unchanged. Failed steps are retried when
    they are due, or at once with `manual`. `force` restarts a finished night. A failed step is stored and
    raises an alert. If `stopping()` returns true between two steps, the rest waits for the next call.
    """
    began = time.monotonic()
    row = night_claim(now=now, force=force, manual=manual)
    if row is None:
        return NightlyReport.objects.get(day=now.astimezone(UTC).date())

    def clock() -> datetime:
        return now + timedelta(seconds=time.monotonic() - began)

    for name, work in steps.items():
        if stopping():
            night_save(row, lease_until=None)
            return row
        if not _step(row, name, work, clock):
            log.warning("nightly_lease_lost", day=str(row.day), step=name)
            return NightlyReport.objects.get(pk=row.pk)
    broken = [name for name, step in row.steps.items() if step["status"] != "done"]
    status = Status.FAILED if broken else Status.COMPLETED
    night_save(row, status=status, finished_at=clock(), lease_until=None)
    log.info("nightly_ended", day=str(row.day), status=str(row.status), failed=broken)
    return row


def _step(row: NightlyReport, name: str, work: Work, clock: Clock) -> bool:
    """Run one step unless it has ended, and store the result. Return whether we still hold the row."""
    known: Step = row.steps.get(name, {})
    if known.get("status") in ("done", "failed"):
        return True
    started, mark = clock(), time.monotonic()
    # If the last try never ended, its process crashed.
    crashes = known.get("crashes", 0) + (known.get("status") == "running")
    step = {
        "status": "running",
        "started_at": started.isoformat(timespec="seconds"),
        "tries": known.get("tries", 0) + 1,
        "crashes": crashes,
    }
    if crashes >= CRASHES_MAX:
        _handle_failure(name, RuntimeError(CRASHED), started)
        return _store_step(
            row, name, {**step, "tries": known["tries"], **_end_of_step(mark, error=CRASHED)}, started
        )
    if not _store_step(row, name, step, started):
        return False
    try:
        with night_lease_renewal(row, clock), failures_collected() as failed:
            counts = work(started)
        # The step is done for the other rows, so it is not retried this night.
        where = f"The night's step “{name}”"
        lost = failures_alert(failures=failed, name=name, where=where, now=started)
        ended = _end_of_step(mark, counts={**counts, **lost})
    except Exception as error:
        _handle_failure(name, error, started)
        ended = _end_of_step(mark, error=f"{type(error).__name__}: {error}"[:ERROR_CHARS])
    return _store_step(row, name, {**step, **ended}, clock())


def _end_of_step(mark: float, *, counts: Counts | None = None, error: str = "") -> Step:
    seconds = round(time.monotonic() - mark, 3)
    status = "failed" if error else "done"
    return {"status": status, "seconds": seconds, "counts": dict(counts or {}), "error": error}


def _handle_failure(name: str, error: Exception, now: datetime) -> None:
    """Log a failed step, apply the error policy and raise an alert, without ending the night."""
    log.error("nightly_step_failed", step=name, exc_info=error)
    action = error_handle(error=error, where=f"nightly {name}", now=now)
    reason = f"{type(error).__name__}: {error}"
    if action is not Action.ALERT:  # else the policy has already raised an alert
        alert_raise(kind=f"nightly_{name}", where=f"The night's step “{name}”", reason=reason, now=now)
    with suppress(DatabaseError):
        job_failed(name=name, reason=reason, now=now)


def _store_step(row: NightlyReport, name: str, step: Step, now: datetime) -> bool:
    return night_save(row, steps={**row.steps, name: step}, lease_until=now + LEASE)
