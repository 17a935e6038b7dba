"""A preview shows what accepting would do to today's top 30, and does nothing."""

from datetime import timedelta

import pytest

from ranking.selectors import config_effective
from suggestions.models import Suggestion
from suggestions.selectors import suggestion_preview
from tests.factories import FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory
from tests.suggestions.worlds import LOVED, PLAIN

pytestmark = pytest.mark.django_db


def suggestion_of(reader, kind="boost_source", key=LOVED, value="1.3") -> Suggestion:
    return Suggestion(reader=reader, suggestion_type=kind, target_key=key, suggested_value=value)


@pytest.fixture
def full(ada, now):
    """Sixty items of two sources, one an hour, the loved source always the older of two."""
    for key in (LOVED, PLAIN):
        SubscriptionFactory(reader=ada, feed=FeedFactory(source=SourceFactory(key=key)))
    for n in range(60):
        key = LOVED if n % 2 else PLAIN
        at = now - timedelta(hours=n)
        ItemFactory(source=SourceFactory(key=key), title=f"{key} {n}", published_at=at)
    return ada


def test_a_boost_lets_its_items_in_and_others_out(full, now):
    preview = suggestion_preview(suggestion=suggestion_of(full), now=now)
    assert {item.source for item in preview.enters} == {LOVED}
    assert {item.source for item in preview.leaves} == {PLAIN}
    assert len(preview.enters) == len(preview.leaves)
    assert all(item.after < item.before for item in preview.moves if item.source == LOVED)
    assert [item.after for item in preview.enters] == sorted(item.after for item in preview.enters)
    assert config_effective(reader_id=full.pk).weights() == {}


def test_a_topic_nothing_mentions_moves_nothing(full, now):
    preview = suggestion_preview(suggestion=suggestion_of(full, "add_topic", "zebra", "Zebra"), now=now)
    assert preview.enters == preview.leaves == preview.moves == ()


def test_a_preview_costs_three_queries(full, now, django_assert_num_queries):
    with django_assert_num_queries(3):
        suggestion_preview(suggestion=suggestion_of(full), now=now)
