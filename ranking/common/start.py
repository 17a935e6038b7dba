"""What holds from the start, before models are loaded: what commands check, who reads a reader's sources."""

from collections.abc import Callable, Collection

from django.core.checks import Tags
from django.core.management.base import BaseCommand

# What an operator may have set wrong. The rest that `manage.py check` looks at (addresses, templates, models)
# is code: it does not change between two starts, and loading it takes as long as many a command.
SETTINGS = "settings"
CHECKED = [SETTINGS, Tags.caches, Tags.compatibility, Tags.files, Tags.security, Tags.translation]


class SettingsCommand(BaseCommand):
    """A command that begins with the checks of settings alone, as it needs no page."""

    requires_system_checks = CHECKED


# Ranking knows no feeds: the room that does registers its selector when it is loaded.
_reader_sources: list[Callable[..., Collection[str]]] = []


def reader_sources_register(selector: Callable[..., Collection[str]]) -> None:
    """Name the selector of a reader's sources (`reader_id` -> keys), which another room has."""
    _reader_sources.append(selector)


def reader_sources_registered() -> list[Callable[..., Collection[str]]]:
    """Return the selectors of a reader's sources that other rooms have."""
    return _reader_sources
