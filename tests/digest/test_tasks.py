"""The scheduled doors of the digest room: known by name, and they do what the name says."""

from datetime import timedelta

from django.utils import timezone

from config.schedule import JOBS
from digest.models import Digest, Feed
from digest.tasks import digests_build_task, feeds_fetch_task, weights_update_task
from ranking.models import WeightSnapshot
from tests.factories import FeedbackFactory, FeedFactory


def test_the_schedule_calls_them_by_the_names_they_have():
    scheduled = {job.task for job in JOBS if job.task.startswith("digest.")}
    assert scheduled == {task.name for task in (feeds_fetch_task, weights_update_task, digests_build_task)}


def test_each_does_its_round(ada, ben):
    FeedbackFactory(reader=ada)
    resting = FeedFactory(next_check_at=timezone.now() + timedelta(days=1))
    feeds_fetch_task()
    weights_update_task()
    digests_build_task()
    assert Feed.objects.get(pk=resting.pk).last_fetched_at is None
    assert WeightSnapshot.objects.filter(reader=ada).count() == 1
    assert {digest.reader for digest in Digest.objects.all()} == {ada, ben}
