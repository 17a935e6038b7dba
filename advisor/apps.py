"""The app of the advisor, with the system check of its setting `GUIDANCE`."""

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from ranking.common.start import SETTINGS


class AdvisorConfig(AppConfig):
    """The app of the advisor."""

    name = "advisor"
    label = "advisor"

    def ready(self) -> None:
        """Register the system check."""
        register(check_guidance, SETTINGS)


def check_guidance(**kwargs: Any) -> list[CheckMessage]:
    """Report `tidings.E013`: `GUIDANCE` has an unknown tunable, one twice, or an invalid value."""
    if not settings.GUIDANCE_NAMES and not settings.GUIDANCE:
        return []
    from advisor.guidance.tunables import tunables, tunables_repeated  # noqa: PLC0415 - pydantic

    hint = "docs/guidance.md lists the tunables; without GUIDANCE each has its default."
    if twice := tunables_repeated(settings.GUIDANCE_NAMES):
        message = f"GUIDANCE gives {', '.join(twice)} more than once; only one value can count."
        return [Error(message, hint=hint, id="tidings.E013")]
    try:
        tunables()
    except ValueError as error:
        return [Error(str(error), hint=hint, id="tidings.E013")]
    return []
