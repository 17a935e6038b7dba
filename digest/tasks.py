"""The digest room's scheduled work: the clock is read here, everything else happens in the services."""

from celery import shared_task
from django.utils import timezone

from digest.services.clusters import clusters_update
from digest.services.extracts import extracts_make
from digest.services.fetching import feeds_fetch
from digest.services.vectors import item_vectors_update


@shared_task(name="digest.feeds_fetch")
def feeds_fetch_task() -> None:
    """Fetch the feeds that are due; find who tells the same story, make what came in comparable with tastes,
    and give it extracts, whose reasons ask whether others tell it too."""
    feeds_fetch(now=timezone.now())
    clusters_update(now=timezone.now())
    item_vectors_update(now=timezone.now())
    extracts_make(now=timezone.now())
