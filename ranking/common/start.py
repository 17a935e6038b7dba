"""Settings checks of commands, and registries of other rooms' selectors. Usable before models are loaded."""

from collections.abc import Callable, Collection, Mapping
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


# Ranking knows no feeds, so the room that does registers its selector here when it is loaded.
_reader_sources: list[Callable[..., Collection[str]]] = []


def reader_sources_register(selector: Callable[..., Collection[str]]) -> None:
    """Register another room's selector of a reader's sources (`reader_id` -> keys)."""
    _reader_sources.append(selector)


def reader_sources_registered() -> list[Callable[..., Collection[str]]]:
    """Return the registered selectors of a reader's sources."""
    return _reader_sources


# How much readers' tastes vary is published by the room that plans suggestions.
_taste_spreads: list[Callable[..., Mapping[UUID, float]]] = []


def taste_spreads_register(selector: Callable[..., Mapping[UUID, float]]) -> None:
    """Register the selector of how much tastes vary (`reader_ids` -> variance of log-odds by reader)."""
    _taste_spreads[:] = [selector]


def taste_spreads(reader_ids: Collection[UUID]) -> Mapping[UUID, float]:
    """Return how much tastes vary, for each reader. Raises `LookupError` if no room has registered it."""
    if not _taste_spreads:
        raise LookupError("no room has registered how much tastes vary")
    return _taste_spreads[0](reader_ids=reader_ids)
