"""System checks: a setting that could only fail in the middle of a run fails at the start instead."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error

from digest.llm.providers import model_ref_parse, prices_configured


def check_models(**kwargs: Any) -> list[CheckMessage]:
    """`tidings.E001`: `LLM_CHAIN` names no known provider; `tidings.E002`: `LLM_PRICES` holds no price."""
    chain = [_problem(partial(model_ref_parse, entry), "tidings.E001") for entry in settings.LLM_CHAIN]
    return [problem for problem in (*chain, _problem(prices_configured, "tidings.E002")) if problem]


def _problem(read: Callable[[], object], check_id: str) -> CheckMessage | None:
    try:
        read()
    except ValueError as error:
        return Error(str(error), id=check_id)
    return None
