"""The Celery app. A message only wakes a worker; the work itself is a row in the database."""

import os
from mmap import mmap
from typing import Any

from celery import Celery
from celery.signals import setup_logging, worker_shutting_down

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# The class is given by name, because this module is loaded before Django's models.
app = Celery("tidings", task_cls="config.jobs.celery_task:BaseTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


# One byte that a worker shares with its forked processes, which get no signal: 1 when the worker must stop.
# It has no lock, because a killed process might hold it.
_STOPPING = mmap(-1, 1)


@worker_shutting_down.connect
def worker_stopping_set(**kwargs: Any) -> None:
    """Record that the worker must stop, so that long tasks end soon."""
    _STOPPING[0] = 1


def worker_is_stopping() -> bool:
    """Return whether the worker must stop. Long tasks call this between their parts."""
    return _STOPPING[0] == 1


@setup_logging.connect
def celery_logging_disable(**kwargs: Any) -> None:
    """Keep Django's LOGGING in workers. A receiver of this signal stops Celery from configuring logs."""
