"""Scheduled tasks of the suggestions room: each reads the clock and calls a service."""

from django.utils import timezone

from ranking.common.broker import shared_task
from suggestions.outcomes.services import outcomes_compact
from suggestions.services.lifecycle import suggestions_sweep


@shared_task(name="suggestions.suggestions_sweep")
def suggestions_sweep_task() -> None:
    """Expire, wake and supersede the suggestions that are due."""
    suggestions_sweep(now=timezone.now())


@shared_task(name="suggestions.outcomes_compact")
def outcomes_compact_task() -> None:
    """Archive the heavy fields of long histories and recompute stale profiles."""
    outcomes_compact(now=timezone.now())
