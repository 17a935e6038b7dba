"""The scheduled doors of the digest room: known by name, and they do what the name says."""

from datetime import timedelta

from django.utils import timezone

from config.schedule import JOBS
from digest.models import Feed
from digest.tasks import feeds_fetch_task
from tests.factories import FeedFactory


def test_the_schedule_calls_them_by_the_names_they_have():
    scheduled = {job.task for job in JOBS if job.task.startswith("digest.")}
    assert scheduled == {feeds_fetch_task.name}


def test_each_does_its_round(db):
    resting = FeedFactory(next_check_at=timezone.now() + timedelta(days=1))
    feeds_fetch_task()
    assert Feed.objects.get(pk=resting.pk).last_fetched_at is None
