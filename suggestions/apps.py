"""The suggestions room as an installed app, with the check of its settings."""

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from ranking.common.start import SETTINGS, taste_spreads_register


class SuggestionsConfig(AppConfig):
    """Room: suggestions."""

    name = "suggestions"
    label = "suggestions"

    def ready(self) -> None:
        """Register the check of this room's settings, and how much tastes vary."""
        register(check_rules, SETTINGS)
        taste_spreads_register(_taste_spreads)


def _taste_spreads(*, reader_ids: Collection[UUID]) -> Mapping[UUID, float]:
    # Models cannot be loaded before the apps are ready.
    from suggestions.planner.population import taste_spreads_for  # noqa: PLC0415

    return taste_spreads_for(reader_ids=reader_ids)


def check_rules(**kwargs: Any) -> list[CheckMessage]:
    """Return the error `tidings.E012` if `ADVISOR_MIN_CONFIDENCE` is no confidence."""
    # Models cannot be loaded before the apps are ready.
    from suggestions.models import Suggestion  # noqa: PLC0415

    names = Suggestion.Confidence.values
    if settings.ADVISOR_MIN_CONFIDENCE in names:
        return []
    text = f"ADVISOR_MIN_CONFIDENCE={settings.ADVISOR_MIN_CONFIDENCE} is none of {', '.join(names)}."
    return [Error(text, id="tidings.E012")]
