"""`check` refuses settings that can be read but cannot work, each with its own code."""

import pytest
from django.conf import settings as real

from config.apps import DJANGO_NAMES, MINIMUM_VALUES, check_addresses, check_bounds


@pytest.mark.parametrize("name", MINIMUM_VALUES)
def test_a_number_below_its_minimum_is_named(settings, name):
    known_as = DJANGO_NAMES.get(name, name)
    assert not check_bounds()
    setattr(settings, known_as, MINIMUM_VALUES[name])
    assert not check_bounds()
    for wrong in (MINIMUM_VALUES[name] - 1, float("nan")):
        setattr(settings, known_as, wrong)
        (error,) = check_bounds()
        assert error.id == "tidings.E015" and error.msg.startswith(f"{name}=")


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("REDIS_URL", "http://ada:s3cret@broker", "tidings.E016"),
        ("REDIS_URL", "broker:6379", "tidings.E016"),
        ("REDIS_URL", "redis://broker:s3cret/0", "tidings.E016"),
        ("REDIS_URL", "rediss://broker:6379/0", None),
        ("REDIS_URL", "unix:///run/redis.sock", None),
        ("REDIS_URL", "", None),
        ("SITE_URL", "news.example.org", "tidings.E017"),
        ("SITE_URL", "ftp://news.example.org", "tidings.E017"),
        ("SITE_URL", "https://", "tidings.E017"),
        ("SITE_URL", "https://example.org/news", "tidings.E017"),
        ("SITE_URL", "https://example.org:port", "tidings.E017"),
        ("SITE_URL", "https://news.example.org/", None),
        ("SITE_URL", "http://[::1]:8000", None),
        ("ALERT_EMAILS", ["olga@example.org", "olga"], "tidings.E018"),
        ("ALERT_EMAILS", ["olga@example.org"], None),
        ("EMAIL_FROM", "tidings", "tidings.E018"),
        ("EMAIL_FROM", "Tidings <news@example.org>", None),
        ("ALLOWED_HOSTS", ["https://news.example.org"], "tidings.E019"),
        ("ALLOWED_HOSTS", ["news.example.org/"], "tidings.E019"),
        ("ALLOWED_HOSTS", ["news.example.org", ".example.org", "[::1]", "*"], None),
    ],
)
def test_an_invalid_address_is_refused_by_its_code_without_its_password(settings, name, value, code):
    settings.REDIS_URL, settings.SITE_URL, settings.ALERT_EMAILS = "", "https://news.example.org", []
    setattr(settings, {"EMAIL_FROM": "DEFAULT_FROM_EMAIL"}.get(name, name), value)
    found = check_addresses()
    assert [error.id for error in found] == ([code] if code else [])
    assert all(name in error.msg and "s3cret" not in error.msg for error in found)


def test_the_defaults_pass():
    assert real.SITE_URL and not check_addresses() and not check_bounds()
