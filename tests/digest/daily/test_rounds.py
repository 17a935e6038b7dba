"""All readers' digests come from one load of the week, as one by one; a fault stays with its reader."""

from datetime import timedelta

import pytest

from digest.daily import services
from digest.daily.services import digest_build, digests_build
from digest.feedback.services import feedback_set
from digest.models import Digest, Reader
from ranking.services import ConfigEdit, config_edit, target_pin
from tests.support.factories import (
    FeedFactory,
    ItemFactory,
    ReaderFactory,
    SourceFactory,
    SubscriptionFactory,
)

HOUR = timedelta(hours=1)
SOURCES = [f"s{n:02}.example" for n in range(14)]


def shown(reader: Reader) -> list[tuple]:
    rows = reader.digests.get().impressions.order_by("rank")
    return list(rows.values_list("rank", "item_id", "score", "slot", "propensity", "parts"))


@pytest.fixture
def world(ada, ben, now) -> None:
    """Ten loud sources and four quiet ones, and an aggregator of some; Ada reads all, Ben half of it."""
    feeds = {key: FeedFactory(source=SourceFactory(key=key)) for key in SOURCES}
    planet = FeedFactory(source=SourceFactory(key="planet.example"))
    SubscriptionFactory(reader=ben, feed=planet)
    for n, key in enumerate(SOURCES):
        SubscriptionFactory(reader=ada, feed=feeds[key])
        if n == 5:
            SubscriptionFactory(reader=ada, feed=planet)
        for k in range(12 - n if n < 10 else 1):
            at = now - (n + 3 * k if n < 10 else 100 + n) * HOUR
            text = "A long tale" if n < 3 else ""
            feed = feeds[key]
            if n % 2 == 0:
                feed = FeedFactory(source=SourceFactory(key=key), url=f"https://{key}/f{k}.xml")
                for reader in (ada, ben):
                    SubscriptionFactory(reader=reader, feed=feed)
            words = {"published_at": at, "title": f"Comet {n} lands {k}", "text": text}
            item = ItemFactory(source=feed.source, feed=feed, own=n == 2, **words)
            if k == 0 and n in (2, 4, 6, 7):
                ItemFactory(source=planet.source, feed=planet, url=item.url, **words)
    edit = ConfigEdit(topics=["comet"], keyword_boosts={"tale": -0.3}, source_weights={SOURCES[0]: 0.4})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=now)


def test_a_round_builds_what_building_one_by_one_builds(ada, ben, now, world):
    for reader in (ada, ben):
        digest_build(reader=reader, date=now.date(), now=now)
    alone = {reader: shown(reader) for reader in (ada, ben)}
    assert {slot for *_, slot, _, _ in alone[ada]} == {"ranked", "novelty"}
    left_out = {digest.reader_id: digest.left_out for digest in Digest.objects.all()}
    Digest.objects.all().delete()
    assert digests_build(now=now) == 2
    assert {reader: shown(reader) for reader in (ada, ben)} == alone
    assert {digest.reader_id: digest.left_out for digest in Digest.objects.all()} == left_out


def test_a_current_digest_is_left_alone_so_that_a_broken_round_goes_on(ada, ben, now, world):
    digest_build(reader=ada, date=now.date(), now=now)
    ItemFactory(source_id=SOURCES[3], published_at=now)
    assert digests_build(now=now + 59 * HOUR / 60) == 1  # Ben's
    assert Digest.objects.get(reader=ada).built_at == now
    assert digests_build(now=now + HOUR) == 1  # Ada's is an hour old
    assert Digest.objects.get(reader=ada).built_at == now + HOUR


def test_a_round_leaves_alone_what_another_process_builds_meanwhile(ada, ben, now, world, monkeypatch):
    monkeypatch.setattr(services, "TOGETHER", 1)
    last, load = max((ada, ben), key=lambda reader: reader.pk), services.window_load

    def slow(**given: object) -> object:
        digest_build(reader=last, date=now.date(), now=now)
        return load(**given)

    monkeypatch.setattr(services, "window_load", slow)
    assert digests_build(now=now) == 1
    assert Digest.objects.count() == 2


def test_a_round_may_begin_with_the_last_reader(ada, ben, now, world, monkeypatch):
    monkeypatch.setattr(services, "TOGETHER", 1)
    assert digests_build(now=now, last_first=True) == 2
    built = list(Digest.objects.order_by("pk").values_list("reader_id", flat=True))
    assert built == sorted((ada.pk, ben.pk), reverse=True)


def test_new_settings_and_new_sources_make_a_digest_due_at_once(ada, ben, now, world):
    digests_build(now=now)
    target_pin(reader_id=ada.pk, target=SOURCES[5], pin="locked", ref="", now=now)
    SubscriptionFactory(reader=ben, feed__source__key="new.example", created_at=now + HOUR / 2)
    assert digests_build(now=now + HOUR / 2) == 2
    assert digests_build(now=now + HOUR / 2) == 0


def test_what_breaks_for_one_reader_costs_no_other(ada, ben, now, world, monkeypatch):
    real = services.ranked_day

    def breaks(*, reader, **rest):
        if reader.pk == ada.pk:
            raise RuntimeError("no luck")
        return real(reader=reader, **rest)

    monkeypatch.setattr(services, "ranked_day", breaks)
    assert digests_build(now=now) == 1
    assert [digest.reader for digest in Digest.objects.all()] == [ben]


def test_where_storing_together_fails_each_is_stored_alone(ada, ben, now, world, monkeypatch):
    real, sizes = services.digests_store, []

    def breaks(*, ranked_days, **rest):
        sizes.append(len(ranked_days))
        if len(ranked_days) > 1:
            raise RuntimeError("no luck")
        return real(ranked_days=ranked_days, **rest)

    monkeypatch.setattr(services, "digests_store", breaks)
    assert digests_build(now=now) == 2
    assert sizes == [2, 1, 1]


def test_rated_items_stay_in_a_round_as_well(ada, now, world):
    digests_build(now=now)
    before = shown(ada)[4]
    feedback_set(reader=ada, item_id=before[1], useful=True, now=now)
    ItemFactory(source_id=SOURCES[1], published_at=now + HOUR)
    digests_build(now=now + HOUR)
    after = shown(ada)[4]
    assert after[:3] == before[:3] and after[3] == "kept"


@pytest.mark.parametrize("readers", [2, 20])
def test_a_round_takes_as_many_queries_however_many_readers_share_it(
    now, readers, world, django_assert_max_num_queries
):
    ReaderFactory.create_batch(readers)
    with django_assert_max_num_queries(30):
        assert digests_build(now=now) == readers + 2
