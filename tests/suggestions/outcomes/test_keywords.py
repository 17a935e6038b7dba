"""Callers of services and selectors name their arguments; none is positional only."""

import inspect

import pytest

from suggestions import selectors
from suggestions.outcomes import selectors as told
from suggestions.outcomes import services
from suggestions.services import resolve


@pytest.mark.parametrize("module", [selectors, told, services, resolve], ids=lambda module: module.__name__)
def test_public_functions_take_keywords_only(module):
    own = [f for f in vars(module).values() if inspect.isfunction(f) and f.__module__ == module.__name__]
    by_place = {
        f"{f.__name__}({parameter.name})"
        for f in own
        if not f.__name__.startswith("_")
        for parameter in inspect.signature(f).parameters.values()
        if parameter.kind is not parameter.KEYWORD_ONLY
    }
    assert own and by_place == set()
