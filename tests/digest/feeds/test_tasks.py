"""The scheduled tasks of the digest room: known by name, and each does the work of its name."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_httpserver import HTTPServer

from advisor.tasks import guidance_learn_task
from config.jobs.schedule import JOBS
from config.tasks import daily_builds_task
from digest.feeds.rate_limit import _limiter
from digest.models import Feed, Item, SuggestedReasons, Summary
from digest.tasks import feeds_fetch_task
from tests.support.factories import CLOCK, FeedFactory, SubscriptionFactory

HEADLINE = "Volcano erupts near the harbour of Reykjavik"


@pytest.fixture
def site(httpserver: HTTPServer, settings) -> Iterator[HTTPServer]:
    settings.FETCH_ALLOW_HOSTS = ["localhost"]
    _limiter.cache_clear()
    yield httpserver
    _limiter.cache_clear()


@pytest.fixture
def story_of_three(ada, site: HTTPServer) -> None:
    """Ada reads three publishers, and each of them has the same story."""
    for n in range(3):
        link = f"<link>https://paper{n}.example/1</link>"
        entry = f"<item><title>{HEADLINE}</title><guid>paper-{n}</guid>{link}</item>"
        document = f"<rss><channel><title>Paper {n}</title>{entry}</channel></rss>"
        site.expect_request(f"/{n}").respond_with_data(document)
        feed = FeedFactory(
            source__key=f"paper{n}.example", url=site.url_for(f"/{n}"), state="active", next_check_at=CLOCK
        )
        SubscriptionFactory(reader=ada, feed=feed)


def test_the_schedule_calls_them_by_the_names_they_have():
    scheduled = {job.task for job in JOBS if job.task.startswith("digest.")}
    assert scheduled == {feeds_fetch_task.name}


def test_each_does_its_round(db):
    resting = FeedFactory(next_check_at=timezone.now() + timedelta(days=1))
    feeds_fetch_task()
    assert Feed.objects.get(pk=resting.pk).last_fetched_at is None


def test_a_story_of_three_feeds_is_shown_once_after_they_were_fetched(story_of_three, ada, client: Client):
    feeds_fetch_task()
    assert Item.objects.count() == 3
    client.force_login(ada)
    today = timezone.now().astimezone(ada.zone).date()
    (entry,) = client.get(f"/api/digests/{today}").json()["entries"]
    assert entry["title"] == HEADLINE and len(entry["also"]) == 2


def test_a_worker_that_must_stop_begins_no_step(story_of_three):
    asked = iter([False, True, True])
    feeds_fetch_task(stopping=lambda: next(asked, True))
    assert not Item.objects.exists() and not Summary.objects.exists()
    feeds_fetch_task()
    assert Item.objects.count() == 3


def test_what_was_fetched_has_extracts_at_once_that_name_the_other_feeds(story_of_three):
    feeds_fetch_task()
    fingerprints = set(Item.objects.values_list("fingerprint", flat=True))
    assert set(Summary.objects.values_list("fingerprint", flat=True)) == fingerprints
    offered = SuggestedReasons.objects.filter(fingerprint__in=fingerprints).values_list("reasons", flat=True)
    assert {"tag": "known", "text": "already reported elsewhere"} in [r for row in offered for r in row]


STEPS = {
    "digest.tasks": (
        "feeds_fetch",
        "newsletters_fetch",
        "stories_refresh",
        "item_vectors_update",
        "extracts_make",
        "full_texts_update",
        "favicons_update",
    ),
    "config.tasks": ("digests_build_missing", "_deliver", "_news_make", "notifications_send"),
    "advisor.tasks": ("guidance_credit", "memories_refresh_active", "guidance_prune"),
}
TASKS = {
    "digest.tasks": feeds_fetch_task,
    "config.tasks": daily_builds_task,
    "advisor.tasks": guidance_learn_task,
}


@pytest.mark.parametrize(("module", "broken"), [(m, step) for m, steps in STEPS.items() for step in steps])
def test_no_step_of_a_task_ends_the_others(db, monkeypatch, module: str, broken: str):
    done: list[str] = []

    def step(name: str) -> Callable[..., None]:
        def work(*args: object, **more: object) -> None:
            done.append(name)
            if name == broken:
                raise RuntimeError(f"{name} is broken")

        return work

    for name in STEPS[module]:
        monkeypatch.setattr(f"{module}.{name}", step(name))
    with pytest.raises(RuntimeError, match=broken):
        TASKS[module]()
    assert done == list(STEPS[module])
