"""Scheduled jobs: the schedule, Celery's queues and limits, and the nightly run with its lease."""
