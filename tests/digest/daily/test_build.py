"""A digest is the best thirty of a reader's week, for one of their days, and building it again is safe."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from digest.daily.compose import Rules
from digest.daily.selectors import digest_for, digest_impressions
from digest.daily.services import digest_build
from digest.errors import FutureDate
from digest.feedback.services import feedback_set
from digest.models import Digest, Exposure, Impression, Item, Reader, Source, Story
from ranking.services import ConfigEdit, config_edit, target_pin
from tests.support.accepts import source_weight_set
from tests.support.factories import FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory

TODAY = date(2026, 3, 18)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def subscribe(reader: Reader, key: str) -> Source:
    source = SourceFactory(key=key)
    SubscriptionFactory(reader=reader, feed=FeedFactory(source=source))
    return source


def shown(digest: Digest) -> list[int]:
    """Return the item ids of a digest, by rank."""
    return list(digest.impressions.order_by("rank").values_list("item_id", flat=True))


def rows(digest: Digest) -> list[tuple]:
    return list(digest.impressions.order_by("rank").values_list("item_id", "rank", "score", "propensity"))


@pytest.fixture
def item_ids(ada, now) -> list[int]:
    """Ids of forty items of Ada's only source, newest first: an hour apart each."""
    source = subscribe(ada, "mine.example")
    return [ItemFactory(source=source, published_at=now - n * HOUR).id for n in range(40)]


def test_a_digest_shows_the_best_thirty_with_rank_score_and_parts(ada, now, item_ids):
    digest = digest_build(reader=ada, date=TODAY, now=now)
    assert shown(digest) == item_ids[:30]
    first = digest.impressions.get(rank=1)
    assert (first.score, first.propensity) == (1.0, 1.0)
    assert first.parts["source_weight"] * first.parts["recency"] * first.parts["interest"] == first.score
    assert (digest.config_version, digest.built_at) == (0, now)


def test_settings_decide_the_order(ada, now, item_ids):
    config_edit(reader_id=ada.id, edit=ConfigEdit(keyword_boosts={"zebra": 5.0}), expected_version=0, now=now)
    zebra = ItemFactory(source_id="mine.example", title="A zebra", published_at=now - 30 * HOUR)
    digest = digest_build(reader=ada, date=TODAY, now=now)
    assert shown(digest)[0] == zebra.id
    assert digest.impressions.get(rank=1).parts["boosts"] == {"zebra": 5.0}
    assert digest.config_version == 1


def test_building_again_with_nothing_changed_writes_nothing(
    ada, now, item_ids, django_assert_max_num_queries
):
    first = digest_build(reader=ada, date=TODAY - DAY, now=now)
    before = list(Impression.objects.order_by("pk").values())
    again = digest_build(reader=ada, date=TODAY - DAY, now=now + HOUR)
    assert (again.pk, again.built_at) == (first.pk, now)
    assert list(Impression.objects.order_by("pk").values()) == before


def test_a_rebuild_takes_in_what_is_new(ada, now, item_ids):
    digest_build(reader=ada, date=TODAY, now=now)
    new = ItemFactory(source_id="mine.example", published_at=now + HOUR)
    again = digest_build(reader=ada, date=TODAY, now=now + HOUR)
    assert shown(again) == [new.id, *item_ids[:29]]
    assert Digest.objects.count() == 1 and again.built_at == now + HOUR


def test_what_was_rated_stays_where_it_stood_as_it_was_shown(ada, now, item_ids):
    digest = digest_build(reader=ada, date=TODAY, now=now)
    earlier = rows(digest)[4]
    feedback_set(reader=ada, item_id=item_ids[4], useful=False, now=now)
    for n in range(3):
        ItemFactory(source_id="mine.example", published_at=now + n * timedelta(minutes=5))
    again = digest_build(reader=ada, date=TODAY, now=now + HOUR)
    assert rows(again)[4] == earlier
    assert [i for i in shown(again) if i in item_ids] == [
        *item_ids[:1],
        item_ids[4],
        *item_ids[1:4],
        *item_ids[5:28],
    ]
    assert [rank for _, rank, *_ in rows(again)] == list(range(1, 32)), "thirty beside the one not useful"


def test_a_rated_item_stays_even_when_its_source_was_left(ada, now, item_ids):
    other = ItemFactory(source=subscribe(ada, "left.example"), published_at=now - HOUR / 2)
    digest = digest_build(reader=ada, date=TODAY, now=now)
    assert shown(digest)[1] == other.id
    feedback_set(reader=ada, item_id=other.id, useful=True, now=now)
    ada.subscriptions.filter(feed__source_id="left.example").delete()
    assert shown(digest_build(reader=ada, date=TODAY, now=now))[1] == other.id


def test_bens_thumb_holds_no_place_in_adas_digest(ada, ben, now, item_ids):
    digest_build(reader=ada, date=TODAY, now=now)
    subscribe(ben, "mine.example")
    feedback_set(reader=ben, item_id=item_ids[4], useful=True, now=now)
    ItemFactory(source_id="mine.example", published_at=now)
    again = digest_build(reader=ada, date=TODAY, now=now)
    assert item_ids[4] != shown(again)[4]


def test_ben_never_sees_what_only_ada_reads(ada, ben, now, item_ids):
    theirs = ItemFactory(source=subscribe(ben, "theirs.example"))
    assert shown(digest_build(reader=ben, date=TODAY, now=now)) == [theirs.id]
    assert theirs.id not in shown(digest_build(reader=ada, date=TODAY, now=now))
    assert digest_for(reader_id=ben.id, date=TODAY).reader == ben


def test_a_digest_built_under_newer_settings_is_not_replaced_by_an_older_build(ada, now, item_ids):
    source_weight_set(reader_id=ada.id, source="mine.example", weight=1.3, ref="", now=now)
    digest = digest_build(reader=ada, date=TODAY, now=now)
    Digest.objects.filter(pk=digest.pk).update(config_version=9)
    ItemFactory(source_id="mine.example", published_at=now)
    assert shown(digest_build(reader=ada, date=TODAY, now=now)) == item_ids[:30]


def test_new_settings_are_noted_even_when_they_move_nothing(ada, now, item_ids):
    digest_build(reader=ada, date=TODAY, now=now)
    source_weight_set(reader_id=ada.id, source="elsewhere", weight=1.3, ref="", now=now)
    assert digest_build(reader=ada, date=TODAY, now=now).config_version == 1


def test_a_reader_without_sources_gets_an_empty_digest(ben, now):
    assert shown(digest_build(reader=ben, date=TODAY, now=now)) == []


# --- days -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
@pytest.mark.parametrize(
    "day",
    [date(2026, 3, 8), date(2026, 3, 29), date(2026, 10, 25), date(2026, 11, 1), date(2026, 6, 1)],
)
def test_a_past_day_ends_at_the_readers_midnight_clock_changes_included(ben, zone, day):
    ben.time_zone = zone
    source = subscribe(ben, "mine.example")
    midnight = datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)) + DAY  # wall clock
    last = ItemFactory(source=source, published_at=midnight.astimezone(UTC) - timedelta(seconds=1))
    ItemFactory(source=source, published_at=midnight.astimezone(UTC) + timedelta(seconds=1))
    digest = digest_build(reader=ben, date=day, now=datetime(2026, 12, 1, tzinfo=UTC))
    assert shown(digest) == [last.id]
    assert digest.impressions.get().score == pytest.approx(1.0, abs=1e-4)


def test_the_same_moment_is_another_day_for_another_reader(ada, ben):
    late = datetime(2026, 3, 18, 23, 30, tzinfo=UTC)  # past midnight in Berlin, evening in New York
    assert digest_build(reader=ada, date=date(2026, 3, 19), now=late).date == date(2026, 3, 19)
    with pytest.raises(FutureDate):
        digest_build(reader=ben, date=date(2026, 3, 19), now=late)
    assert not Digest.objects.filter(reader=ben).exists()


# --- reading it back --------------------------------------------------------------------------------


def test_impressions_come_by_rank_with_item_source_and_the_readers_own_thumb(
    ada, ben, now, item_ids, django_assert_num_queries
):
    digest = digest_build(reader=ada, date=TODAY, now=now)
    feedback_set(reader=ada, item_id=item_ids[1], useful=False, tags=["hype"], now=now)
    subscribe(ben, "mine.example")
    feedback_set(reader=ben, item_id=item_ids[0], useful=True, now=now)
    with django_assert_num_queries(5):  # mutes, impressions, own names, thumbs, their reasons
        first, second, *_ = digest_impressions(digest=digest, now=timezone.now())
        assert (first.item.source.key, first.thumb) == ("mine.example", None)
        assert (second.thumb.useful, second.thumb.tags) == (False, ("hype",))


@pytest.mark.parametrize("count", [10, 1_000])
def test_a_build_takes_as_many_queries_however_many_items_there_are(
    ada, now, count, django_assert_num_queries
):
    source = subscribe(ada, "mine.example")
    ItemFactory.create_batch(count, source=source)
    digest = digest_build(reader=ada, date=TODAY, now=now)
    feedback_set(reader=ada, item_id=shown(digest)[0], useful=True, now=now)
    # config, deltas; candidates, latest of new feeds, thumbs and showings by source, signals; savepoint,
    # digests made and locked, impressions; delete, insert, digest; release; gone items: ratings, readings,
    # earlier pages, and today's page, because something was rated today
    with django_assert_num_queries(26):
        digest_build(reader=ada, date=TODAY, now=now + HOUR)


# --- more than the score ----------------------------------------------------------------------------


@pytest.fixture
def loud_and_quiet(ada, now) -> dict[str, list[int]]:
    """Forty items of each of three loud sources, and one old item of each of two quiet ones."""
    made: dict[str, list[int]] = {}
    for key in ("loud0.example", "loud1.example", "loud2.example"):
        source = subscribe(ada, key)
        made[key] = [ItemFactory(source=source, published_at=now - n * HOUR / 10).id for n in range(40)]
    for key in ("quiet0.example", "quiet1.example"):
        made[key] = [ItemFactory(source=subscribe(ada, key), published_at=now - 6 * DAY).id]
    return made


def test_a_source_little_is_known_of_is_drawn_with_its_chance_logged(ada, now, loud_and_quiet):
    digest = digest_build(reader=ada, date=TODAY, now=now)
    drawn = list(digest.impressions.filter(slot="novelty").order_by("rank"))
    assert [row.rank for row in drawn] == [10, 20]  # two slots, since there are two such sources
    quiet = {*loud_and_quiet["quiet0.example"], *loud_and_quiet["quiet1.example"]}
    assert {row.item_id for row in drawn} == quiet
    assert {row.propensity for row in drawn} == {1.0}


def test_a_draw_stays_put_when_the_digest_is_built_again(ada, now, loud_and_quiet):
    for n in range(2, 9):
        ItemFactory(source=subscribe(ada, f"quiet{n}.example"), published_at=now - 6 * DAY)
    for n in range(3, 15):  # enough to fill the digest with their shares
        loud = subscribe(ada, f"loud{n}.example")
        for hours in range(3):
            ItemFactory(source=loud, published_at=now - hours * HOUR)
    first = rows(digest_build(reader=ada, date=TODAY, now=now))
    assert first[9][3] == pytest.approx(3 / 9)
    subscribe(ada, "quiet9.example")
    for n in range(5):
        ItemFactory(source_id=f"quiet{n}.example", published_at=now - 5 * DAY)
    ItemFactory(source_id="quiet9.example", published_at=now - 5 * DAY)
    again = rows(digest_build(reader=ada, date=TODAY, now=now + HOUR))
    assert [(again[n][0], again[n][3]) for n in (9, 19, 29)] == [
        (first[n][0], first[n][3]) for n in (9, 19, 29)
    ]


def test_a_source_with_five_thumbs_or_ten_showings_is_known(ada, ben, now, loud_and_quiet):
    subscribe(ben, "quiet1.example")
    for _ in range(5):
        for reader, key in ((ada, "quiet0.example"), (ben, "quiet1.example")):
            old = ItemFactory(source_id=key, published_at=now - 20 * DAY)
            feedback_set(reader=reader, item_id=old.id, useful=True, now=now)
    digest = digest_build(reader=ada, date=TODAY, now=now)
    assert list(digest.impressions.filter(slot="novelty").values_list("item__source", flat=True)) == [
        "quiet1.example"
    ]
    for n in range(10):
        seen = ItemFactory(source_id="quiet1.example", published_at=now - 20 * DAY)
        Exposure.objects.create(
            reader=ada, item=seen, date=TODAY - DAY, door="page", rank=n + 1, slot="ranked", propensity=1,
            score=1, config_version=0, shown_at=now - DAY,
        )  # fmt: skip
    assert not digest_build(reader=ada, date=TODAY, now=now).impressions.filter(slot="novelty").exists()


def test_an_avoided_source_is_not_drawn_but_ranks_as_before(ada, now, loud_and_quiet):
    target_pin(reader_id=ada.pk, target="quiet0.example", pin="avoided", ref="", now=now)
    target_pin(reader_id=ada.pk, target="loud0.example", pin="avoided", ref="", now=now)
    digest = digest_build(reader=ada, date=TODAY, now=now)
    drawn = digest.impressions.filter(slot="novelty").values_list("item__source", flat=True)
    assert list(drawn) == ["quiet1.example"]
    assert shown(digest)[0] == loud_and_quiet["loud0.example"][0]


def test_a_story_is_shown_once_and_its_mates_are_counted(ada, now, item_ids):
    story = Story.objects.create(created_at=now, last_item_at=now)
    same = {"story": story, "title": "Ferry strike ends at harbour"}
    mate = ItemFactory(source=subscribe(ada, "other.example"), published_at=now - HOUR / 2, **same)
    Item.objects.filter(pk=item_ids[0]).update(**same)
    digest = digest_build(reader=ada, date=TODAY, now=now)
    assert item_ids[0] in shown(digest) and mate.id not in shown(digest)
    assert digest.left_out["same_story"] == 1


def test_a_plain_build_is_the_order_of_the_score(ada, now, loud_and_quiet):
    digest = digest_build(reader=ada, date=TODAY, now=now, rules=Rules.score_only(50))
    best = [loud_and_quiet[f"loud{n % 3}.example"][n // 3] for n in range(50)]
    assert shown(digest) == best
    assert set(digest.impressions.values_list("slot", flat=True)) == {"ranked"}
