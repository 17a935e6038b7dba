"""Opinions of other readers: sums over at least five, and nothing about a single one."""

from datetime import datetime, timedelta

import pytest
from django.test import Client

from digest.accounts.services import reader_update
from digest.feedback.peers import community_deviation, peer_deviations, peers_cache_clear, target_opinions
from digest.feedback.services import weights_update
from digest.models import Feedback, Item, Reader
from ranking.crowd import READERS_MIN, influence_max
from ranking.selectors import weight_snapshots
from tests.support.factories import FeedbackFactory, ItemFactory, ReaderFactory, SourceFactory

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
GOOD, DULL = "good.example", "dull.example"


def rated(
    reader: Reader, source: str, likes: int, dislikes: int, now: datetime, *, first: int = 30, title: str = ""
) -> None:
    """Thumbs on as many items of the source, a day apart from `first` days ago on; items are shared."""
    row = SourceFactory(key=source)
    urls = [f"https://{source}/{title}{n}" for n in range(likes + dislikes)]
    there = set(row.items.filter(url__in=urls).values_list("url", flat=True))
    Item.objects.bulk_create(
        ItemFactory.build(source=row, url=url, **({"title": f"{title} number {n}"} if title else {}))
        for n, url in enumerate(urls)
        if url not in there
    )
    items = {item.url: item for item in row.items.filter(url__in=urls)}
    Feedback.objects.bulk_create(
        FeedbackFactory.build(
            reader=reader, item=items[url], useful=n < likes, at=now - (first - n % 20) * DAY
        )
        for n, url in enumerate(urls)
    )


def member(
    now: datetime, *, good: tuple[int, int] = (9, 1), dull: tuple[int, int] = (1, 9), **more
) -> Reader:
    """A reader who counts: twenty thumbs on ten days, since a month."""
    reader = ReaderFactory(**more)
    rated(reader, GOOD, *good, now)
    rated(reader, DULL, *dull, now)
    return reader


@pytest.fixture
def crowd(now) -> list[Reader]:
    """Eight readers of one mind: they like one source and not the other."""
    return [member(now) for _ in range(8)]


def community(reader: Reader, now: datetime) -> dict[str, float]:
    peers_cache_clear()
    return community_deviation(reader_id=reader.pk, now=now)


def test_a_new_reader_gets_the_others_opinion_of_each_source(ada, now, crowd):
    opinions = community(ada, now)
    # Eight readers with five votes each at .4 above and below their base rate of a half, shrunk by 20.
    assert opinions[GOOD] == pytest.approx(0.4 * 40 / 60, abs=0.08) and opinions[GOOD] <= 0.2
    assert opinions[DULL] == -opinions[GOOD]


def test_generous_and_strict_readers_have_the_same_opinion(ada, now):
    for n in range(8):
        reader = ReaderFactory()
        good, dull = ((10, 0), (10, 0)) if n % 2 else ((0, 10), (0, 10))
        rated(reader, GOOD, *good, now)
        rated(reader, DULL, *dull, now)
    assert community(ada, now) == {}


def test_the_readers_own_ratings_do_not_count(now, crowd):
    for reader in crowd[READERS_MIN:]:
        reader.delete()
    # Four others and oneself: with one's own thumbs it would be five.
    assert community(crowd[0], now) == {}
    assert community(ReaderFactory(), now) != {}


@pytest.mark.parametrize("members", [READERS_MIN - 1, READERS_MIN])
def test_below_five_readers_there_is_nothing(ada, now, members):
    for _ in range(members):
        member(now)
    for _ in range(5):
        ReaderFactory()  # readers who rate nothing hide nobody
    assert bool(community(ada, now)) is (members >= READERS_MIN)


def test_a_reader_who_stops_sharing_is_excluded_at_once(ada, now, crowd):
    before = community_deviation(reader_id=ada.pk, now=now)
    assert before
    for reader in crowd[: len(crowd) - READERS_MIN + 1]:
        reader_update(
            reader=reader, time_zone="UTC", ai_enabled=True, peers_enabled=False, suggestions_enabled=True
        )
    # No `peers_forget` here: the cache must not count them either.
    assert community_deviation(reader_id=ada.pk, now=now) == {}


def test_a_reader_who_does_not_share_gets_nothing(now, crowd, settings):
    reader = crowd[0]
    assert community(reader, now) and peer_deviations(reader_id=reader.pk, now=now) == {}
    reader_update(
        reader=reader, time_zone="UTC", ai_enabled=True, peers_enabled=False, suggestions_enabled=True
    )
    assert community(reader, now) == {}
    assert target_opinions(reader_id=reader.pk, source=GOOD, now=now).community is None
    reader_update(
        reader=reader, time_zone="UTC", ai_enabled=True, peers_enabled=True, suggestions_enabled=True
    )
    settings.PEERS_ENABLED = False
    assert community(reader, now) == {}


def test_a_deleted_or_inactive_account_is_excluded_at_once(ada, now, crowd):
    assert community_deviation(reader_id=ada.pk, now=now)
    for reader in crowd[:3]:
        reader.delete()
    Reader.objects.filter(pk=crowd[3].pk).update(is_active=False)
    assert community_deviation(reader_id=ada.pk, now=now) == {}


def test_a_hundred_new_accounts_change_nothing(ada, now, crowd):
    before = community(ada, now)
    for n in range(100):
        reader = ReaderFactory()
        if n % 2:
            rated(reader, GOOD, 0, 20, now, first=10)  # many thumbs, but only since ten days
        else:
            rated(reader, GOOD, 0, 12, now)  # an old hand with few thumbs
    assert community(ada, now) == before


def test_a_reader_with_many_ratings_counts_like_any_other(ada, now, crowd):
    before = community(ada, now)[DULL]
    loud = member(now, dull=(10, 0))
    for day in range(2, 29):
        rated(loud, DULL, 0, 0, now)
        row = SourceFactory(key=DULL)
        for n in range(10):
            item = ItemFactory(source=row, url=f"https://{DULL}/loud{day}-{n}")
            FeedbackFactory(reader=loud, item=item, at=now - day * DAY)
    assert abs(community(ada, now)[DULL] - before) <= influence_max(8 * 5.0) + 0.05


@pytest.mark.parametrize("opinion", [(10, 0), (5, 5), (0, 10)])
def test_one_reader_more_or_less_moves_a_figure_by_no_more_than_the_bound(ada, now, crowd, opinion):
    without = community(ada, now)
    victim = member(now, good=opinion)
    rated(victim, "other.example", 5, 5, now)
    with_victim = community(ada, now)
    bound = influence_max(8 * 3.0) + 0.05  # rounding to steps of .05 adds half a step on either side
    assert abs(with_victim.get(GOOD, 0) - without.get(GOOD, 0)) <= bound
    reader_update(
        reader=victim, time_zone="UTC", ai_enabled=True, peers_enabled=False, suggestions_enabled=True
    )
    assert community(ada, now) == without


def test_in_a_larger_crowd_one_reader_moves_a_figure_by_a_step_at_most():
    assert influence_max(50 * 3.0) < 0.055
    assert influence_max(200 * 3.0) < 0.02


def test_a_single_rating_never_shows(ada, now, crowd):
    victim = member(now)
    before = community(ada, now)
    Feedback.objects.filter(reader=victim, item__url=f"https://{GOOD}/0").update(useful=False)
    assert community(ada, now) == before


def test_todays_ratings_count_from_tomorrow(ada, now, crowd):
    for reader in crowd:
        for n in range(5):
            row = SourceFactory(key="late.example")
            item = row.items.filter(title=str(n)).first() or ItemFactory(source=row, title=str(n))
            FeedbackFactory(reader=reader, item=item, at=now)
    assert "late.example" not in community(ada, now)
    assert community(ada, now + DAY)["late.example"] > 0


def test_older_ratings_imported_later_count(ada, now, crowd):
    assert "import.example" not in community_deviation(reader_id=ada.pk, now=now)
    for reader in crowd:
        rated(reader, "import.example", 10, 0, now)
    assert community_deviation(reader_id=ada.pk, now=now)["import.example"] > 0


def two_camps(now: datetime) -> tuple[list[Reader], list[Reader]]:
    """Seven readers who like one source, seven who like the other; each camp shares most of its items."""
    camps = [
        [member(now, good=(10, 0), dull=(0, 10)) for _ in range(7)],
        [member(now, good=(0, 10), dull=(10, 0)) for _ in range(7)],
    ]
    for side, camp in enumerate(camps):
        for n, reader in enumerate(camp):
            rated(reader, f"own{side}{n}.example", 6, 0, now, title=f"own{side}{n}")
    return camps[0], camps[1]


def test_similar_readers_decide_where_the_community_is_divided(now):
    mine, theirs = two_camps(now)
    assert max(abs(community(camp[0], now).get(GOOD, 0)) for camp in (mine, theirs)) <= 0.1
    assert peer_deviations(reader_id=mine[0].pk, now=now)[GOOD] > 0.1
    assert peer_deviations(reader_id=theirs[0].pk, now=now)[GOOD] < -0.1


def test_a_hundred_copies_of_a_victim_make_no_peers_of_one(now):
    victim = member(now)
    for _ in range(20):
        member(now)  # the same thumbs on the same items
    peers_cache_clear()
    assert peer_deviations(reader_id=victim.pk, now=now) == {}
    assert target_opinions(reader_id=victim.pk, source=GOOD, now=now).peers is None


def test_four_accomplices_do_not_see_a_victim_as_their_fifth_among_copies(now):
    accomplices = [member(now) for _ in range(4)]
    victim = member(now)
    rated(victim, "secret.example", 6, 0, now)
    peers_cache_clear()
    # The victim's own source has one reader: no figure, for anybody.
    for spy in accomplices:
        assert "secret.example" not in community(spy, now)
        # Three accomplices and the victim are four others.
        assert community(spy, now) == {}


def test_opinions_of_a_target_carry_coarse_numbers_only(ada, now, crowd):
    opinions = target_opinions(reader_id=ada.pk, source=GOOD, now=now).community
    assert (opinions.readers, opinions.votes % 5, opinions.deviation) == (5, 0, 0.2)
    assert target_opinions(reader_id=ada.pk, source="unheard.example", now=now).community is None


def test_opinions_of_a_topic_use_whole_words_in_titles(ada, now, crowd):
    for reader in crowd:
        rated(reader, "mixed.example", 5, 0, now, title="Electric cars")
        rated(reader, "mixed.example", 0, 5, now, title="Said the electrician")
    peers_cache_clear()
    assert target_opinions(reader_id=ada.pk, topic="electric car", now=now).community.deviation > 0.1
    assert target_opinions(reader_id=ada.pk, topic="electrician", now=now).community.deviation < -0.1
    assert target_opinions(reader_id=ada.pk, topic="ectric", now=now).community is None
    assert target_opinions(reader_id=ada.pk, topic="  ", now=now).community is None


def test_learning_uses_the_others_opinion_where_a_reader_rated_little(ada, ben, now, crowd):
    for reader in (ada, ben):
        rated(reader, GOOD, 4, 2, now, first=8)
        rated(reader, "own.example", 4, 4, now, first=8)
    reader_update(reader=ben, time_zone="UTC", ai_enabled=True, peers_enabled=False, suggestions_enabled=True)
    assert weights_update(reader_id=ada.pk, now=now) == 1
    (step,) = weight_snapshots(reader_id=ada.pk)
    assert (step.source, step.after > step.before) == (GOOD, True)
    assert weights_update(reader_id=ben.pk, now=now) == 0


@pytest.mark.parametrize("members", [8, 24])
def test_the_queries_do_not_grow_with_the_readers(ada, now, members, django_assert_num_queries):
    for _ in range(members):
        member(now)
    peers_cache_clear()
    # who does not share, readers; the last thumb, members, cells, likes
    with django_assert_num_queries(6):
        community_deviation(reader_id=ada.pk, now=now)
    with django_assert_num_queries(3):
        peer_deviations(reader_id=ada.pk, now=now)


def test_the_switch_needs_the_pages_own_form(ada):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ada)
    assert strict.post("/ui/account", {"time_zone": "UTC"}).status_code == 403
    ada.refresh_from_db()
    assert ada.peers_enabled
