"""A deploy: workers are told to stop while runs are active. Begun work is finished, and the rest waits."""

import time

from django.conf import settings
from django.utils import timezone

from advisor.models import Run
from advisor.run.request import runs_reconcile
from tests.lab.faults.boundaries import Json
from tests.lab.faults.brokers import QUIET
from tests.lab.faults.crowd import ends, nights_over, runs_over, runs_queue, runs_running
from tests.lab.faults.model_server import model_server, settings_of
from tests.lab.faults.workers import until, worker, working

STOPS, RUNS = (3, 10), 5
STARTS_S, ENDS_S = 600.0, 900.0


def run(name: str, full: bool) -> Json:
    """Return the figures of the deploys."""
    cut = disorderly = 0
    leaving, codes = [0.0], []
    nights_over()
    with model_server() as port:
        environment = {**QUIET, **settings_of(port, "slow-0.5")}
        for _ in range(STOPS[full]):
            runs_queue(RUNS - Run.objects.filter(status=Run.Status.QUEUED).count())
            one = worker(environment)
            with working(one):
                until(runs_running, STARTS_S, by=one)
                time.sleep(0.3)
                hit, began = runs_running(), time.monotonic()
                codes.append(one.stop())
                leaving.append(time.monotonic() - began)
            cut += len(hit & runs_running()) + Run.objects.filter(pk__in=hit, status="queued").count()
            disorderly += codes[-1] != 0
        with working(worker(environment)):
            if settings.REDIS_URL:
                runs_reconcile(now=timezone.now())
            until(runs_over, ENDS_S)
    found = ends()
    again = sum(count for attempts, count in found["attempts"].items() if attempts > 1)
    return {
        "stops": STOPS[full],
        "cut": cut + again,
        "disorderly": disorderly,
        "exit_codes": codes,
        "leaving_s": round(max(leaving), 1),
        **found,
        "lost": found["unended"] + found["lost"],
    }
