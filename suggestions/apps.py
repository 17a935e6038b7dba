"""The suggestions room as an installed app."""

from django.apps import AppConfig
from django.core.checks import register

from suggestions.checks import check_rules


class SuggestionsConfig(AppConfig):
    """Room: suggestions."""

    name = "suggestions"
    label = "suggestions"

    def ready(self) -> None:
        """Register the checks of this room's settings."""
        register(check_rules)
