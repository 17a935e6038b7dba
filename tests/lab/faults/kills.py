"""kill -9 at random moments, again and again, of a worker with runs and fetches on its hands."""

import random
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from advisor.models import Decision, Heartbeat, Run
from advisor.run.request import run_request
from digest.feeds.fetch_batch import feeds_fetch
from digest.feeds.services import feeds_check
from digest.models import Feed, Item
from digest.tasks import feeds_fetch_task
from tests.lab.bench.publisher import ITEMS, address, publishers
from tests.lab.faults.boundaries import Json
from tests.lab.faults.crash_points import booked_usd
from tests.lab.faults.crowd import ends, nights_over, runs_over, runs_queue, runs_running
from tests.lab.faults.model_server import asked, call_usd, model_server, settings_of
from tests.lab.faults.workers import beat, until, worker, working
from tests.lab.read_all import feeds_are_read
from tests.support.factories import SourceFactory

SEED = 42
FULL, SAMPLE = 100, 8
BACKLOG, FEEDS, DUE = 6, 30, 10
HOSTS = [address(n) for n in range(FEEDS)]
STARTS_S, ENDS_S = 600.0, 900.0
# The share of kills that wait for a fetch to begin; the others wait for a run.
FETCHES = 0.3
# A worker is killed within this many seconds after its first sign of work.
WITHIN_S = 1.5
Killed = list[tuple[datetime, UUID]]


def run(name: str, full: bool) -> Json:
    """Return the figures of the kills."""
    kills = FULL if full else SAMPLE
    with model_server() as model_port, publishers() as feeds_port:
        environment = environment_of(model_port, feeds_port)
        nights_over()
        feeds_make(feeds_port)
        killed = killed_again_and_again(kills, environment)
        last, other = worker(environment), [beat(environment)] if settings.REDIS_URL else []
        with working(last, *other):
            quiet_s = until(runs_over, ENDS_S)
        found = ends()
        served = given_up_served()
        items_off = feeds_whole(feeds_port)
        bill = call_usd() * asked(model_port)["requests"]
    short = max(0.0, float(bill) - booked_usd())
    return {
        "kills": kills,
        "seed": SEED,
        **found,
        **recovery(killed),
        "given_up_served_when_asked_again": served,
        "items_off": items_off,
        "short_usd": round(short, 6),
        "quiet_s": round(quiet_s, 1),
    }


def environment_of(model_port: int, feeds_port: int, key: str = "plain") -> dict[str, str]:
    """Return the settings of the workers. This process uses them too, to ask the model for its price."""
    told = {
        **settings_of(model_port, key),
        "FETCH_ALLOW_HOSTS": ",".join(HOSTS),
        "FETCH_PORTS": str(feeds_port),
        "FETCH_HOST_GAP_S": "0",
        "ADVISOR_DAILY_CAP_USD": "500",
        "ADVISOR_READER_DAILY_CAP_USD": "50",
    }
    for setting in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        setattr(settings, setting, told[setting])
    settings.LLM_CHAIN = [told["LLM_CHAIN"]]
    settings.FETCH_ALLOW_HOSTS, settings.FETCH_PORTS = HOSTS, [feeds_port]
    settings.FETCH_HOST_GAP_S = 0.0
    return told


def feeds_make(port: int) -> None:
    """Feeds of thirty publishers, never asked yet."""
    for n in range(FEEDS):
        url, source = f"http://{HOSTS[n]}:{port}/good/paper-{n}", SourceFactory(key=f"paper-{n}.example")
        Feed.objects.create(url=url, source=source, next_check_at=timezone.now())


def killed_again_and_again(kills: int, environment: Mapping[str, str]) -> Killed:
    """Start, wait until it runs or fetches something, kill; the runs that each kill interrupted, and when."""
    chance, killed = random.Random(SEED), Killed()
    schedule = [beat(environment)] if settings.REDIS_URL else []
    with working(*schedule):
        for _ in range(kills):
            runs_queue(BACKLOG - Run.objects.filter(status=Run.Status.QUEUED).count())
            begun = fetch_begun(chance) if chance.random() < FETCHES else run_begun()
            one = worker(environment)
            with working(one):
                until(begun, STARTS_S, by=one)
                time.sleep(chance.uniform(0, WITHIN_S))
                one.kill()
            now = timezone.now()
            known = {run_id for _, run_id in killed}
            killed += [(now, run_id) for run_id in runs_running() - known]
    return killed


def run_begun() -> Callable[[], bool]:
    """Tells once a worker has begun a run."""
    known = set(Run.objects.filter(attempt__gt=0).values_list("pk", "attempt"))
    return lambda: bool(set(Run.objects.filter(attempt__gt=0).values_list("pk", "attempt")) - known)


def fetch_begun(chance: random.Random) -> Callable[[], bool]:
    """Makes some feeds due and asks for them; tells once a worker has claimed one."""
    now = timezone.now()
    due = chance.sample(list(Feed.objects.values_list("pk", flat=True)), DUE)
    feeds_check(feed_ids=due, now=now)
    if settings.REDIS_URL:
        feeds_fetch_task.celery.apply_async()
    else:
        Heartbeat.objects.filter(worker="job:fetch").delete()
    return lambda: Feed.objects.filter(pk__in=due, next_check_at=now).count() < DUE


def recovery(killed: Killed) -> Json:
    """Return the seconds until the reconciler found interrupted runs, and until a worker began them again."""
    found, begun = [], []
    for at, run_id in killed:
        rows = Decision.objects.filter(run_id=run_id, actor="reconciler", at__gte=at - timedelta(seconds=1))
        row = rows.order_by("at").first()
        if row is None:
            continue
        found.append((row.at - at).total_seconds())
        again = Run.objects.get(pk=run_id)
        if (
            row.action == "run_requeued"
            and again.attempt > 1
            and again.started_at
            and again.started_at > row.at
        ):
            begun.append((again.started_at - at).total_seconds())
    return {
        "interrupted": len(killed),
        "recovery_s": round(max(found, default=0.0), 1),
        "begun_again_s": round(max(begun, default=0.0), 1),
    }


def given_up_served() -> str:
    """Return "n of m" for readers of given-up runs who ask again and are served, or who have suggestions
    already."""
    given_up = Run.objects.filter(stop_reason="lease_expired").select_related("reader")
    answers = [
        run_request(reader=row.reader, trigger=Run.Trigger.UI, now=timezone.now(), inline=True)
        for row in given_up
    ]
    fine = sum(answer.status in ("completed", "blocked_pending") for answer in answers)
    return f"{fine} of {len(answers)}"


def feeds_whole(port: int) -> int:
    """How many items there are too many or too few, once every feed was asked again."""
    feeds_are_read()
    feeds_check(feed_ids=list(Feed.objects.values_list("pk", flat=True)), now=timezone.now())
    feeds_fetch(now=timezone.now() + timedelta(seconds=1))
    papers = [f"paper-{n}.example" for n in range(FEEDS)]
    # Items of every source here keep the publisher's own addresses.
    items = Item.objects.filter(url__startswith="https://news.example/paper-").count()
    return abs(items - ITEMS * len(papers))
