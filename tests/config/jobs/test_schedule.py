"""Beat and worker have the same schedule, and the night begins at its hour."""

import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from django.core.checks.registry import registry

from config.apps import check_schedule
from config.jobs.schedule import CELERY_BEAT_SCHEDULE, JOBS, night_has_begun

ROOMS = ("config", "advisor", "suggestions", "digest", "ranking")


def at(hour: int) -> datetime:
    return datetime(2026, 3, 18, hour, 30, tzinfo=UTC)


def test_a_night_begins_at_its_hour_of_the_utc_day_whatever_the_clock_is_set_to():
    assert [night_has_begun(at(hour), 3) for hour in (0, 2, 3, 23)] == [False, False, True, True]
    assert night_has_begun(at(3).astimezone(timezone(timedelta(hours=-8))), 3)


def test_what_the_night_does_is_not_scheduled_beside_it():
    tasks = {entry["task"] for entry in CELERY_BEAT_SCHEDULE.values()}
    assert {"config.nightly", "config.daily_builds", "digest.feeds_fetch"} <= tasks
    assert not tasks & {
        "digest.weights_update",
        "digest.digests_build",
        "suggestions.effects_check",
        "advisor.readers_advise",
    }


def test_mail_of_any_zone_is_looked_for_within_a_quarter_of_an_hour():
    every = {job.name: job.interval for job in JOBS}
    assert every["daily-builds"] <= timedelta(minutes=15) and every["nightly"] <= timedelta(minutes=15)


@pytest.mark.parametrize(("hour", "ids"), [(0, []), (23, []), (-1, ["tidings.E011"]), (24, ["tidings.E011"])])
def test_an_hour_that_is_none_fails_the_check(settings, hour, ids):
    settings.NIGHTLY_HOUR = hour
    assert check_schedule in registry.get_checks()
    assert [found.id for found in check_schedule()] == ids


def test_no_two_checks_share_an_id():
    """Each id occurs in the code of only one check."""
    root = Path(__file__).resolve().parents[3]
    modules = [path for room in ROOMS for path in (root / room).rglob("*.py")]
    found = [set(re.findall(r'"(tidings\.[EW]\d+)"', path.read_text())) for path in modules]
    assert sum(map(bool, found)) >= 4 and sum(map(len, found)) == len(set().union(*found))
