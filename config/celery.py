"""The Celery app. A message only wakes a worker; the work itself is a row in the database."""

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging, worker_shutting_down

from ranking.common.broker import tasks_register
from ranking.common.stopping import worker_stop

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# The class is given by name, because this module is loaded before Django's models.
app = Celery("tidings", task_cls="config.jobs.celery_task:BaseTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
# By name as well: a step of workers, which other processes do not load.
app.steps["consumer"].add("config.pulse.celery:PulseStep")
tasks_register()


@worker_shutting_down.connect
def worker_stopping_set(**kwargs: Any) -> None:
    """Record that the worker must stop, so that long tasks end soon."""
    worker_stop()


@setup_logging.connect
def celery_logging_disable(**kwargs: Any) -> None:
    """Keep Django's LOGGING in workers. A receiver of this signal stops Celery from configuring logs."""
