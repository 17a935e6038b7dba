"""Settings checks of commands, and another room's selector. Usable before models are loaded."""

import json
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError

# Checks of values that an operator sets. The other checks of `manage.py check` (URLs, templates, models)
# concern code, which does not change between starts. Loading it would take as long as many commands.
SETTINGS = "settings"
CHECKED = [SETTINGS, Tags.caches, Tags.compatibility, Tags.files, Tags.security, Tags.translation]


class FailureReported(CommandError):
    """A failure that the printed report already tells, with `--json` too."""


class JsonCommand(BaseCommand):
    """A command whose `--json` prints one object even if it fails: `{"error": TEXT}`."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run the command. Raises `CommandError`, which `manage.py` prints on stderr."""
        try:
            return super().execute(*args, **options)
        except FailureReported as error:
            raise CommandError(str(error), returncode=error.returncode) from None
        except CommandError as error:
            if options.get("json"):
                self.stdout.write(json.dumps({"error": str(error)}))
            raise


class SettingsCommand(JsonCommand):
    """A command that runs only the checks of settings, because it needs no page."""

    requires_system_checks = CHECKED


# How much readers' tastes vary is published by the room that plans suggestions.
TasteSpreads = Callable[..., Mapping[UUID, float]]
_load_taste_spreads: list[Callable[[], TasteSpreads]] = []


def taste_spreads_register(load: Callable[[], TasteSpreads]) -> None:
    """Register the selector of how much tastes vary (`reader_ids` -> variance of log-odds by reader).

    `load` returns it. Its module needs models, and apps register before those may be loaded.
    """
    _load_taste_spreads[:] = [load]


def taste_spreads_registered() -> TasteSpreads:
    """Return the registered selector. Raises `LookupError` if no room has registered one."""
    if not _load_taste_spreads:
        raise LookupError("no room has registered how much tastes vary")
    return _load_taste_spreads[0]()
