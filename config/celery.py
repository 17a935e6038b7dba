"""The Celery app: a wake-up for work that the database already holds as rows."""

import os
from mmap import mmap
from typing import Any

from celery import Celery
from celery.signals import setup_logging, worker_shutting_down

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# The class is named, not imported: this module loads before Django's models may.
app = Celery("tidings", task_cls="config.policed:PolicedTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


# One byte that a worker shares with the processes it forks, who are told of no signal: 1 once it is to stop.
# Without a lock, which a process that is killed might take along.
_STOPPING = mmap(-1, 1)


@worker_shutting_down.connect
def stopping_tell(**kwargs: Any) -> None:
    """A worker that is told to stop waits for its tasks: the long ones are to end soon."""
    _STOPPING[0] = 1


def worker_stopping() -> bool:
    """Whether the worker that runs this task is to stop; long tasks ask between their parts."""
    return _STOPPING[0] == 1


@setup_logging.connect
def logging_leave(**kwargs: Any) -> None:
    """Workers log as everything else does, by Django's LOGGING: an answer here keeps Celery's hands off."""
