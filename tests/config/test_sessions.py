"""Who comes back after two weeks of holidays is still signed in."""

from django.conf import settings


def test_a_session_lasts_ninety_days_unless_an_operator_says_otherwise():
    assert settings.SESSION_COOKIE_AGE == 90 * 24 * 3600
