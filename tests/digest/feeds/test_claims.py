"""Many feeds claimed and stored together: few statements, and only while the claim holds."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from digest.feeds import fetch_batch
from digest.feeds.entities import FeedProblem
from digest.feeds.fetch import FetchResponse
from digest.feeds.parse import parse_document
from digest.feeds.services import (
    FeedAnswer,
    FeedFailure,
    answers_store,
    failures_store,
    feed_claim,
    feeds_claim,
)
from digest.models import Feed, Item
from tests.support.factories import FeedFactory

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def rss(*titles: str) -> bytes:
    items = "".join(f"<item><title>{t}</title><guid>{t}</guid></item>" for t in titles)
    return f"<rss><channel><title>Rivers</title>{items}</channel></rss>".encode()


def due(count: int, now) -> list[Feed]:
    return [FeedFactory(state=Feed.State.ACTIVE, next_check_at=now) for _ in range(count)]


def test_many_claims_and_many_answers_cost_one_update_each(now):
    feeds = due(40, now)
    with CaptureQueriesContext(connection) as claims:
        assert feeds_claim(feeds=feeds, until=now + HOUR) == feeds
    with CaptureQueriesContext(connection) as results:
        answers_store(
            answers=[FeedAnswer(f, FetchResponse(f.url, None, "", "", None), None, 0.0) for f in feeds],
            now=now,
        )
    for statements in (claims, results):
        assert sum("UPDATE" in statement["sql"] for statement in statements) == 1
    assert set(Feed.objects.values_list("last_fetched_at", "failures")) == {(now, 0)}


def test_many_failures_cost_one_update_for_each_outcome_of_a_feed(now):
    feeds = due(40, now)
    problems = [FeedProblem(code, "Ouch.") for code in ("http_500", "http_410", "host_busy", "http_404")]
    problems[1] = FeedProblem("http_410", "It is gone.", gone=True)
    failures = [FeedFailure(feed, problems[n % 4], 0.0) for n, feed in enumerate(feeds)]
    Feed.objects.filter(pk=feeds[0].pk).update(next_check_at=now + HOUR)  # somebody else has it now
    Feed.objects.filter(pk=feeds[4].pk).update(state=Feed.State.PAUSED)
    with CaptureQueriesContext(connection) as results:
        failures_store(failures=failures, now=now)
    assert sum("UPDATE" in statement["sql"] for statement in results) == 3
    rows = Feed.objects.order_by("pk").values_list("state", "error_code", "failures", "missing")
    assert list(rows[:8]) == [
        ("active", "", 0, 0),
        ("gone", "http_410", 1, 0),
        ("active", "", 0, 0),
        ("active", "http_404", 1, 1),
        ("paused", "http_500", 1, 0),
        *[("gone", "http_410", 1, 0), ("active", "", 0, 0), ("active", "http_404", 1, 1)],
    ]
    assert Feed.objects.get(pk=feeds[2].pk).next_check_at == now + HOUR / 12


def test_of_many_feeds_one_that_another_worker_took_is_left_to_it(now):
    feeds = due(5, now)
    theirs = Feed.objects.get(pk=feeds[2].pk)
    assert feed_claim(feed=theirs, until=now + HOUR)
    ours = feeds_claim(feeds=feeds, until=now + 2 * HOUR)
    assert ours == [*feeds[:2], *feeds[3:]]
    times = Feed.objects.order_by("pk").values_list("next_check_at", flat=True)
    assert list(times) == [now + HOUR if n == 2 else now + 2 * HOUR for n in range(5)]


def test_an_answer_whose_claim_was_lost_is_not_written(now):
    feeds = due(3, now)
    assert feeds_claim(feeds=feeds, until=now + HOUR) == feeds
    Feed.objects.filter(pk=feeds[1].pk).update(next_check_at=now + 2 * HOUR)  # an operator wants it again
    answers_store(
        answers=[FeedAnswer(f, FetchResponse(f.url, None, "", "", None), None, 0.0) for f in feeds], now=now
    )
    read = Feed.objects.filter(last_fetched_at=now).values_list("pk", flat=True)
    assert set(read) == {feeds[0].pk, feeds[2].pk}


def test_a_fault_of_ours_costs_one_feed_and_not_those_stored_with_it(now):
    """The database refuses one document: the others, tried again by themselves, are stored."""
    feeds = due(3, now)
    feeds_claim(feeds=feeds, until=now + HOUR)
    parsed = [parse_document(rss(f"Rain {n}")) for n in range(3)]
    endless = replace(parsed[1], entries=(replace(parsed[1].entries[0], published="never"),))
    answers = [
        FeedAnswer(feed, FetchResponse(feed.url, b"x", "", "", None), one, 0.0)
        for feed, one in zip(feeds, [parsed[0], endless, parsed[2]], strict=True)
    ]
    outcomes = fetch_batch._store_each(
        answers,
        store=lambda batch: answers_store(answers=batch, now=now),
        key_of=lambda one: one.feed.pk,
    )
    assert [isinstance(one, FeedProblem) for one in outcomes] == [False, True, False]
    assert outcomes[1].code == "internal" and Item.objects.count() == 2
