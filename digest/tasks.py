"""The digest room's scheduled work: the clock is read here, everything else happens in the services."""

from celery import shared_task
from django.utils import timezone

from digest.services.fetching import feeds_fetch
from digest.services.rounds import digests_build, weights_update_all


@shared_task(name="digest.feeds_fetch")
def feeds_fetch_task() -> None:
    """Fetch the feeds that are due."""
    feeds_fetch(now=timezone.now())


@shared_task(name="digest.weights_update")
def weights_update_task() -> None:
    """Run a learning cycle for every reader."""
    weights_update_all(now=timezone.now())


@shared_task(name="digest.digests_build")
def digests_build_task() -> None:
    """Build every reader's digest of today."""
    digests_build(now=timezone.now())
