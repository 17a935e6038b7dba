"""Settings, URLs, Celery, the schedule, and everything that uses several rooms. May import every room."""
