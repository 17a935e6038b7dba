"""Thin out many cases or examples: some run with every change, the others in `make nightly`."""

from collections.abc import Collection, Mapping, Sequence
from itertools import product

import pytest
from _pytest.mark.structures import ParameterSet
from hypothesis import settings

# Of the examples that `make nightly` tries (tests/conftest.py).
EXAMPLES_NIGHTLY = 100


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


def mostly_alternating(*factors: Sequence[object]) -> list[ParameterSet]:
    """Return all combinations of the factors' values for `parametrize`; most of them are nightly.

    With every change the last factor, which is the shortest, alternates over the combinations of the others.
    So each value meets each value of every other factor if there are three, and each runs if there are two.
    """
    *others, last = factors
    assert all(len(last) <= len(other) for other in others), "the shortest factor comes last"
    return [
        pytest.param(
            *(factor[n] for factor, n in zip(factors, places, strict=True)),
            marks=() if sum(places[:-1]) % len(last) == places[-1] else pytest.mark.nightly,
        )
        for places in product(*(range(len(factor)) for factor in factors))
    ]


def examples(nightly: int) -> int:
    """Return the number of Hypothesis's examples for a test that tries `nightly` of them in `make nightly`.

    With every change it is a third, as for a test that names no number.
    """
    return max(1, nightly * min(EXAMPLES_NIGHTLY, settings.default.max_examples) // EXAMPLES_NIGHTLY)
