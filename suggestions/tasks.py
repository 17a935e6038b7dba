"""The suggestions room's scheduled work: the clock is read here, everything else happens in the services."""

from celery import shared_task
from django.utils import timezone

from suggestions.services.lifecycle import suggestions_sweep


@shared_task(name="suggestions.suggestions_sweep")
def suggestions_sweep_task() -> None:
    """Expire, wake and supersede the suggestions whose time has come."""
    suggestions_sweep(now=timezone.now())
