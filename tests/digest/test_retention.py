"""Retention: rows older than their term are deleted, and no others."""

from datetime import datetime, timedelta

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db.models import Model
from django.utils import timezone

from config.jobs.nightly import cluster
from digest import retention
from digest.feeds.ingest import feed_get_or_create
from digest.models import (
    Delivery,
    Digest,
    Exposure,
    Feedback,
    Impression,
    Item,
    Notification,
    PrunedEntry,
    Reading,
    SpendRefusal,
    Story,
    Summary,
    UsedLink,
)
from digest.retention import items_prune, rows_prune
from suggestions.models import Evidence
from tests.support.browser import suggested
from tests.support.factories import FeedbackFactory, ItemFactory
from tests.support.ingest import document_ingest

DAY = timedelta(days=1)


def used_link(reader, at: datetime) -> UsedLink:
    return UsedLink.objects.create(digest=f"{at:%Y%m%d%f}", reader=reader, used_at=at)


def delivery(reader, at: datetime) -> Delivery:
    return Delivery.objects.create(reader=reader, date=at.date(), claimed_at=at)


def notification(reader, at: datetime) -> Notification:
    return Notification.objects.create(reader=reader, news=[], created_at=at, next_at=at)


def exposure(reader, at: datetime) -> Exposure:
    fields = {"door": "page", "rank": 1, "slot": "ranked", "propensity": 1.0, "score": 1.0}
    item = ItemFactory(published_at=at)
    return Exposure.objects.create(
        reader=reader, item=item, date=at.date(), config_version=0, shown_at=at, **fields
    )


def refusal(reader, at: datetime) -> SpendRefusal:
    fields = {"surface": "advisor", "model": "m", "code": "budget_day", "asked_usd": 1}
    return SpendRefusal.objects.create(reader=reader, day=at.date(), created_at=at, **fields)


def read(item: Item) -> dict[str, object]:
    return {"item": item, "article": item.article}


def reading(reader, at: datetime) -> Reading:
    return Reading.objects.create(reader=reader, **read(ItemFactory(published_at=at)), read_at=at)


def digest(reader, at: datetime) -> Digest:
    return Digest.objects.create(reader=reader, date=at.date(), config_version=0, built_at=at)


KINDS = [
    (used_link, 90),
    (delivery, 90),
    (notification, 90),
    (exposure, 400),
    (refusal, 400),
    (reading, 730),
    (digest, 730),
]


@pytest.mark.every_case
@pytest.mark.parametrize(("make", "days"), KINDS)
def test_rows_of_each_kind_are_deleted_after_their_term(ada, now, make, days, monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 2)
    rows: list[Model] = [make(ada, now - (days + extra) * DAY) for extra in (5, 4, 3, 2, 1, 0, -1)]
    assert rows_prune(now=now) == 5  # on the last day of its term it still exists
    left = type(rows[0])._default_manager.order_by("pk").values_list("pk", flat=True)
    assert list(left) == [row.pk for row in rows[-2:]]
    assert rows_prune(now=now) == 0


def test_expired_sessions_are_deleted(db):
    for days in (-1, 1):
        session = SessionStore()
        session.set_expiry(timezone.now() + days * DAY)
        session.save()
    rows_prune(now=timezone.now())
    assert [row.expire_date > timezone.now() for row in Session.objects.all()] == [True]


def test_the_nightly_job_prunes_and_zero_days_keep_everything(ada, now, settings):
    settings.KEEP_DAYS = settings.KEEP_DAYS | {"digests": 0}
    item = ItemFactory(published_at=now - 3000 * DAY)
    FeedbackFactory(reader=ada, item=item, at=now - 3000 * DAY)
    Impression.objects.create(digest=digest(ada, now - 3000 * DAY), item=item, rank=1, score=1.0, parts={})
    used_link(ada, now - 91 * DAY)
    assert cluster(now)["rows_pruned"] == 1
    assert (Item.objects.count(), Feedback.objects.count(), Impression.objects.count()) == (1, 1, 1)


def test_an_item_is_deleted_once_nothing_refers_to_it(ada, now, settings, monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 2)
    unused, seen, young, rated, saved, shown, proof = items = [
        ItemFactory(published_at=now - days * DAY) for days in (100, 99, 59, 100, 100, 100, 100)
    ]
    FeedbackFactory(reader=ada, item=rated, at=now)
    Reading.objects.create(reader=ada, **read(seen), read_at=now - 99 * DAY)
    Reading.objects.create(reader=ada, **read(saved), saved_at=now - 99 * DAY)
    Impression.objects.create(digest=digest(ada, now - 99 * DAY), item=shown, rank=1, score=1.0, parts={})
    evidence = {"url": proof.url, "title": proof.title, "source_key": "s", "useful": True, "rated_at": now}
    Evidence.objects.create(suggestion=suggested(ada, evidence=0), item=proof, **evidence)
    for item in items:
        Summary.objects.create(fingerprint=item.fingerprint, model="offline", created_at=now)
    Item.objects.filter(pk=unused.pk).update(
        story=Story.objects.create(created_at=now - 100 * DAY, last_item_at=now - 100 * DAY)
    )
    assert cluster(now)["items_pruned"] == 0  # for ever, unless set otherwise
    settings.KEEP_DAYS = settings.KEEP_DAYS | {"items": 60}
    assert cluster(now)["items_pruned"] == 2
    assert set(Item.objects.all()) == {young, rated, saved, shown, proof}
    assert Summary.objects.filter(fingerprint__in=[unused.fingerprint, seen.fingerprint]).count() == 0
    assert (Summary.objects.count(), Story.objects.count(), Reading.objects.count()) == (5, 0, 1)


def test_a_deleted_item_does_not_come_back_as_new(ada, now, settings):
    settings.KEEP_DAYS = settings.KEEP_DAYS | {"items": 60}
    feed = feed_get_or_create(url="https://harbour.example/feed", now=now)
    item = b"<item><title>Tides</title><link>https://harbour.example/1</link></item>"
    document = b'<rss version="2.0"><channel><title>Harbour</title>' + item + b"</channel></rss>"
    assert document_ingest(feed=feed, body=document, now=now - 90 * DAY).items_new == 1
    assert items_prune(now=now) == 1
    assert PrunedEntry.objects.get().feed == feed
    again = document_ingest(feed=feed, body=document, now=now)
    assert (again.items_new, again.items_updated, Item.objects.count()) == (0, 0, 0)
