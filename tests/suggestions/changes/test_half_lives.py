"""News ages a step faster, or slower, if within its sources the newer, or older, items were liked."""

from datetime import timedelta
from random import Random

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from digest.entities import RatedItem
from digest.models import Reader
from ranking.config_body import ConfigEdit
from ranking.entities import Config, EffectiveConfig
from ranking.selectors import config_effective
from ranking.services import config_edit, target_pin
from suggestions.changes.half_lives import AGE_FASTER, AGE_SLOWER, SURE_Z, TARGET, age_z
from suggestions.models import Outcome, Suggestion
from suggestions.outcomes.check import effects_check
from suggestions.planner.evidence import hypotheses_for
from suggestions.proposals import Draft, Proposed, Resolved
from suggestions.services.resolve import suggestion_accept, suggestion_revert
from tests.support.factories import CLOCK, FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory
from tests.support.suggestion_worlds import propose, rate_all

PLAIN, OTHER = "plain.example", "other.example"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def rated(n: int, source: str, useful: bool, age: float) -> RatedItem:
    at = CLOCK - n * HOUR
    url = f"https://{source}/{n}"
    return RatedItem(n, url, f"Title {n}", "", source, useful, (), (), at, at - age * HOUR)


def by_age(*, newer: bool, count: int = 40) -> list[RatedItem]:
    """Return ratings of two sources. Items newer than a day are liked, or the older ones."""
    ages = [1 + 47 * n / count for n in range(count)]
    return [rated(n, (PLAIN, OTHER)[n % 2], (age < 24) is newer, age) for n, age in enumerate(ages)]


def steps(kind, ratings: list[RatedItem], hours: float = 24.0) -> list[object]:
    effective = EffectiveConfig(Config(recency_half_life_hours=hours))
    return [change.after for change in kind.found(ratings, effective)]


def test_who_likes_the_newer_items_of_a_source_is_offered_one_step_faster():
    assert steps(AGE_FASTER, by_age(newer=True)) == [12.0] and not steps(AGE_SLOWER, by_age(newer=True))
    assert steps(AGE_FASTER, by_age(newer=True), hours=72.0) == [24.0]
    assert steps(AGE_FASTER, by_age(newer=True), hours=12.0) == [], "there is no faster step"


def test_who_likes_the_older_ones_is_offered_one_step_slower():
    assert steps(AGE_SLOWER, by_age(newer=False)) == [72.0] and not steps(AGE_FASTER, by_age(newer=False))
    assert steps(AGE_SLOWER, by_age(newer=False), hours=20.0) == [24.0]


def test_the_evidence_are_older_items_of_one_sign():
    for kind, newer in ((AGE_FASTER, True), (AGE_SLOWER, False)):
        (change,) = kind.found(by_age(newer=newer), EffectiveConfig(Config()))
        assert len(change.evidence) == 5
        assert all(item.useful is kind.liked and item.at - item.dated_at > DAY for item in change.evidence)


def test_a_disliked_source_of_old_pieces_says_nothing_of_age():
    ratings = [rated(n, PLAIN, True, 1 + n % 5) for n in range(30)]
    ratings += [rated(30 + n, OTHER, False, 60 + n % 5) for n in range(30)]
    assert age_z(ratings) == 0.0
    assert not steps(AGE_FASTER, ratings)


def test_shuffled_thumbs_ask_few_readers():
    zs = []
    for reader in range(400):
        chance = Random(reader)
        ratings = [
            rated(n, f"s{n % 10}.example", chance.random() < 0.5, chance.expovariate(1 / 24))
            for n in range(120)
        ]
        zs.append(age_z(ratings))
    assert sum(abs(z) >= SURE_Z for z in zs) <= 6, "of 400, where chance gives 2.4"
    assert sum(z * z for z in zs) / len(zs) == pytest.approx(1, abs=0.2), "a standard normal"


# --- A suggestion ----------------------------------------------------------------------------------------


def impatient(reader: Reader) -> None:
    """Make Ada like new items and dislike old ones, of two sources equally. Some older items rank high."""
    for key in (PLAIN, OTHER):
        SubscriptionFactory(reader=reader, feed=FeedFactory(source=SourceFactory(key=key)))
    rows = [((PLAIN, OTHER)[n // 2 % 2], f"Piece {n}", n % 2 == 0, CLOCK - n * DAY / 3) for n in range(60)]
    for item, (_, _, useful, at) in zip(rate_all(reader, rows), rows, strict=True):
        item.dated_at = item.published_at = at - (3 if useful else 70 + item.pk % 7) * HOUR
        item.save()
    for n in range(40):
        key = f"much{n}.example"
        feed = FeedFactory(source=SourceFactory(key=key))
        SubscriptionFactory(reader=reader, feed=feed)
        ItemFactory(source=feed.source, feed=feed, title=f"Much {n}", published_at=CLOCK - (1 + 3 * n) * HOUR)
    weights = {f"much{n}.example": 1.6 for n in range(10, 16)}
    edit = ConfigEdit(recency_half_life_hours=72.0, source_weights=weights)
    config_edit(reader_id=reader.pk, edit=edit, expected_version=0, now=CLOCK - DAY)


@pytest.fixture
def waiting(ada, now) -> Suggestion:
    """Ada is asked whether news should age faster."""
    impatient(ada)
    (found,) = [
        one for one in hypotheses_for(reader_id=ada.pk, now=now).hypotheses if one.change.kind.has_own_rule
    ]
    assert found.change.kind is AGE_FASTER
    draft = Draft("age_faster", TARGET, "", found.change.evidence_urls, "")
    answer = propose(ada, draft, now)
    assert isinstance(answer, Proposed), answer
    return Suggestion.objects.get(pk=answer.suggestion_id)


@pytest.mark.django_db
def test_the_card_says_what_a_yes_does_and_why(waiting, ada, client: Client):
    assert (waiting.field, waiting.target_key) == ("recency_half_life_hours", TARGET)
    assert (waiting.current_value, waiting.suggested_value) == ("72", "24")
    assert waiting.reason.endswith("you liked the newer ones of a source more often.")
    Suggestion.objects.filter(pk=waiting.pk).update(created_at=timezone.now())
    client.force_login(ada)
    page = client.get(reverse("suggestions:list")).content.decode()
    assert "Let news age faster on my page" in page
    assert "An article counts half after 1 day, so newer ones move up." in page


@pytest.mark.django_db
def test_a_yes_takes_one_step_and_going_back_takes_it_back(waiting, ada, now):
    done = suggestion_accept(reader_id=ada.pk, suggestion_id=waiting.pk, now=now)
    assert isinstance(done, Resolved) and done.config_updated
    assert config_effective(reader_id=ada.pk).config.recency_half_life_hours == 24.0
    back = suggestion_revert(reader_id=ada.pk, suggestion_id=waiting.pk, now=now + HOUR)
    assert isinstance(back, Resolved)
    assert config_effective(reader_id=ada.pk).config.recency_half_life_hours == 72.0


@pytest.mark.django_db
def test_the_check_after_two_weeks_finds_nothing_to_compare_with(waiting, ada, now):
    suggestion_accept(reader_id=ada.pk, suggestion_id=waiting.pk, now=now)
    assert effects_check(now=now + 15 * DAY)["unclear"] == 1
    assert Outcome.objects.get(kind="effect").measured["reason"] == "incomparable"


@pytest.mark.django_db
def test_a_pinned_speed_is_left_alone(ada, now):
    impatient(ada)
    target_pin(reader_id=ada.pk, target=TARGET, pin="avoided", ref="", now=now)
    report = hypotheses_for(reader_id=ada.pk, now=now)
    assert not [one for one in report.hypotheses if one.change.kind.field == "recency_half_life_hours"]
