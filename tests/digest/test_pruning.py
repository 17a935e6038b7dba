"""What has had its time goes, and nothing else does."""

from datetime import datetime, timedelta

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db.models import Model
from django.utils import timezone

from config.nightly_steps import cluster
from digest.models import Delivery, Digest, Exposure, Feedback, Impression, Item, SpendRefusal, UsedLink
from digest.services import pruning
from digest.services.pruning import rows_prune
from tests.factories import FeedbackFactory, ItemFactory

DAY = timedelta(days=1)


def used_link(reader, at: datetime) -> UsedLink:
    return UsedLink.objects.create(digest=f"{at:%Y%m%d%f}", reader=reader, used_at=at)


def delivery(reader, at: datetime) -> Delivery:
    return Delivery.objects.create(reader=reader, date=at.date(), claimed_at=at)


def exposure(reader, at: datetime) -> Exposure:
    given = {"door": "page", "rank": 1, "slot": "ranked", "propensity": 1.0, "score": 1.0}
    item = ItemFactory(published_at=at)
    return Exposure.objects.create(
        reader=reader, item=item, date=at.date(), config_version=0, shown_at=at, **given
    )


def refusal(reader, at: datetime) -> SpendRefusal:
    given = {"surface": "advisor", "model": "m", "code": "budget_day", "asked_usd": 1}
    return SpendRefusal.objects.create(reader=reader, day=at.date(), created_at=at, **given)


@pytest.mark.parametrize(("make", "days"), [(used_link, 90), (delivery, 90), (exposure, 400), (refusal, 400)])
def test_each_kind_of_row_goes_when_its_term_is_over(ada, now, make, days, monkeypatch):
    monkeypatch.setattr(pruning, "BATCH", 2)
    rows: list[Model] = [make(ada, now - (days + extra) * DAY) for extra in (5, 4, 3, 2, 1, 0, -1)]
    assert rows_prune(now=now) == 5  # on the last day of its term it is still there
    left = type(rows[0])._default_manager.order_by("pk").values_list("pk", flat=True)
    assert list(left) == [row.pk for row in rows[-2:]]
    assert rows_prune(now=now) == 0


def test_sessions_that_ended_go_and_the_others_stay(db):
    for days in (-1, 1):
        session = SessionStore()
        session.set_expiry(timezone.now() + days * DAY)
        session.save()
    rows_prune(now=timezone.now())
    assert [row.expire_date > timezone.now() for row in Session.objects.all()] == [True]


def test_items_thumbs_and_digests_are_kept_and_the_night_does_the_pruning(ada, now):
    item = ItemFactory(published_at=now - 3000 * DAY)
    FeedbackFactory(reader=ada, item=item, at=now - 3000 * DAY)
    long_ago = now - 3000 * DAY
    digest = Digest.objects.create(reader=ada, date=long_ago.date(), config_version=0, built_at=long_ago)
    Impression.objects.create(digest=digest, item=item, rank=1, score=1.0, parts={})
    used_link(ada, now - 91 * DAY)
    assert cluster(now)["rows_pruned"] == 1
    assert (Item.objects.count(), Feedback.objects.count(), Impression.objects.count()) == (1, 1, 1)
