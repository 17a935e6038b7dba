"""Owns: settings, URLs, Celery, the schedule and the commands that cross rooms. Decides nothing.
Takes in: the environment.
Gives out: the running site and its worker.
May import: every room.
"""

from config.celery import app as celery_app

__all__ = ["celery_app"]
