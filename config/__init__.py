"""Settings, URLs, Celery, the schedule, and everything that uses several rooms. May import every room."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
