"""The suggestions room as an installed app, with the check of its settings."""

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from ranking.common.start import SETTINGS, TasteSpreads, taste_spreads_register


class SuggestionsConfig(AppConfig):
    """Room: suggestions."""

    name = "suggestions"
    label = "suggestions"

    def ready(self) -> None:
        """Register the check of this room's settings, and how much tastes vary."""
        register(check_rules, SETTINGS)
        taste_spreads_register(_load_taste_spreads)


def _load_taste_spreads() -> TasteSpreads:
    # Models cannot be loaded before the apps are ready.
    from suggestions.planner.population import taste_spreads_for  # noqa: PLC0415

    return taste_spreads_for


def check_rules(**kwargs: Any) -> list[CheckMessage]:
    """Return an error for each setting with a name that does not exist.

    `tidings.E012`: `ADVISOR_MIN_CONFIDENCE` is no confidence. `tidings.E026`: `ADVISOR_KINDS` names a kind of
    change that there is not.
    """
    # Models cannot be loaded before the apps are ready.
    from suggestions.changes.registry import kind_names  # noqa: PLC0415
    from suggestions.models import Suggestion  # noqa: PLC0415

    found: list[CheckMessage] = []
    names = Suggestion.Confidence.values
    if settings.ADVISOR_MIN_CONFIDENCE not in names:
        text = f"ADVISOR_MIN_CONFIDENCE={settings.ADVISOR_MIN_CONFIDENCE} is none of {', '.join(names)}."
        found.append(Error(text, id="tidings.E012"))
    if unknown := [name for name in settings.ADVISOR_KINDS if name not in kind_names()]:
        text = f"ADVISOR_KINDS has {', '.join(unknown)}; each must be one of {', '.join(kind_names())}."
        found.append(Error(text, id="tidings.E026"))
    return found
