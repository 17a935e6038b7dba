"""Settings of the rules that could only fail in the middle of a write fail at the start instead."""

import pytest
from django.core.checks.registry import registry

from digest.apps import check_peers
from suggestions.apps import check_rules


@pytest.mark.parametrize(
    ("name", "value", "check_id"),
    [
        ("ADVISOR_MIN_CONFIDENCE", "certain", "tidings.E012"),
        ("SWING_FORM", "cosine", "tidings.E006"),
        ("SWING_THRESHOLD_PERCENTILE", "high", "tidings.E007"),
        ("SWING_THRESHOLD_PERCENTILE", "101", "tidings.E007"),
    ],
)
def test_a_setting_that_names_nothing_known_fails_the_check(settings, name, value, check_id):
    setattr(settings, name, value)
    assert {check_rules, check_peers} <= set(registry.get_checks()), "`manage.py check` must run them"
    assert [message.id for message in (*check_rules(), *check_peers())] == [check_id]


@pytest.mark.parametrize("percentile", ["", "99", "99.5"])
def test_the_settings_as_shipped_pass(settings, percentile):
    settings.SWING_THRESHOLD_PERCENTILE = percentile
    assert [*check_rules(), *check_peers()] == []
