"""The Celery app: a wake-up for work that the database already holds as rows."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# The class is named, not imported: this module loads before Django's models may.
app = Celery("tidings", task_cls="config.policed:PolicedTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
