"""System checks: a setting that could only fail in the middle of a run fails at the start instead."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error

from suggestions.rules import CONFIDENCES


def check_rules(**kwargs: Any) -> list[CheckMessage]:
    """Error `tidings.E012`: `ADVISOR_MIN_CONFIDENCE` is no confidence."""
    if settings.ADVISOR_MIN_CONFIDENCE in CONFIDENCES:
        return []
    text = f"ADVISOR_MIN_CONFIDENCE={settings.ADVISOR_MIN_CONFIDENCE} is none of {', '.join(CONFIDENCES)}."
    return [Error(text, id="tidings.E012")]
