"""Settings, URLs, Celery, the schedule, and all code that uses several rooms. It may import every room."""

__version__ = "0.1.0"
