"""The tasks of the digest room: the scheduled one reads the clock and calls the services."""

import fastfeedparser  # noqa: F401  # what the first fetch would load, before a worker forks
from celery import shared_task
from django.utils import timezone

from digest.articles.favicons import favicons_update
from digest.articles.full_text import full_texts_update
from digest.daily.first_round import FIRST_ROUND, stories_refresh
from digest.feeds import exchange  # noqa: F401
from digest.feeds.newsletters import newsletters_fetch
from digest.feeds.rounds import feeds_fetch
from digest.items.vectors import item_vectors_update
from digest.summaries.services import extracts_make

first_round_task = FIRST_ROUND.celery


@shared_task(name="digest.feeds_fetch")
def feeds_fetch_task() -> None:
    """Fetch the feeds that are due and the newsletters that came, then make stories, vectors, extracts and
    full texts of the new items; favicons last.

    Stories come before extracts, whose reasons ask whether other sources report the same.
    """
    feeds_fetch(now=timezone.now(), clock=timezone.now)
    newsletters_fetch(now=timezone.now())
    stories_refresh(now=timezone.now(), clock=timezone.now)
    item_vectors_update(now=timezone.now())
    extracts_make(now=timezone.now())
    full_texts_update(now=timezone.now())
    favicons_update(now=timezone.now())
