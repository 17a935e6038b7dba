"""Settings, URLs, Celery, the schedule, and everything that uses several rooms. May import every room."""

__version__ = "0.1.0"
