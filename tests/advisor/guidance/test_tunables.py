"""Guidance's settings: numbers in range, or refused by name."""

from dataclasses import fields

import pytest

from advisor.apps import check_guidance
from advisor.guidance.situations import Tunables
from advisor.guidance.tunables import tunables


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("note_min", "2", "less than or equal to 1."),
        ("note_min", "48", "less than or equal to 1."),
        ("holdout", "nan", "less than or equal to"),
        ("budget_ms", "-1", "greater than or equal to 0."),
        ("budget_ms", "inf", "less than or equal to 600000."),
        ("shown_ttl_s", "nan", "less than or equal to"),
        ("shown_ttl_s", "1e309", "less than or equal to 2678400."),
        ("notes_max", "9" * 23, "less than or equal to 20."),
        ("export", "perhaps", "a valid boolean"),
        ("notes_max", "many", "a valid integer"),
        ("notes_max", "9" * 5000, "as an integer"),
        ("note_min", "high", "a valid number"),
        ("note_min", "0.9", "note_min ≤ warning_min"),
        ("told_max", "1", "Unexpected"),
        ("nonsense", "1", "Unexpected"),
    ],
)
def test_a_value_that_cannot_be_fails_at_the_start_by_name(settings, name, value, words):
    settings.GUIDANCE = {name: value}
    (found,) = check_guidance()
    assert found.id == "tidings.E013" and name in found.msg and words in found.msg and len(found.msg) < 1500


def test_a_name_of_an_earlier_version_stops_no_start(settings):
    settings.GUIDANCE = {"whispers": "false", "packet_ttl_s": "60", "synthesis": "true"}
    assert tunables() == Tunables() and check_guidance() == []


def test_every_default_is_a_value_that_may_be_given(settings):
    defaults = Tunables()
    settings.GUIDANCE = {field.name: str(getattr(defaults, field.name)) for field in fields(Tunables)}
    assert tunables() == defaults and check_guidance() == []


def test_a_name_given_twice_is_refused_since_neither_value_was_meant_for_certain(settings):
    settings.GUIDANCE_NAMES = ["note_min", "holdout", " note_min"]
    (found,) = check_guidance()
    assert found.id == "tidings.E013" and "note_min more than once" in found.msg
