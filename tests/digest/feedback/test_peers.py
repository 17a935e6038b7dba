"""The community's opinion as each reader gets it: from published figures, and only for readers who share."""

import pytest
from django.test import Client

from digest.accounts.services import reader_update
from digest.days import utc_day
from digest.feedback.peers import PERIOD_DAYS, community_deviation, community_opinion, community_rates_many
from digest.feedback.services import weights_update
from digest.models import Reader, SourceFigure
from ranking.selectors import weight_snapshots
from tests.support.community import DAY, DULL, GOOD, item_figure, source_figures, tastes
from tests.support.factories import FeedbackFactory, ItemFactory, SourceFactory

pytestmark = pytest.mark.django_db


def shares(reader: Reader, *, yes: bool) -> None:
    reader_update(
        reader=reader,
        time_zone="UTC",
        ai_enabled=True,
        peers_enabled=yes,
        suggestions_enabled=True,
        learn_from_reading=True,
    )


def test_a_new_reader_gets_the_communitys_opinion_of_each_source(ada, now):
    tastes(now)
    assert community_deviation(reader_id=ada.pk, now=now) == {GOOD: 0.2, DULL: -0.2}


def test_where_everything_is_liked_nothing_is_liked_more_than_usual(ada, now):
    source_figures(now, {GOOD: (90, 100), DULL: (91, 100), "": (900, 1000)})
    assert community_deviation(reader_id=ada.pk, now=now) == {}


def test_figures_of_four_periods_add_up_and_older_ones_are_forgotten(ada, now):
    tastes(now)
    row = SourceFigure.objects.get(source_id=DULL)
    for age, likes in ((2, 100), (3, 100), (4, 100), (5, 0)):
        period = utc_day(now) // PERIOD_DAYS - age
        SourceFigure.objects.create(source_id=DULL, period=period, day=row.day, likes=likes, thumbs=100)
    opinion = community_opinion(reader_id=ada.pk, source=DULL, now=now)
    assert opinion is not None and opinion.thumbs == 400


def test_a_figure_of_tomorrow_is_not_known_today(ada, now):
    tastes(now)
    assert community_deviation(reader_id=ada.pk, now=now - 2 * DAY) == {}


def test_a_reader_who_does_not_share_is_served_nothing_at_once(ada, ben, now, settings):
    tastes(now)
    item = ItemFactory(title="Solar power")
    item_figure(item.pk, now, 90, 100)

    def served(reader: Reader) -> bool:
        rates = community_rates_many(reader_ids=[ada.pk, ben.pk], item_ids=[item.pk], now=now)
        answers = [
            bool(community_deviation(reader_id=reader.pk, now=now)),
            community_opinion(reader_id=reader.pk, source=GOOD, now=now) is not None,
            community_opinion(reader_id=reader.pk, topic="solar", now=now) is not None,
            reader.pk in rates,
        ]
        assert len(set(answers)) == 1
        return answers[0]

    assert served(ada) and served(ben)
    shares(ada, yes=False)
    assert not served(ada) and served(ben)
    shares(ada, yes=True)
    assert served(ada)
    Reader.objects.filter(pk=ben.pk).update(is_active=False)
    assert not served(ben)
    settings.PEERS_ENABLED = False
    assert not served(ada)


def test_opinions_of_a_target_are_coarse_numbers(ada, now):
    source_figures(now, {GOOD: (81, 103), DULL: (10, 100)})
    opinion = community_opinion(reader_id=ada.pk, source=GOOD, now=now)
    assert opinion is not None and (opinion.thumbs, opinion.deviation) == (100, 0.2)
    assert community_opinion(reader_id=ada.pk, source="unheard.example", now=now) is None


def test_opinions_of_a_topic_come_from_published_items_with_its_whole_words(ada, now):
    tastes(now)
    for title, likes in (("Electric cars", 90), ("An electric car at last", 95), ("Said the electrician", 5)):
        item_figure(ItemFactory(title=title).pk, now, likes, 100)
    ItemFactory(title="Electric car, not published")

    def deviation(topic: str) -> float | None:
        opinion = community_opinion(reader_id=ada.pk, topic=topic, now=now)
        return opinion.deviation if opinion else None

    assert (deviation("electric car"), deviation("electrician")) == (0.2, -0.2)
    assert deviation("ectric") is None and deviation("  ") is None


def test_learning_uses_the_communitys_opinion_where_a_reader_rated_little(ada, ben, now):
    tastes(now)
    for reader in (ada, ben):
        for source, likes, dislikes in ((GOOD, 4, 2), ("own.example", 4, 4)):
            for n in range(likes + dislikes):
                item = ItemFactory(source=SourceFactory(key=source))
                FeedbackFactory(reader=reader, item=item, useful=n < likes, at=now - (8 - n) * DAY)
    shares(ben, yes=False)
    assert weights_update(reader_id=ada.pk, now=now) == 1
    (step,) = weight_snapshots(reader_id=ada.pk)
    assert (step.source, step.after > step.before) == (GOOD, True)
    assert weights_update(reader_id=ben.pk, now=now) == 0


def test_the_queries_do_not_grow_with_items_or_readers(ada, ben, now, django_assert_num_queries):
    tastes(now)
    items = [ItemFactory().pk for _ in range(3)]
    for item in items:
        item_figure(item, now, 80, 100)
    # The sharing readers, the figures of sources, those of items.
    for ids, readers in ((items[:1], [ada.pk]), (items, [ada.pk, ben.pk])):
        with django_assert_num_queries(3):
            community_rates_many(reader_ids=readers, item_ids=ids, now=now)
    with django_assert_num_queries(2):
        community_deviation(reader_id=ada.pk, now=now)


def test_the_switch_needs_the_pages_own_form(ada):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ada)
    assert strict.post("/ui/account", {"time_zone": "UTC"}).status_code == 403
    ada.refresh_from_db()
    assert ada.peers_enabled
