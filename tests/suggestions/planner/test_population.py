"""Publishing how much tastes vary: who is counted, once for each thumb, and who is served."""

from datetime import timedelta

import numpy as np
import pytest

from digest.days import utc_day, utc_day_begin
from ranking import community
from ranking.common.isolation import failures_collected
from ranking.taste.leans import SPREAD_PRIOR
from suggestions.models import TasteContribution, TasteSpread
from suggestions.planner.population import BATCH_MIN, taste_spread_for, taste_spread_publish
from tests.support.community import items_seen, members, rate
from tests.support.poison import poison

pytestmark = pytest.mark.django_db


@pytest.fixture
def exact(monkeypatch) -> None:
    """Remove the noise, so that only the sums count."""
    monkeypatch.setattr(
        community, "noise", lambda uniforms, epsilon: np.zeros(uniforms.shape[1], dtype=np.int64)
    )


def morning(day: int):
    return utc_day_begin(day) + timedelta(hours=4)


def test_fewer_than_forty_wait_and_the_next_night_counts_them_all(exact, now):
    readers, day = members(now, BATCH_MIN - 1), utc_day(now)
    assert taste_spread_publish(now=morning(day)) == 0 and not TasteSpread.objects.exists()
    assert taste_spread_for(reader_id=readers[0].pk) == SPREAD_PRIOR
    members(now, 1)
    assert taste_spread_publish(now=morning(day + 1)) == BATCH_MIN
    assert TasteContribution.objects.count() == BATCH_MIN


def test_nobody_is_counted_twice_for_the_same_thumbs(exact, now):
    members(now, BATCH_MIN)
    day = utc_day(now)
    assert taste_spread_publish(now=morning(day)) == BATCH_MIN
    for later in range(4):
        assert taste_spread_publish(now=morning(day + later)) == 0
    assert TasteSpread.objects.count() == 1


def test_eighty_thumbs_later_a_reader_is_counted_once_more_and_never_again(exact, now):
    readers, day = members(now, BATCH_MIN), utc_day(now)
    assert taste_spread_publish(now=morning(day)) == BATCH_MIN
    items = items_seen(day, 80)
    for item in items[:79]:
        rate(readers, item, day)
    assert taste_spread_publish(now=morning(day + 1)) == 0
    rate(readers, items[79], day)
    assert taste_spread_publish(now=morning(day + 2)) == BATCH_MIN
    for item in items_seen(day + 3, 90):
        rate(readers, item, day + 3)
    assert taste_spread_publish(now=morning(day + 9)) == 0
    assert sorted(set(TasteContribution.objects.values_list("number", flat=True))) == [1, 2]


def test_a_thumb_of_the_day_itself_waits_for_the_second_count(exact, now):
    readers, day = members(now, BATCH_MIN), utc_day(now)
    for source, useful in (("a.example", True), ("b.example", False)):
        for item in items_seen(day - 9, 8, source):
            rate(readers, item, day - 8, useful=useful)
    assert taste_spread_publish(now=morning(day)) == BATCH_MIN
    before = TasteSpread.objects.values().get()
    assert before["source_estimates"] > 0 and before["source_weights"] > 0
    TasteSpread.objects.all().delete()
    TasteContribution.objects.all().delete()
    for item in items_seen(day, 8, "b.example"):
        rate(readers, item, day)
    taste_spread_publish(now=morning(day))
    assert TasteSpread.objects.values().get() == before


def test_only_readers_who_share_are_counted_and_served(exact, now, settings):
    readers, day = members(now, BATCH_MIN + 2), utc_day(now)
    for reader in readers[:2]:
        reader.peers_enabled = False
        reader.save()
    assert taste_spread_publish(now=morning(day)) == BATCH_MIN
    assert not TasteContribution.objects.filter(reader__in=readers[:2]).exists()
    TasteSpread.objects.update(
        source_estimates=4000, topic_estimates=5000, source_weights=10_000, topic_weights=20_000
    )
    assert taste_spread_for(reader_id=readers[0].pk) == SPREAD_PRIOR
    assert taste_spread_for(reader_id=readers[5].pk) > 2 * SPREAD_PRIOR
    settings.PEERS_ENABLED = False
    assert taste_spread_for(reader_id=readers[5].pk) == SPREAD_PRIOR
    assert taste_spread_publish(now=morning(day + 1)) == 0


def test_later_batches_are_half_as_large_as_all_before(exact, now):
    members(now, 2 * BATCH_MIN + 4)
    day = utc_day(now)
    assert taste_spread_publish(now=morning(day)) == 2 * BATCH_MIN + 4
    members(now, BATCH_MIN + 1)
    assert taste_spread_publish(now=morning(day + 1)) == 0
    members(now, 1)
    assert taste_spread_publish(now=morning(day + 2)) == BATCH_MIN + 2


def test_with_noise_no_two_publications_are_alike(now):
    members(now, BATCH_MIN)
    day, seen = utc_day(now), set()
    for _ in range(3):
        taste_spread_publish(now=morning(day))
        seen.add(TasteSpread.objects.values_list("source_estimates", "source_weights").get())
        TasteSpread.objects.all().delete()
        TasteContribution.objects.all().delete()
    assert len(seen) == 3


def test_one_reader_who_cannot_be_counted_waits_and_the_others_are_counted(exact, now, monkeypatch):
    readers, day = members(now, BATCH_MIN + 1), utc_day(now)
    with monkeypatch.context() as patched, failures_collected() as failed:
        poison(patched, "suggestions.planner.population.feedback_recent", readers[0])
        assert taste_spread_publish(now=morning(day)) == BATCH_MIN
    assert list(failed.errors) == [("reader", str(readers[0].pk))]
    assert not TasteContribution.objects.filter(reader=readers[0]).exists()
