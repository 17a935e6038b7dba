"""A story is one for a reader as far as items of their feeds make it one: no stranger hides an article."""

from datetime import timedelta

import pytest
from django.utils import timezone

from digest.daily.compose import Rules
from digest.daily.selectors import digest_exclusions
from digest.daily.services import digest_build, digests_build
from digest.feedback.services import feedback_set
from digest.items.stories import items_related, stories_update
from digest.mail.content import draft_weekly
from digest.models import Digest, Item, Reader, Story
from ranking.selectors import config_effective
from suggestions.preview import previews_of
from tests.support.factories import FeedFactory, ItemFactory, SubscriptionFactory

HOUR = timedelta(hours=1)
FERRY, TRIAL = "Harbour ferry strike ends after talks", "Minister resigns over stolen letters"
BRIDGE = "Ferry strike ends: minister resigns over letters"
OTHERS = ("Parliament debates pension reform", "Storm cuts power to villages", "Painting found in an attic")


@pytest.fixture
def bridged(ada: Reader, ben: Reader, now) -> dict[str, Item]:
    """Two articles that Ada and Ben read, which a headline that only Ben reads has made one story."""
    rows = {}
    for hours, (key, title) in enumerate(
        {"paper.example": FERRY, "evil.example": BRIDGE, "gazette.example": TRIAL}.items()
    ):
        feed = FeedFactory(source__key=key)
        for reader in [ben] if key == "evil.example" else [ada, ben]:
            SubscriptionFactory(reader=reader, feed=feed)
        rows[key] = ItemFactory(source=feed.source, title=title, published_at=now - (9 - hours) * HOUR)
    for title in OTHERS:
        ItemFactory(title=title, published_at=now - 30 * HOUR)
    stories_update(now=now)
    assert Story.objects.get().items.count() == 3
    return rows


def shown(digest: Digest) -> set[str]:
    return {row.item.title for row in digest.impressions.select_related("item")}


def test_a_strangers_headline_hides_no_article(ada, ben, now, bridged):
    digest = digest_build(reader=ada, date=now.date(), now=now)
    assert shown(digest) == {FERRY, TRIAL} and digest.left_out == {}
    theirs = digest_build(reader=ben, date=now.date(), now=now)
    assert len(shown(theirs)) == 1 and theirs.left_out == {"same_story": 2}
    found = digest_exclusions(reader=ben, date=now.date(), now=now)
    assert found and {row.story_item.title for row in found.items if row.story_item} == shown(theirs)


def test_a_round_decides_as_one_reader_alone(ada, ben, now, bridged):
    assert digests_build(now=now) == 2
    assert shown(Digest.objects.get(reader=ada)) == {FERRY, TRIAL}
    assert len(shown(Digest.objects.get(reader=ben))) == 1


def test_a_rated_item_stands_for_what_the_reader_reads_of_its_story(ada, ben, now, bridged):
    for reader, left in ((ada, {FERRY, TRIAL}), (ben, None)):
        before = shown(digest_build(reader=reader, date=now.date(), now=now))
        rated = Item.objects.get(title=sorted(before)[0])
        feedback_set(reader=reader, item_id=rated.pk, useful=True, now=now)
        assert shown(digest_build(reader=reader, date=now.date(), now=now + HOUR)) == (left or before)
        effective = config_effective(reader_id=reader.pk)
        (same,) = previews_of(reader_id=reader.pk, before=effective, afters=[effective], now=now + HOUR)
        assert not same.enters and not same.leaves


def test_no_page_calls_them_one_story(ada, ben, now, bridged):
    ids = [item.pk for item in bridged.values()]
    assert items_related(reader_id=ada.pk, item_ids=ids, now=timezone.now()) == {}
    mates = items_related(reader_id=ben.pk, item_ids=ids, now=timezone.now())
    assert {pk: {mate.item_id for mate in some} for pk, some in mates.items()} == {
        pk: {*ids} - {pk} for pk in ids
    }


def test_the_mail_of_a_week_has_both_for_who_does_not_read_the_stranger(ada, ben, now, bridged):
    for reader in (ada, ben):
        digest_build(reader=reader, date=now.date(), now=now, rules=Rules.score_only(9))
    drafts = {reader: draft_weekly(reader=reader, day=now.date(), now=now) for reader in (ada, ben)}
    assert {item.title for item in drafts[ada].content.items} == {FERRY, TRIAL}
    assert len(drafts[ben].content.items) == 1
