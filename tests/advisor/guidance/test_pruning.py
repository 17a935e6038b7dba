"""Only events past their term are deleted, and figures count the rest."""

from datetime import timedelta

import pytest

from advisor.guidance.events import guidance_observed, guidance_prune
from advisor.models import GuidanceEvent
from advisor.tasks import guidance_learn_task
from tests.advisor.guidance.test_observability import event

pytestmark = pytest.mark.django_db
TERM = timedelta(days=180)
SECOND = timedelta(seconds=1)


def test_calls_go_after_half_a_year_and_not_before(ada, now):
    """Answers, held-out comparisons, previews and figures only need younger events."""
    old = [event(ada, now - TERM - SECOND).pk for _ in range(3)]
    young = event(ada, now - TERM).pk
    assert guidance_prune(now=now) == len(old)
    assert list(GuidanceEvent.objects.values_list("pk", flat=True)) == [young]
    assert guidance_prune(now=now) == 0


def test_calls_that_are_stored_for_ever_stay(ada, now, settings):
    settings.KEEP_DAYS = settings.KEEP_DAYS | {"guidance": 0}
    event(ada, now - 9 * TERM)
    assert guidance_prune(now=now) == 0 and GuidanceEvent.objects.exists()


def test_the_figures_are_the_same_before_and_after(ada, now):
    event(ada, now - TERM - SECOND)
    for days in range(5):
        event(ada, now - timedelta(days=days), why="failed", error_code="KeyError")
    before = guidance_observed(now=now)
    guidance_prune(now=now)
    assert guidance_observed(now=now) == before and before.calls == 5


def test_the_daily_job_prunes(ada, now):
    event(ada, now - TERM - 2 * timedelta(days=1))
    guidance_learn_task()
    assert not GuidanceEvent.objects.exists()
