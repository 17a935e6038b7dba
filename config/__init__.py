"""Settings, URLs, Celery, the schedule, and everything that uses several rooms. May import every room."""

from config.celery import app as celery_app

__all__ = ["__version__", "celery_app"]
__version__ = "0.1.0"
