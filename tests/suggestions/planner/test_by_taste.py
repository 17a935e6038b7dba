"""The order of the page by thumbs: offered if other days tell them, accepted, previewed, taken back."""

from datetime import timedelta

import numpy as np
import pytest

from digest.feedback.services import feedback_set
from digest.items.vectors import item_vectors_update
from digest.models import Reader
from ranking.selectors import config_effective
from suggestions.changes.tastes import ORDER_BY_TASTE, PAGE
from suggestions.models import Outcome, Suggestion
from suggestions.outcomes.check import effects_check
from suggestions.planner.by_taste import SURE_Z, sureness_p
from suggestions.planner.evidence import hypotheses_for
from suggestions.proposals import Draft
from suggestions.services.lifecycle import Candidate, suggestion_candidate, suggestion_store
from suggestions.services.resolve import suggestion_accept, suggestion_revert
from tests.support.factories import FeedFactory, ItemFactory, SubscriptionFactory

TENNIS = ("Tennis final in {}", "The tennis champion wins in {}", "Young tennis players train in {}")
BANKS = ("The central bank of {} raises rates", "Bank profits fall in {}", "Banks in {} merge again")
TOWNS = ("Paris", "Rome", "Lima", "Oslo", "Cairo", "Delhi", "Quito", "Accra", "Lyon", "Turin")


@pytest.fixture
def rated(ada: Reader, now) -> None:
    """Sixty thumbs over ten days, on thirty sources: up for tennis, down for banks."""
    rate(ada, now, lambda n, tennis: tennis)


def rate(reader: Reader, now, likes) -> None:
    """Rate sixty articles, half about tennis and half about banks; a few newer ones wait on the page."""
    feeds = [FeedFactory() for _ in range(15)]
    for feed in feeds:
        SubscriptionFactory(reader=reader, feed=feed)
    made = []
    titles = [title.format(town) for town in TOWNS for title in (*TENNIS, *BANKS)]
    for n, title in enumerate(titles):
        made.append((article(feeds[(7 * n) % 15], title, now - timedelta(days=1 + n // 6)), n % 6 < 3))
    for n, title in enumerate(["Tennis stars meet in Vienna", "A bank in Vienna closes"] * 8):
        article(feeds[n % 15], f"{title} {n}", now - timedelta(hours=3))
    item_vectors_update(now=now)
    for n, (item, tennis) in enumerate(made):
        at = item.dated_at + timedelta(hours=1)
        feedback_set(reader=reader, item_id=item.pk, useful=bool(likes(n, tennis)), now=at)


def article(feed, title: str, at):
    return ItemFactory(source=feed.source, feed=feed, title=title, text="", language="en", published_at=at)


def proposed(reader: Reader, now) -> Suggestion:
    (found,) = [
        one for one in hypotheses_for(reader_id=reader.pk, now=now).hypotheses if one.change.kind.of_page
    ]
    draft = Draft("order_by_taste", PAGE, "on", found.change.evidence_urls, "")
    candidate = suggestion_candidate(reader_id=reader.pk, run_id=reader.pk, draft=draft, now=now)
    assert isinstance(candidate, Candidate), candidate
    suggestion_store(candidate=candidate, review=None, now=now, fence=lambda: None)
    return Suggestion.objects.get(reader=reader, suggestion_type="order_by_taste")


def test_thumbs_that_tell_each_other_offer_to_order_the_page(ada, rated, now):
    suggestion = proposed(ada, now)
    assert suggestion.p_helpful >= sureness_p(SURE_Z) > 0.8
    assert suggestion.forecast["ndcg_gain"] > 0 and suggestion.forecast["later_thumbs"] == 60
    assert suggestion.forecast["enters"] or suggestion.forecast["moves"]
    assert suggestion.evidence.count() == 5
    assert suggestion.reason.startswith("We tested it on the 60 articles you rated")


def test_a_yes_sets_the_level_and_going_back_undoes_it(ada, rated, now):
    suggestion = proposed(ada, now)
    suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=now)
    assert config_effective(reader_id=ada.pk).config.taste == "on"
    later = now + timedelta(days=1)
    suggestion_revert(reader_id=ada.pk, suggestion_id=suggestion.pk, now=later)
    assert config_effective(reader_id=ada.pk).config.taste == "off"


def test_it_is_not_offered_to_who_has_it_nor_for_shuffled_thumbs(ada, ben, now):
    luck = np.random.default_rng(3).random(60) < 0.5
    rate(ben, now, lambda n, tennis: luck[n])
    assert not any(one.change.kind.of_page for one in hypotheses_for(reader_id=ben.pk, now=now).hypotheses)


def test_the_probability_grows_with_the_sureness_and_there_is_one_page():
    assert 0.5 < sureness_p(0) < sureness_p(1) < sureness_p(SURE_Z) < sureness_p(9) < 1
    assert ORDER_BY_TASTE.key("whatever") == PAGE and ORDER_BY_TASTE.key_of_setting("") == PAGE


@pytest.mark.parametrize(("follows", "verdict"), [(True, "helped"), (False, "harmed")])
def test_after_two_weeks_the_thumbs_up_to_the_accept_are_held_against_those_since(
    ada, rated, now, follows, verdict
):
    suggestion = proposed(ada, now)
    suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=now)
    feed = FeedFactory()
    SubscriptionFactory(reader=ada, feed=feed)
    later = now + timedelta(days=3)
    since = [(t.format(town), t in TENNIS) for town in ("Bern", "Kyiv", "Graz") for t in (*TENNIS, *BANKS)]
    made = [(article(feed, title, later), tennis) for title, tennis in since]
    item_vectors_update(now=later)
    for item, tennis in made:
        feedback_set(reader=ada, item_id=item.pk, useful=tennis is follows, now=later)
    found = effects_check(now=now + timedelta(days=15))
    assert [one["outcome"] for one in found["effects"]] == [verdict]
    assert (
        "Since then you rated 18 articles and liked 9."
        in Outcome.objects.get(kind="effect").measured["words"]
    )
