"""The steps that can be undone are kept with their reader, and never grow without end."""

from datetime import timedelta

import pytest

from digest.models import Reader
from digest.undo import STEPS_MAX, step_keep, steps_of
from tests.conftest import NOW

pytestmark = pytest.mark.django_db


def test_only_the_last_steps_of_today_are_kept(ada: Reader):
    yesterday = NOW - timedelta(days=1)
    for kind in STEPS_MAX:
        step_keep(reader=ada, kind=kind, values={"count": -1}, now=yesterday)
    for n in range(40):
        for kind in STEPS_MAX:
            step_keep(reader=ada, kind=kind, values={"count": n}, now=NOW + timedelta(seconds=n))
    stored = Reader.objects.get(pk=ada.pk)
    assert {kind: len(steps) for kind, steps in stored.undo_steps.items()} == STEPS_MAX
    last = NOW + timedelta(seconds=40)
    assert [step["count"] for step in steps_of(stored, "marked", last)] == [35, 36, 37, 38, 39]
    assert [step["count"] for step in steps_of(stored, "removed", last)] == [39]


def test_the_steps_of_an_earlier_day_go_with_the_next_one(ada: Reader):
    step_keep(reader=ada, kind="removed", values={"count": 9}, now=NOW)
    tomorrow = NOW + timedelta(days=1)
    assert not steps_of(ada, "removed", tomorrow)
    step_keep(reader=ada, kind="marked", values={"count": 1}, now=tomorrow)
    assert set(Reader.objects.get(pk=ada.pk).undo_steps) == {"marked"}
