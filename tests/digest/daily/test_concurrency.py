"""Two requests of one reader at once: one digest, one thumb, no clash."""

import pytest

from digest.daily.services import digest_build
from digest.feedback.services import feedback_set
from digest.models import Digest, Feedback
from tests.support.concurrency import at_once, database_on_disk, seen_by_writers
from tests.support.factories import FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def items(ada, tmp_path):
    source = SourceFactory()
    SubscriptionFactory(reader=ada, feed=FeedFactory(source=source))
    made = [item.id for item in ItemFactory.create_batch(20, source=source)]
    with database_on_disk(tmp_path / "shared.sqlite3"):
        yield made


def test_concurrent_builds_make_one_digest_with_each_rank_once(ada, now, items):
    date = now.astimezone(ada.zone).date()
    built = at_once(lambda n: digest_build(reader=ada, date=date, now=now))
    assert len({digest.pk for digest in built}) == 1
    assert seen_by_writers(Digest.objects.count) == 1
    ranks = seen_by_writers(
        lambda: list(built[0].impressions.order_by("rank").values_list("rank", flat=True))
    )
    assert ranks == list(range(1, 21))


def test_concurrent_thumbs_leave_one_with_the_reasons_of_one(ada, now, items):
    at_once(
        lambda n: feedback_set(
            reader=ada, item_id=items[0], useful=n % 2 == 0, tags=["hype" if n % 2 else "depth"], now=now
        )
    )
    thumb = seen_by_writers(lambda: Feedback.objects.prefetch_related("tags").get())
    assert [tag.slug for tag in thumb.tags.all()] == (["depth"] if thumb.useful else ["hype"])
