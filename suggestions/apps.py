"""The suggestions room as an installed app."""

from django.apps import AppConfig


class SuggestionsConfig(AppConfig):
    """Room: suggestions."""

    name = "suggestions"
    label = "suggestions"
