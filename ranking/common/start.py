"""Settings checks of commands, and another room's selector. Usable before models are loaded."""

from collections.abc import Callable, Mapping
from uuid import UUID

from django.core.checks import Tags
from django.core.management.base import BaseCommand

# Checks of values that an operator sets. The other checks of `manage.py check` (URLs, templates, models)
# concern code, which does not change between starts. Loading it would take as long as many commands.
SETTINGS = "settings"
CHECKED = [SETTINGS, Tags.caches, Tags.compatibility, Tags.files, Tags.security, Tags.translation]


class SettingsCommand(BaseCommand):
    """A command that runs only the checks of settings, because it needs no page."""

    requires_system_checks = CHECKED


# How much readers' tastes vary is published by the room that plans suggestions.
TasteSpreads = Callable[..., Mapping[UUID, float]]
_taste_spreads: list[TasteSpreads] = []


def taste_spreads_register(selector: TasteSpreads) -> None:
    """Register the selector of how much tastes vary (`reader_ids` -> variance of log-odds by reader)."""
    _taste_spreads[:] = [selector]


def taste_spreads_registered() -> TasteSpreads:
    """Return the registered selector. Raises `LookupError` if no room has registered one."""
    if not _taste_spreads:
        raise LookupError("no room has registered how much tastes vary")
    return _taste_spreads[0]
