"""System checks of the advisor's own settings."""

from typing import Any

from django.core.checks import CheckMessage, Error

from advisor.guidance.tunables import tunables


def check_guidance(**kwargs: Any) -> list[CheckMessage]:
    """Error `tidings.E013`: `GUIDANCE` names no tunable, or gives one a value that it cannot have."""
    try:
        tunables()
    except ValueError as error:
        hint = "docs/guidance.md lists the tunables; without GUIDANCE each has its default."
        return [Error(str(error), hint=hint, id="tidings.E013")]
    return []
