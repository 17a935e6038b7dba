"""System checks of the advisor's own settings."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error

from advisor.guidance.tunables import tunables, tunables_repeated


def check_guidance(**kwargs: Any) -> list[CheckMessage]:
    """Error `tidings.E013`: `GUIDANCE` names no tunable, one twice, or gives one a value it cannot have."""
    hint = "docs/guidance.md lists the tunables; without GUIDANCE each has its default."
    if twice := tunables_repeated(settings.GUIDANCE_NAMES):
        message = f"GUIDANCE gives {', '.join(twice)} more than once; which one counts is not said."
        return [Error(message, hint=hint, id="tidings.E013")]
    try:
        tunables()
    except ValueError as error:
        return [Error(str(error), hint=hint, id="tidings.E013")]
    return []
