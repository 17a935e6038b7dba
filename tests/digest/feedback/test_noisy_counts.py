"""Publication of community figures: which thumbs count, that each counts once, and attacks with a reader's
means."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random

import numpy as np
import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from digest.accounts.services import reader_update
from digest.days import utc_day, utc_day_begin
from digest.feedback import noisy_counts
from digest.feedback.noisy_counts import LOOKBACK_DAYS, community_publish, votes_counted
from digest.feedback.peers import PERIOD_DAYS
from digest.feedback.services import feedback_clear, feedback_set
from digest.feeds.identity import URN_PREFIX
from digest.feeds.services import source_move
from digest.models import CommunityRound, Feed, Feedback, Item, ItemFigure, Reader, SourceFigure
from ranking import community
from tests.support.community import DAY, DULL, GOOD, items_seen, members, rate, source_figures
from tests.support.factories import ReaderFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def exact(monkeypatch) -> None:
    """Switch off noise, and keep every figure with a thumb, to see in which counts a thumb is."""
    monkeypatch.setattr(noisy_counts, "MEMBERS_MIN", 1)
    monkeypatch.setattr(community, "count_least", lambda counted: 1)
    monkeypatch.setattr(
        community, "noise", lambda uniforms, epsilon: np.zeros(uniforms.shape[1], dtype=np.int64)
    )


@pytest.fixture
def seeded(monkeypatch) -> None:
    """Draw the noise from a generator with a seed: other noise each time, and the same in each run."""
    rng = np.random.default_rng(3)
    monkeypatch.setattr(noisy_counts, "uniforms_secret", rng.random)


def shares(reader: Reader, *, yes: bool) -> None:
    reader_update(
        reader=reader,
        time_zone="UTC",
        ai_enabled=True,
        peers_enabled=yes,
        suggestions_enabled=True,
        learn_from_reading=True,
    )


def morning(day: int) -> datetime:
    return utc_day_begin(day) + timedelta(hours=4)


def figures() -> dict[tuple[object, ...], tuple[int, int]]:
    """Everything published so far: the item, or the source and period, with likes and thumbs."""
    items = ItemFigure.objects.values_list("item__url", "likes", "thumbs")
    sources = SourceFigure.objects.values_list("source_id", "period", "likes", "thumbs")
    return {(url,): (likes, n) for url, likes, n in items} | {
        (source, period): (likes, n) for source, period, likes, n in sources
    }


# --- publications ----------------------------------------------------------------------------------


def test_an_item_is_published_two_days_after_it_came_with_the_thumbs_given_before(exact, now):
    readers, day = members(now, 3), utc_day(now)
    (item,) = items_seen(day)
    rate(readers[:2], item, day)
    assert community_publish(now=morning(day + 1)) == {"items": 0, "sources": 0}
    rate(readers[2:], item, day + 1, useful=False)
    late = ReaderFactory()
    rate([late], item, day + 2)
    assert community_publish(now=morning(day + 2))["items"] == 1
    assert figures()[item.url,] == (2, 3)


def test_a_source_is_published_when_a_period_of_28_days_is_two_days_old(exact, now):
    readers, period = members(now, 3), utc_day(now) // PERIOD_DAYS
    last = (period + 1) * PERIOD_DAYS - 1
    for item in items_seen(last - 3, 8):
        rate(readers, item, last - 2)
    community_publish(now=morning(last + 1))
    assert not SourceFigure.objects.filter(period=period).exists()
    community_publish(now=morning(last + 2))
    # Three readers with eight likes each, of which five count.
    assert figures()[GOOD, period] == (15, 15)
    assert figures()[None, period] == (24, 24)


def test_five_thumbs_of_a_reader_on_a_source_count_whatever_they_say():
    rows = [("ada", GOOD, n % 2 == 0) for n in range(9)] + [("ben", GOOD, False)]
    assert votes_counted(rows, 5) == {GOOD: (3, 6)}


def test_a_day_has_one_round_and_a_figure_never_changes(exact, now):
    readers, day = members(now, 3), utc_day(now)
    (item,) = items_seen(day - 2)
    rate(readers, item, day - 1)
    assert community_publish(now=morning(day))["items"] == 1
    before = figures()
    rate(readers, item, day - 1, useful=False)
    for later in (morning(day) + timedelta(hours=9), *(morning(day + n) for n in range(1, 40))):
        community_publish(now=later)
    assert {key: figures()[key] for key in before} == before
    assert CommunityRound.objects.filter(day=day).count() == 1


def test_a_missed_day_is_made_up_for_and_no_item_is_looked_at_twice(exact, now):
    readers, day = members(now, 3), utc_day(now)
    seen = [items_seen(day + n)[0] for n in range(4)]
    community_publish(now=morning(day + 1))
    for n, item in enumerate(seen):
        rate(readers, item, day + n)
    assert community_publish(now=morning(day + 5))["items"] == 4
    spans = list(CommunityRound.objects.order_by("day").values_list("after", "until"))
    assert spans[0][1] == spans[1][0] and len(spans) == 2


def test_rounds_made_at_once_are_one(exact, now, monkeypatch):
    readers, day = members(now, 3), utc_day(now)
    (item,) = items_seen(day - 2)
    rate(readers, item, day - 1)
    atomic = transaction.atomic

    def overtaken() -> object:
        monkeypatch.setattr(transaction, "atomic", atomic)
        # Another process with a faster clock has just begun the same publication.
        CommunityRound.objects.create(day=day + 1, after=day - 2 - LOOKBACK_DAYS, until=day - 1)
        return atomic()

    monkeypatch.setattr(transaction, "atomic", overtaken)
    assert community_publish(now=morning(day)) == {"items": 0, "sources": 0}
    assert not ItemFigure.objects.exists() and CommunityRound.objects.count() == 1


def test_readers_who_are_new_or_rate_little_or_do_not_share_count_for_nothing(exact, now):
    day = utc_day(now)
    counting, silent, gone = members(now, 3)
    (item,) = items_seen(day - 2)
    shares(silent, yes=False)
    Reader.objects.filter(pk=gone.pk).update(is_active=False)
    new = ReaderFactory()
    for n, other in enumerate(items_seen(day - 400, 30)):
        rate([new], other, day - 10 + n % 5)
    few = ReaderFactory()
    for other in Item.objects.filter(source_id="old.example")[:12]:
        rate([few], other, day - 30)
    rate([counting, silent, gone, new, few], item, day - 1)
    community_publish(now=morning(day))
    assert figures()[item.url,] == (1, 1)


def test_with_the_feature_turned_off_nothing_is_published_nor_looked_at(exact, now, settings):
    readers, day = members(now, 2), utc_day(now)
    (item,) = items_seen(day - 2)
    rate(readers, item, day - 1)
    settings.PEERS_ENABLED = False
    assert community_publish(now=morning(day)) == {"items": 0, "sources": 0}
    assert not CommunityRound.objects.exists()


def test_every_item_and_source_of_a_public_feed_gets_a_figure_rated_or_not(now, monkeypatch):
    readers, day = members(now, 20), utc_day(now)
    asked: list[list[tuple[int, int]]] = []

    def watched(likes, thumbs, uniforms):
        asked.append(list(zip(likes.tolist(), thumbs.tolist(), strict=True)))
        return likes, thumbs, thumbs >= 0

    monkeypatch.setattr(noisy_counts, "publish", watched)
    rated, *_ = items_seen(day - 2, 3)
    rate(readers, rated, day - 1)
    (private,), (imported,) = (items_seen(day - 2, source=f"{n}.example") for n in ("own", "history"))
    Feed.objects.filter(pk=private.feed_id).update(owner=readers[0])
    Feed.objects.filter(pk=imported.feed_id).update(url=f"{URN_PREFIX}source:x:history.example")
    for item in (private, imported):
        rate(readers, item, day - 1)
    for n in range(PERIOD_DAYS + 1):
        community_publish(now=morning(day + n))
    assert sorted(asked[0]) == [(0, 0), (0, 0), (20, 20)]
    assert [(0, 0), (20, 20)] in [sorted(one) for one in asked[1:]]
    assert not ItemFigure.objects.filter(item__in=[private, imported]).exists()


def test_a_figure_that_may_be_noise_alone_is_dropped(now, monkeypatch):
    monkeypatch.setattr(
        community, "noise", lambda uniforms, epsilon: np.zeros(uniforms.shape[1], dtype=np.int64)
    )
    readers, day = members(now, 30), utc_day(now)
    few, many, *_ = items_seen(day - 2, 40)
    rate(readers[:5], few, day - 1)
    rate(readers, many, day - 1)
    assert community_publish(now=morning(day))["items"] == 1
    assert {key: found for key, found in figures().items() if key[0]} == {(many.url,): (30, 30)}


def test_with_few_members_nothing_is_published_and_no_page_follows_noise(now):
    readers, day = members(now, 19), utc_day(now)
    (item,) = items_seen(day - 2)
    rate(readers, item, day - 1)
    for n in range(PERIOD_DAYS + 1):
        assert community_publish(now=morning(day + n)) == {"items": 0, "sources": 0}
    assert figures() == {}


def test_a_renamed_source_keeps_its_figures(now):
    source_figures(now, {"old-name.example": (80, 100)})
    source_move(key="old-name.example", into="new-name.example", now=now)
    assert [row.source_id for row in SourceFigure.objects.all()] == ["new-name.example"]


# --- the effect of one thumb: the whole guarantee except for the noise -------------------------------

Act = Callable[[Random, int, list[Reader], list[Item]], None]


def toggle(dice: Random, day: int, readers: list[Reader], items: list[Item]) -> None:
    for reader in dice.sample(readers, 4):
        Reader.objects.filter(pk=reader.pk).update(peers_enabled=dice.random() < 0.5)


def join_or_leave(dice: Random, day: int, readers: list[Reader], items: list[Item]) -> None:
    Reader.objects.filter(pk=dice.choice(readers).pk).update(is_active=dice.random() < 0.5)


def change_mind(dice: Random, day: int, readers: list[Reader], items: list[Item]) -> None:
    rate(dice.sample(readers, 3), dice.choice(items), day, useful=dice.random() < 0.5)


def month_of_attacks(
    now: datetime, seed: int, thumb: bool | None
) -> dict[tuple[object, ...], tuple[int, int]]:
    """Let accomplices act freely for five weeks, with a publication each day.

    The victim gives one thumb, or none. The victim also comes, goes, shares and stops, but shares on the day
    of the thumb.
    """
    dice, day = Random(seed), utc_day(now)
    community_publish(now=morning(day))
    crowd = members(now, 9)
    items: list[Item] = []
    for n in range(36):
        items += items_seen(day + n - 1)
        rate(dice.sample(crowd[1:], 5), items[-1], day + n, useful=dice.random() < 0.5)
        for _ in range(3):
            dice.choice([toggle, join_or_leave])(dice, day + n, crowd, items)
            change_mind(dice, day + n, crowd[1:], items)
        if n == 5:
            Reader.objects.filter(pk=crowd[0].pk).update(peers_enabled=True, is_active=True)
            if thumb is not None:
                rate(crowd[:1], items[n], day + n, useful=thumb)
        community_publish(now=morning(day + n + 1))
    found = figures()
    names = {item.url: n for n, item in enumerate(items)}
    for model in (Feedback, ItemFigure, SourceFigure, CommunityRound, Reader, Item):
        model.objects.all().delete()
    return {(names.get(key[0], key[0]), *key[1:]): counts for key, counts in found.items()}


@pytest.mark.alike
@pytest.mark.parametrize("seed", [1, 2])
def test_a_thumb_is_in_three_figures_at_most_by_one_each_whatever_anybody_does_in_a_month(exact, now, seed):
    like, dislike, none = (month_of_attacks(now, seed, thumb) for thumb in (True, False, None))
    assert len(like) > 20

    def moved(other: dict[tuple[object, ...], tuple[int, int]]) -> list[tuple[int, int]]:
        pairs = ((like.get(key, (0, 0)), other.get(key, (0, 0))) for key in {*like, *other})
        return [(abs(a[0] - b[0]), abs(a[1] - b[1])) for a, b in pairs if a != b]

    assert 0 < len(moved(dislike)) <= 3 and set(moved(dislike)) <= {(1, 0)}
    assert 0 < len(moved(none)) <= 3 and set(moved(none)) <= {(1, 1), (1, 0), (0, 1)}


def test_a_thumb_given_again_on_another_feeds_item_of_the_article_counts_no_second_time(exact, now):
    """Also if the other feed carried it a day, or a period of 28 days, later."""
    (reader, *others), day = members(now, 3), utc_day(now)
    (item,) = items_seen(day - 2)
    days = (day, day + PERIOD_DAYS)
    again = [items_seen(one, source=DULL)[0] for one in days]
    for feed in {one.feed for one in (item, *again)}:
        SubscriptionFactory(reader=reader, feed=feed)
    for twin, seen in ((item, day - 2), *zip(again, days, strict=True)):
        Item.objects.filter(pk=twin.pk).update(article=item.article)
        feedback_clear(reader=reader, item_id=item.pk)
        feedback_set(reader=reader, item_id=twin.pk, useful=True, now=utc_day_begin(seen + 1))
        rate(others, items_seen(seen, source=DULL)[0], seen + 1)
        community_publish(now=morning(seen + 2))
    for n in range(3 * PERIOD_DAYS):
        community_publish(now=morning(day + n))
    assert figures()[item.url,] == (1, 1)
    assert not {(twin.url,) for twin in again} & figures().keys()
    # Two others rated one item a time there.
    assert sum(thumbs for key, (_, thumbs) in figures().items() if key[0] == DULL) == 6


# --- the chain that a reader can walk: switch, page, switch, page -------------------------------------


def figure_on_page(client: Client, item: Item) -> str:
    """Return the item page's figure for other readers' ratings in its current score."""
    page = client.get(f"/ui/item/{item.pk}").content.decode()
    found = re.search(r"how they rated it</td><td>(. \d\.\d\d)<", page)
    return found[1] if found else ""


@pytest.fixture
def clock(now, monkeypatch) -> Callable[[datetime], None]:
    """Set the moment that pages are asked at."""

    def move_to(moment: datetime) -> None:
        monkeypatch.setattr(timezone, "now", lambda: moment)

    move_to(now)
    return move_to


@pytest.fixture
def spied(now, ada, client, clock) -> tuple[list[Reader], Item]:
    """Eighty accomplices and a victim who rated an item, published this morning, that Ada may open."""
    day = utc_day(now)
    readers = members(now, 81)
    (item,) = items_seen(day - 2)
    SubscriptionFactory(reader=ada, feed__source=item.source)
    rate(readers, item, day - 1)
    community_publish(now=morning(day))
    client.force_login(ada)
    return readers, item


def test_accomplices_who_turn_their_sharing_on_and_off_move_nothing_on_a_page(
    seeded, client, spied, clock, now
):
    readers, item = spied
    before = figure_on_page(client, item)
    assert before
    for hidden in (20, 40, 60, 80):
        shares(readers[hidden - 1], yes=False)
        Reader.objects.filter(pk__in=[reader.pk for reader in readers[:hidden]]).update(peers_enabled=False)
        assert figure_on_page(client, item) == before
    Reader.objects.filter(pk__in=[reader.pk for reader in readers[:40]]).update(peers_enabled=True)
    Reader.objects.filter(pk__in=[reader.pk for reader in readers[60:70]]).delete()
    for n in range(1, 4):
        clock(now + n * DAY)
        community_publish(now=now + n * DAY)
        assert figure_on_page(client, item) == before


def test_two_months_of_rounds_draw_the_noise_of_a_figure_once(now, spied):
    _, item = spied
    drawn = set()
    for n in range(60):
        community_publish(now=now + n * DAY)
        drawn.add(figures()[item.url,])
    assert len(drawn) == 1


def test_a_reader_who_stops_sharing_is_served_nothing_at_once_and_counts_in_no_later_figure(
    exact, client, spied, ada, now
):
    readers, item = spied
    shares(ada, yes=False)
    assert figure_on_page(client, item) == ""
    shares(ada, yes=True)
    assert figure_on_page(client, item)
    shares(readers[0], yes=False)
    (later,) = items_seen(utc_day(now) - 1)
    rate(readers, later, utc_day(now) - 1)
    community_publish(now=now + DAY)
    assert figures()[later.url,] == (80, 80)
