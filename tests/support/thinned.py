"""Thin out a large matrix of cases: some run with every change, the others in `make nightly`."""

from collections.abc import Collection, Mapping

import pytest
from _pytest.mark.structures import ParameterSet


def mostly_nightly(cases: Mapping[str, object], *, always: Collection[str]) -> list[ParameterSet]:
    """Return the cases for `parametrize`, named by their keys. What `always` does not name is nightly.

    A tuple has a value for each of several names.
    """
    missing = {*always} - {*cases}
    assert not missing, f"no such case: {sorted(missing)}"
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            id=name,
            marks=() if name in always else pytest.mark.nightly,
        )
        for name, case in cases.items()
    ]
