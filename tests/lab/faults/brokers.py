"""Servers go away under load: Redis is flushed and restarted empty, PostgreSQL stopped as in a crash."""

import os
import time
from datetime import timedelta
from pathlib import Path

from django.db import DatabaseError, connections
from django.utils import timezone

from advisor.models import Decision, Run
from tests.lab.faults.boundaries import Json
from tests.lab.faults.crowd import ends, nights_over, runs_over, runs_queue, runs_running
from tests.lab.faults.model_server import model_server, settings_of
from tests.lab.faults.servers import Postgres, Redis
from tests.lab.faults.workers import beat, until, worker, working

QUEUED, QUEUE = 100, "advise"
STOPS, RUNS_A_STOP, AWAY_S = (3, 10), 5, 3.0
STARTS_S, ENDS_S = 600.0, 900.0
QUIET = {"ADVISOR_DAILY_CAP_USD": "500", "ADVISOR_READER_DAILY_CAP_USD": "50"}
# Without a model, the planner carries out the runs.
PLANNED = {"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": "", "GEMINI_API_KEY": "", "OPENROUTER_API_KEY": ""}


def run(name: str, full: bool) -> Json:
    """Return the figures of one loss."""
    nights_over()
    return flush() if name == "flush" else database(STOPS[full])


def own_redis() -> Redis:
    """Return the server that `make faults` made."""
    return Redis(Path(os.environ["FAULTS_REDIS"]), int(os.environ["FAULTS_REDIS_PORT"]))


def own_postgres() -> Postgres:
    """Return the cluster that `make faults` made."""
    return Postgres(Path(os.environ["FAULTS_POSTGRES"]), int(os.environ["FAULTS_POSTGRES_PORT"]))


def flush() -> Json:
    """A hundred queued, all messages lost before a worker comes and again half-way; the rows are not."""
    redis, environment = own_redis(), {**QUIET, **PLANNED}
    runs = runs_queue(QUEUED)
    announced = int(redis.ask("LLEN", QUEUE))
    redis.ask("FLUSHALL")
    left = int(redis.ask("LLEN", QUEUE))
    redis.stop()
    redis.start()
    began = time.monotonic()
    with working(beat(environment), worker(environment)):
        until(lambda: Run.objects.filter(status=Run.Status.COMPLETED).count() >= QUEUED // 2, ENDS_S)
        half_s = time.monotonic() - began
        redis.ask("FLUSHALL")
        redis.stop()
        redis.start()
        until(lambda: runs_over(runs), ENDS_S)
    found = ends()
    return {
        "queued": announced,
        "messages_left": left,
        "undone": QUEUED - found["statuses"].get("completed", 0),
        "again": sum(count for attempts, count in found["attempts"].items() if attempts > 1),
        "half_s": round(half_s, 1),
        "all_s": round(time.monotonic() - began, 1),
        **found,
    }


def database(stops: int) -> Json:
    """Stop the database for seconds while runs wait for their model, and start it again. Nobody helps the
    workers."""
    postgres = own_postgres()
    interrupted: list[tuple[object, object]] = []
    quiet_s = 0.0
    with model_server() as port:
        environment = {**QUIET, **settings_of(port, "slow-0.3")}
        hands = [worker(environment), beat(environment)]
        with working(*hands):
            for _ in range(stops):
                runs_queue(RUNS_A_STOP)
                until(lambda: len(runs_running()) >= 2, STARTS_S)
                time.sleep(0.5)
                hit = runs_running()
                connections.close_all()
                postgres.stop("immediate")
                at = timezone.now()
                time.sleep(AWAY_S)
                postgres.start()
                until(answers, STARTS_S)
                interrupted += [(at, run_id) for run_id in hit & runs_running()]
                # A run that is hit twice is correctly given up, so each stop has its own runs.
                quiet_s = until(lambda: answers() and runs_over(), ENDS_S)
            restarts = sum(not one.alive for one in hands)
    found = ends()
    waits = [_taken_up_s(at, run_id) for at, run_id in interrupted]
    return {
        "stops": stops,
        "away_s": AWAY_S,
        "interrupted": len(interrupted),
        "recovery_s": round(max(waits, default=0.0), 1),
        "undone": found["unended"] + found["given_up"] + found["lost"],
        "restarts": restarts,
        "quiet_s": round(quiet_s, 1),
        **found,
    }


def answers() -> bool:
    """Return whether the database is there."""
    try:
        return Run.objects.count() >= 0
    except DatabaseError:
        connections.close_all()
        return False


def _taken_up_s(at: object, run_id: object) -> float:
    """Return the seconds until a worker took up the run again, or 0 if its own worker went on with it."""
    rows = Decision.objects.filter(run_id=run_id, actor="reconciler", at__gte=at).order_by("at")
    row = rows.first()
    return (row.at - at) / timedelta(seconds=1) if row else 0.0
