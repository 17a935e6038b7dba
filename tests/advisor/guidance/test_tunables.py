"""What guidance may be tuned to: numbers that can be, refused by name where they cannot."""

from dataclasses import fields

import pytest

from advisor.checks import check_guidance
from advisor.guidance.tunables import Tunables, tunables


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("note_min", "2", "0 to 1"),
        ("note_min", "48", "0 to 1"),
        ("holdout", "nan", "0 to 1"),
        ("budget_ms", "-1", "0 or more"),
        ("export_max", "-4", "0 or more"),
        ("caution_boost", "0.5", "1 or more"),
        ("shown_ttl_s", "nan", "0 or more"),
        ("whispers", "perhaps", "true or false"),
        ("told_max", "many", "a int"),
        ("nonsense", "1", "has no 'nonsense'"),
    ],
)
def test_a_value_that_cannot_be_fails_at_the_start_by_name(settings, name, value, words):
    settings.GUIDANCE = {name: value}
    (found,) = check_guidance()
    assert found.id == "tidings.E013" and name in found.msg and words in found.msg


def test_every_default_is_a_value_that_may_be_given(settings):
    defaults = Tunables()
    settings.GUIDANCE = {field.name: str(getattr(defaults, field.name)) for field in fields(Tunables)}
    assert tunables() == defaults and check_guidance() == []
