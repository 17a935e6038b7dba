"""A change that moves nothing is not told: there would be nothing to undo."""

import pytest

from digest.daily.changes import OrderChange


@pytest.mark.parametrize(
    ("before", "after", "arrived", "told"),
    [
        ((1, 2, 3), (1, 2, 3), (), False),
        ((1, 2, 3), (1, 2, 3, 4), (4,), False),
        ((1, 2, 3), (1, 2, 4), (4,), False),
        ((1, 2, 3), (2, 1, 3), (), True),
        ((1, 2, 3), (1, 2), (), True),
        ((1, 2), (1, 2, 3), (), True),
    ],
)
def test_only_a_change_with_an_effect_is_told(before, after, arrived, told):
    assert OrderChange(before, after, version=1, arrived=arrived).has_effect is told
