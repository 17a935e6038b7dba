"""What a card tells of a yes is what its reader sees: on the next Today, and day by day in the week after.

The feeds are as uneven as real ones, and the reader has seen and rated a page on each of the last days. Once
a card told of ten articles, those of seven days, and the page showed two.
"""

import random
import re
from datetime import datetime, timedelta
from statistics import mean

import pytest
from django.db import transaction

from digest.daily.selectors import digest_impressions
from digest.daily.services import digest_current
from digest.daily.store import exposures_log
from digest.feedback.services import feedback_set
from digest.feeds.identity import article_hash
from digest.models import Exposure, Item, Reader
from suggestions.models import Suggestion
from suggestions.proposals import Resolved
from suggestions.services.resolve import suggestion_accept
from suggestions.views import cards_page
from tests.support.browser import suggested
from tests.support.factories import FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
# Articles a day: most feeds are quiet, a few are loud.
RATES = (0.3, 0.3, 0.5, 0.5, 0.7, 1, 1, 1.5, 1.5, 2, 2, 3, 4, 6, 8)
BEFORE, AFTER = 3, 4
QUIET, BUSY = "s8.example", "s12.example"


@pytest.fixture
def reads(ada: Reader, now: datetime) -> Reader:
    chance, start = random.Random(4), now - 14 * DAY
    for n, rate in enumerate(RATES):
        feed = FeedFactory(source=SourceFactory(key=f"s{n}.example"))
        SubscriptionFactory(reader=ada, feed=feed, created_at=now - 60 * DAY)
        Item.objects.bulk_create(
            _item(feed, start + chance.uniform(0, 18) * DAY) for _ in range(round(18 * rate))
        )
    for day in range(BEFORE, 0, -1):
        _visit(ada, now - day * DAY, chance)
    return ada


def _item(feed, at: datetime) -> Item:
    n = ItemFactory._meta.next_sequence()
    url = f"https://{feed.source_id}/{n}"
    dates = {"published_at": at, "first_seen_at": at, "dated_at": at}
    known = {"guid": url, "article": article_hash(url), "fingerprint": f"{n:064x}"}
    return Item(feed=feed, source_id=feed.source_id, url=url, title=f"Plain {n}", text="", **dates, **known)


def _first_ten(reader: Reader, at: datetime) -> dict[int, str]:
    digest = digest_current(reader=reader, date=at.date(), now=at)
    exposures_log(digest=digest, door=Exposure.Door.PAGE, now=at)
    return {row.item_id: row.item.source_id for row in digest_impressions(digest=digest, now=at)[:10]}


def _visit(reader: Reader, at: datetime, chance: random.Random) -> dict[int, str]:
    """The reader sees a page and rates half of its first ten."""
    shown = _first_ten(reader, at)
    for pk in shown:
        if chance.random() < 0.5:
            useful = chance.random() < 0.5
            feedback_set(reader=reader, item_id=pk, useful=useful, now=at + timedelta(minutes=5))
    return shown


def _week(reader: Reader, now: datetime, accepted: Suggestion | None = None) -> list[dict[int, str]]:
    """Return the first ten of today and of the days after, if the reader says yes, or says nothing."""
    with transaction.atomic():
        if accepted:
            done = suggestion_accept(reader_id=reader.pk, suggestion_id=accepted.pk, now=now)
            assert isinstance(done, Resolved)
        chance = random.Random(7)
        pages = [_visit(reader, now + day * DAY, chance) for day in range(AFTER)]
        transaction.set_rollback(True)
    return pages


@pytest.mark.parametrize(
    ("kind", "value", "source"),
    [("boost_source", "1.3", BUSY), ("boost_source", "1.3", QUIET), ("reduce_source", "0.7", BUSY)],
)
def test_a_card_tells_what_the_next_today_shows_and_the_days_after(reads, now, kind, value, source):
    card = suggested(reads, suggestion_type=kind, target_key=source, suggested_value=value)
    Suggestion.objects.update(created_at=now)
    _first_ten(reads, now)
    groups = cards_page(reader=reads, now=now)["groups"]
    lines = groups[0][2][0].week
    words = f"{lines.words} {lines.later}".strip()
    before, after = _week(reads, now), _week(reads, now, card)
    new = [{*with_it} - {*without} for without, with_it in zip(before, after, strict=True)]
    own = sum(after[0][pk] == source for pk in new[0])
    told = re.match(r"A yes brings (\d+) articles? into the first ten of today’s page", words)
    assert (int(told[1]) if told else 0) == len(new[0]), words
    assert not told or {item.item_id for item, _name in lines.comes} <= new[0]
    assert told or words.startswith("Today’s page keeps its first ten with a yes.")
    assert own == (len(new[0]) if kind == "boost_source" else 0)
    a_day = re.search(r": about (\d+) a day\.$", words)
    every = re.search(r": one every (\d+) days\.$", words)
    rate = int(a_day[1]) if a_day else 1 / int(every[1]) if every else 1 if "most days" in words else 0.3
    assert rate <= mean(map(len, new)) + 1, (words, new)
