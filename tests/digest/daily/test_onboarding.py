"""The interview on a database: which questions may come, the effect of answers, and the undo."""

from datetime import timedelta

import pytest

from digest.daily.onboarding import headlines_askable, interview_finish, interview_offered, question_next
from digest.daily.selectors import digest_for
from digest.daily.services import digest_current
from digest.feedback.services import feedback_set
from digest.feeds.identity import article_hash
from digest.items.vectors import item_vectors_update
from digest.models import Digest, Feedback, Subscription
from ranking.entities import Mute
from ranking.models import WeightSnapshot
from ranking.selectors import config_effective
from ranking.services import mute_set
from suggestions.proposals import Refusal
from suggestions.services.resolve import change_undo
from tests.support.factories import FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
WORDS = {"tea.example": "kettle brewing leaves", "cars.example": "engine gearbox turbo"}


def feed_of(reader, key: str, **fields: object) -> Subscription:
    return SubscriptionFactory(reader=reader, feed=FeedFactory(source=SourceFactory(key=key)), **fields)


def items_of(key: str, count: int, now, **fields: object):
    words = WORDS.get(key, "plain")
    return [
        ItemFactory(
            **{
                "source": SourceFactory(key=key),
                "title": f"{words} {key} {n}",
                "published_at": now - (n + 1) * HOUR,
                **fields,
            }
        )
        for n in range(count)
    ]


def asked_of(reader, now) -> set[int]:
    return {one.item_id for one in headlines_askable(reader=reader, now=now).headlines}


def order(reader, now) -> list[int]:
    digest = digest_current(reader=reader, date=now.date(), now=now)
    assert digest is not None
    return list(digest.impressions.order_by("rank").values_list("item_id", flat=True))


def answered(reader, now, liked: str, count: int = 20) -> list[int]:
    """The reader likes one source and nothing else; every question in turn."""
    asked, rated = [], []
    for _ in range(count):
        question = question_next(reader=reader, asked=asked, current=None, now=now)
        if question is None:
            break
        headline = question.headline
        useful = headline.source == liked
        feedback_set(
            reader=reader,
            item_id=headline.item_id,
            useful=useful,
            now=now,
            origin="interview",
            propensity=question.propensity,
        )
        asked.append(headline)
        rated.append(headline.item_id)
    return rated


@pytest.fixture
def reading(ada, now):
    """Ada, with today's page of two sources that differ in their words."""
    for key in WORDS:
        feed_of(ada, key)
        items_of(key, 30, now)
    item_vectors_update(now=now)
    digest_current(reader=ada, date=now.date(), now=now)
    return ada


def test_what_is_rated_muted_old_or_of_others_feeds_is_not_asked(ada, ben, now):
    feed_of(ada, "a.example")
    fresh, rated, muted, old = items_of("a.example", 4, now)
    feed_of(ben, "b.example")
    items_of("b.example", 1, now)
    feedback_set(reader=ada, item_id=rated.pk, useful=True, now=now)
    mute_set(reader_id=ada.pk, mute=Mute("phrase", muted.title), now=now)
    old.dated_at = now - timedelta(days=31)
    old.save()
    assert asked_of(ada, now) == {fresh.pk}


def test_an_article_that_was_rated_in_one_feed_is_not_asked_in_another(ada, now):
    for key in ("a.example", "b.example"):
        feed_of(ada, key)
    twin = {"url": "https://a.example/one", "article": article_hash("https://a.example/one")}
    first = items_of("a.example", 1, now, guid="a", own=True, **twin)[0]
    items_of("b.example", 1, now, guid="b", **twin)
    assert asked_of(ada, now) == {first.pk}
    feedback_set(reader=ada, item_id=first.pk, useful=True, now=now)
    assert asked_of(ada, now) == set()


def test_a_busy_feed_does_not_hide_a_quiet_one(ada, now):
    for key in ("busy.example", "quiet.example"):
        feed_of(ada, key)
    items_of("busy.example", 40, now)
    quiet = items_of("quiet.example", 1, now, published_at=now - timedelta(days=20))
    askable = headlines_askable(reader=ada, now=now)
    assert quiet[0].pk in {one.item_id for one in askable.headlines}
    assert len(askable.headlines) == 21
    assert askable.waiting == {"busy.example": 40, "quiet.example": 1}


@pytest.mark.parametrize("count", [2, 120])
def test_a_question_costs_as_many_queries_whatever_there_is_to_ask(
    ada, now, count, django_assert_num_queries
):
    for n in range(3):
        feed_of(ada, f"s{n}.example")
        items_of(f"s{n}.example", count, now)
    mute_set(reader_id=ada.pk, mute=Mute("word", "zeppelin"), now=now)
    with django_assert_num_queries(6):  # two for meaning: the known ones, and the vectors
        assert question_next(reader=ada, asked=[], current=None, now=now)


def test_an_open_question_stays_until_it_may_be_asked_no_more(reading, now):
    question = question_next(reader=reading, asked=[], current=None, now=now)
    assert question is not None
    assert question_next(reader=reading, asked=[], current=question, now=now + HOUR) == question
    feedback_set(reader=reading, item_id=question.headline.item_id, useful=True, now=now)
    assert question_next(reader=reading, asked=[], current=question, now=now + HOUR) != question


def test_an_answer_is_a_thumb_with_its_origin_until_reading_changes_it(reading, now):
    [item_id] = answered(reading, now, "tea.example", count=1)
    answer = Feedback.objects.get()
    assert (answer.origin, answer.item_id) == ("interview", item_id)
    assert answer.propensity is not None and 0 < answer.propensity <= 1
    feedback_set(reader=reading, item_id=item_id, useful=not answer.useful, now=now + HOUR)
    answer.refresh_from_db()
    assert (answer.origin, answer.propensity) == ("reading", None)


def test_answers_move_todays_digest_and_undo_takes_all_of_it_back(reading, now):
    before, weights = order(reading, now), config_effective(reader_id=reading.pk).weights()
    rated = answered(reading, now, "tea.example")
    change = interview_finish(reader=reading, item_ids=rated, now=now)
    assert change is not None and change.moved > 0 and change.answers == tuple(rated)
    # Ten answers on each source are enough for its weight.
    assert change.cycle and config_effective(reader_id=reading.pk).weight("tea.example") > 1
    seen = [item for item in order(reading, now) if item in change.after]
    assert seen == list(change.after) != before, "but for what is folded away"
    assert change_undo(reader=reading, version=0, cycle=change.cycle, now=now) is None
    assert Feedback.objects.count() == 0
    assert {k: v for k, v in config_effective(reader_id=reading.pk).weights().items() if v != 1} == weights
    assert order(reading, now) == before
    assert isinstance(change_undo(reader=reading, version=0, cycle=change.cycle, now=now), Refusal)


def test_what_was_called_not_useful_counts_in_no_place_that_is_told(reading, now):
    """It is folded away, so a page shows the others one place higher."""
    before = order(reading, now)
    first, *others = answered(reading, now, "tea.example", count=4)
    disliked = before[0]
    feedback_set(reader=reading, item_id=disliked, useful=False, now=now)
    change = interview_finish(reader=reading, item_ids=[first, *others], now=now)
    assert change is not None and disliked not in {*change.before, *change.after}
    asked = interview_finish(reader=reading, item_ids=[first, *others, disliked], now=now)
    assert asked is not None and disliked in asked.before and disliked not in asked.after


def test_few_answers_begin_no_learning_cycle_and_undo_leaves_other_thumbs(reading, now):
    kept = items_of("tea.example", 1, now)[0]
    feedback_set(reader=reading, item_id=kept.pk, useful=True, now=now)
    rated = answered(reading, now, "tea.example", count=3)
    change = interview_finish(reader=reading, item_ids=rated, now=now)
    assert change is not None and not change.cycle
    assert not WeightSnapshot.objects.exists()
    assert change_undo(reader=reading, version=0, cycle="", now=now) is None
    assert [row.item_id for row in Feedback.objects.all()] == [kept.pk]


def test_without_answers_nothing_is_said_of_the_digest(reading, now):
    assert interview_finish(reader=reading, item_ids=[], now=now) is None
    digest = digest_for(reader_id=reading.pk, date=now.date())
    assert digest is not None and digest.change is None


def test_undo_of_ada_takes_nothing_of_bens(reading, ben, now):
    feed_of(ben, "tea.example")
    Digest.objects.all().delete()
    mine = answered(ben, now, "tea.example", count=2)
    digest_current(reader=reading, date=now.date(), now=now)
    rated = answered(reading, now, "tea.example", count=2)
    interview_finish(reader=reading, item_ids=rated + mine, now=now)
    assert change_undo(reader=reading, version=0, cycle="", now=now) is None
    assert Feedback.objects.filter(reader=ben).count() == 2
    assert not Feedback.objects.filter(reader=reading).exists()


def test_it_is_offered_after_several_feeds_were_added_until_twenty_thumbs(ada, now):
    feed_of(ada, "old.example", created_at=now - timedelta(days=9))
    for n in range(2):
        feed_of(ada, f"s{n}.example", created_at=now - HOUR)
    assert not interview_offered(reader=ada, now=now)
    feed_of(ada, "s2.example", created_at=now - HOUR)
    assert interview_offered(reader=ada, now=now)
    assert not interview_offered(reader=ada, now=now + timedelta(days=4))
    for item in items_of("s0.example", 20, now):
        feedback_set(reader=ada, item_id=item.pk, useful=True, now=now)
    assert not interview_offered(reader=ada, now=now)


@pytest.mark.parametrize("feeds", [1, 2])
def test_who_has_just_begun_is_offered_it_with_one_feed_or_two(
    ada, ben, now, feeds, django_assert_num_queries
):
    feed_of(ben, "b.example", created_at=now - timedelta(days=9))
    assert not interview_offered(reader=ada, now=now)
    for n in range(feeds):
        feed_of(ada, f"s{n}.example", created_at=now - HOUR)
    with django_assert_num_queries(2):
        assert interview_offered(reader=ada, now=now)
    assert not interview_offered(reader=ada, now=now + timedelta(days=4))
    for item in items_of("s0.example", 20, now):
        feedback_set(reader=ada, item_id=item.pk, useful=True, now=now)
    assert not interview_offered(reader=ada, now=now)


SUBJECTS = {
    "tennis": "The champion won the tennis final in straight sets after a long rally at the net",
    "banks": "The central bank raised interest rates again while inflation of consumer prices fell",
    "stars": "Astronomers found a distant galaxy with the telescope, and a planet in orbit of its star",
}


def test_questions_spread_over_the_subjects_and_no_subject_of_one_busy_day_takes_all(ada, now):
    titles: dict[int, str] = {}
    for n, (subject, text) in enumerate(SUBJECTS.items()):
        feed_of(ada, f"{subject}.example")
        for item in items_of(f"{subject}.example", 18 if subject == "tennis" else 4, now, text=text):
            titles[item.pk] = subject
            item.title = f"{text} {item.pk % 3}"
            item.dated_at = now - (n + 1) * 5 * HOUR
            item.save()
    item_vectors_update(now=now)
    asked: list[str] = []
    headlines = []
    for _ in range(3):
        question = question_next(reader=ada, asked=headlines, current=None, now=now)
        assert question is not None and question.propensity == 1.0
        headlines.append(question.headline)
        asked.append(titles[question.headline.item_id])
    assert asked[0] == "tennis", "most is about it"
    assert set(asked) == {*SUBJECTS}, "skipped questions count as asked"


def test_what_was_rated_before_is_not_asked_about_again_in_other_words(ada, now):
    rated, *_ = [*items_of("tennis.example", 6, now, text=SUBJECTS["tennis"], title=SUBJECTS["tennis"])]
    items_of("banks.example", 2, now, text=SUBJECTS["banks"], title=SUBJECTS["banks"])
    for key in ("tennis.example", "banks.example"):
        feed_of(ada, key)
    item_vectors_update(now=now)
    feedback_set(reader=ada, item_id=rated.pk, useful=True, now=now)
    question = question_next(reader=ada, asked=[], current=None, now=now)
    assert question is not None and question.headline.source == "banks.example"
