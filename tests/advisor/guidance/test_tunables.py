"""What guidance may be tuned to: numbers that can be, refused by name where they cannot."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta

import pytest

from advisor.checks import check_guidance
from advisor.guidance.tips import tip_for
from advisor.guidance.tunables import Tunables, bounds, tunables
from advisor.models import Memory, Tip


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("note_min", "2", "0 to 1"),
        ("note_min", "48", "0 to 1"),
        ("holdout", "nan", "0 to 1"),
        ("budget_ms", "-1", "0 to 600,000"),
        ("budget_ms", "inf", "0 to 600,000"),
        ("export_max", "-4", "0 to 10,000"),
        ("caution_boost", "0.5", "1 to 10"),
        ("shown_ttl_s", "nan", "0 to 2,678,400"),
        ("shown_ttl_s", "1e309", "0 to 2,678,400"),
        ("packet_ttl_s", "1e12", "0 to 2,678,400"),
        ("tip_gap_hours", "1e12", "0 to 8,760"),
        ("tip_dismissed_days", "1e12", "0 to 3,650"),
        ("trust_half_life_days", "0", "1 to 3,650"),
        ("wilson_min", "0", "1 to 1,000"),
        ("told_max", "9" * 23, "0 to 20"),
        ("whispers", "perhaps", "true or false"),
        ("told_max", "many", "a whole number"),
        ("told_max", "9" * 5000, "a whole number"),
        ("note_min", "high", "a number"),
        ("note_min", "0.9", "whisper_min ≤ note_min ≤ warning_min"),
        ("whisper_min", "0.5", "whisper_min 0.5, note_min 0.48"),
        ("nonsense", "1", "has no 'nonsense'"),
    ],
)
def test_a_value_that_cannot_be_fails_at_the_start_by_name(settings, name, value, words):
    settings.GUIDANCE = {name: value}
    (found,) = check_guidance()
    assert found.id == "tidings.E013" and name in found.msg and words in found.msg and len(found.msg) < 1500


def test_every_default_is_a_value_that_may_be_given(settings):
    defaults = Tunables()
    settings.GUIDANCE = {field.name: str(getattr(defaults, field.name)) for field in fields(Tunables)}
    assert tunables() == defaults and check_guidance() == []


@pytest.mark.parametrize("field", [f.name for f in fields(Tunables) if f.type in (int, float)])
def test_the_most_that_a_number_may_be_keeps_every_moment_a_date(field):
    _, most = bounds(field)
    assert datetime(2026, 11, 22, tzinfo=UTC) + timedelta(days=most if field.endswith("_days") else 0)
    hours = timedelta(hours=most) if field.endswith("_hours") else timedelta(seconds=most)
    assert datetime(2026, 11, 22, tzinfo=UTC) + hours and most < 1e7


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["tip_gap_hours", "tip_dismissed_days"])
def test_the_largest_wait_for_a_tip_leaves_the_front_page_standing(settings, ada, now, name):
    row = {"kind": "rule", "key": "k", "title": "T", "text": "Rate more.", "reader": ada, "valid_from": now}
    memory = Memory.objects.create(updated_at=now, **row)
    Tip.objects.create(reader=ada, memory=memory, shown_at=now, dismissed_at=now)
    settings.GUIDANCE = {name: str(bounds(name)[1])}
    assert tip_for(reader_id=ada.pk, now=now) is None


def test_a_name_given_twice_is_refused_since_neither_value_was_meant_for_certain(settings):
    settings.GUIDANCE_NAMES = ["note_min", "holdout", " note_min"]
    (found,) = check_guidance()
    assert found.id == "tidings.E013" and "note_min more than once" in found.msg
