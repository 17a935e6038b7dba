"""Settings of the rules that could only fail in the middle of a write fail at the start instead."""

from django.core.checks.registry import registry

from suggestions.apps import check_rules


def test_a_setting_that_names_nothing_known_fails_the_check(settings):
    settings.ADVISOR_MIN_CONFIDENCE = "certain"
    assert check_rules in registry.get_checks(), "`manage.py check` must run it"
    assert [message.id for message in check_rules()] == ["tidings.E012"]


def test_the_settings_as_shipped_pass():
    assert check_rules() == []
