"""The suggestions room's scheduled work: the clock is read here, everything else happens in the services."""

from celery import shared_task
from django.utils import timezone

from suggestions.services.compaction import outcomes_compact
from suggestions.services.lifecycle import suggestions_sweep


@shared_task(name="suggestions.suggestions_sweep")
def suggestions_sweep_task() -> None:
    """Expire, wake and supersede the suggestions whose time has come."""
    suggestions_sweep(now=timezone.now())


@shared_task(name="suggestions.outcomes_compact")
def outcomes_compact_task() -> None:
    """Put the heavy fields of long histories away and bring stale profiles up to date."""
    outcomes_compact(now=timezone.now())
