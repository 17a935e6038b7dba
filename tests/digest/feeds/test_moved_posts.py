"""A post with a corrected address or a moved site stays itself; other posts that look the same are two."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from digest.feedback.services import feedback_set
from digest.feeds.entities import ParsedEntry, ParsedFeed
from digest.feeds.fetch import FetchResponse
from digest.feeds.ingest import documents_ingest, feed_get_or_create
from digest.feeds.services import FeedAnswer, answers_store, feed_move
from digest.items.listing import ListFilter, list_ids
from digest.items.reading import item_read, item_save
from digest.models import Feed, Feedback, Item, PrunedEntry, Reader, Reading, Subscription
from tests.digest.feeds.test_posts import bring, post, sound
from tests.support.factories import FeedFactory, SubscriptionFactory

DAY = timedelta(days=1)
THEN = datetime(2026, 3, 16, 9, tzinfo=UTC)
MIDNIGHT = THEN.replace(hour=0)
OLD, NEW = "https://river.example", "https://stream.example"
WORDS = " ".join(f"word{n}" for n in range(30))
pytestmark = pytest.mark.django_db


@pytest.fixture
def feed(ada: Reader) -> Feed:
    """Return a feed that Ada reads."""
    feed = FeedFactory(url=f"{OLD}/feed")
    SubscriptionFactory(reader=ada, feed=feed)
    return feed


def at(link: str, guid: str = "", **more: object) -> ParsedEntry:
    return post(guid, link, **more)


CORRECTED = {
    "no guid": (at(f"{OLD}/rian", text="Wet."), at(f"{OLD}/rain", text="Wet.")),
    "its link is its guid": (at(f"{OLD}/rian", f"{OLD}/rian"), at(f"{OLD}/rain", f"{OLD}/rain")),
    "another folder": (at(f"{OLD}/2026/a"), at(f"{OLD}/posts/2026/03/a")),
    "an address by number becomes one by name": (at(f"{OLD}/?p=12"), at(f"{OLD}/rain")),
    "another session each time": (at(f"{OLD}/a?sid=1"), at(f"{OLD}/a?sid=2")),
    "a link where there was none": (post(text="Wet."), at(f"{OLD}/rain", text="Wet.")),
    "a guid of its own, and many words": (
        at(f"{OLD}/a", "id-1", text=WORDS),
        at(f"{OLD}/b", "id-2", text=WORDS),
    ),
    "dated by the day, and many words": (
        at(f"{OLD}/a", text=WORDS, published=MIDNIGHT),
        at(f"{OLD}/b", text=WORDS, published=MIDNIGHT),
    ),
    "another case and white space": (
        at(f"{OLD}/a", title="The Rain", text="It  rains."),
        at(f"{OLD}/b", title="The rain", text="It rains."),
    ),
    "another host": (at(f"{OLD}/a"), at(f"{NEW}/a")),
    "another host, undated": (at(f"{OLD}/a", published=None), at(f"{NEW}/a", published=None)),
    "another host, a sound there": (
        at(f"{OLD}/a", enclosures=sound(1)),
        at(
            f"{NEW}/a",
            enclosures=(replace(sound(1)[0], url=sound(1)[0].url.replace("radio.", "tones.")),),
        ),
    ),
    "another host, a tag with its name": (
        at(f"{OLD}/a", "tag:river.example,2026:a"),
        at(f"{NEW}/a", "tag:stream.example,2026:a"),
    ),
}


@pytest.mark.parametrize(("before", "after"), CORRECTED.values(), ids=CORRECTED)
def test_a_corrected_address_is_no_other_post_and_marks_stay(feed, ada, now, before, after):
    other = at(f"{OLD}/other", title="Other")
    item, _ = bring(feed, before, other, now=now)
    item_read(reader=ada, item_id=item.pk, now=now)
    item_save(reader=ada, item_id=item.pk, saved=True, now=now)
    feedback_set(reader=ada, item_id=item.pk, useful=True, now=now)
    again, _ = bring(feed, after, other, now=now + DAY)
    assert (again.pk, again.article, again.address) == (item.pk, item.article, after.link)
    assert Reading.objects.get().article == Feedback.objects.get().article == again.article
    (result,) = documents_ingest(documents=[(feed, ParsedFeed("River", OLD, (after, other)))], now=now + DAY)
    assert (result.items_new, result.items_updated) == (0, 0)


TWO = {
    "both stand there": ([at(f"{OLD}/a")], [at(f"{OLD}/a"), at(f"{OLD}/b")]),
    "other words": ([at(f"{OLD}/a", text="Wet.")], [at(f"{OLD}/b", text="Dry.")]),
    "another title": ([at(f"{OLD}/a", title="A", text=WORDS)], [at(f"{OLD}/b", title="B", text=WORDS)]),
    "another date": ([at(f"{OLD}/a")], [at(f"{OLD}/b", published=THEN + DAY)]),
    "a second later": ([at(f"{OLD}/a")], [at(f"{OLD}/b", published=THEN + timedelta(seconds=1))]),
    "no dates": ([at(f"{OLD}/a", published=None)], [at(f"{OLD}/b", published=None)]),
    "short, of one day": ([at(f"{OLD}/a", published=MIDNIGHT)], [at(f"{OLD}/b", published=MIDNIGHT)]),
    "guids of their own": ([at(f"{OLD}/a", "1")], [at(f"{OLD}/b", "2")]),
    "other sounds": ([at(f"{OLD}/a", enclosures=sound(1))], [at(f"{OLD}/b", enclosures=sound(2))]),
    "a sound and none": ([at(f"{OLD}/a", enclosures=sound(1))], [at(f"{OLD}/b")]),
    "two new ones": ([at(f"{OLD}/a")], [at(f"{OLD}/b"), at(f"{OLD}/c")]),
    "the roots of two hosts": ([at(OLD, published=None)], [at(NEW, published=None)]),
}


@pytest.mark.parametrize(("before", "after"), TWO.values(), ids=TWO)
def test_what_only_looks_alike_is_another_post(feed: Feed, now, before, after):
    stored = bring(feed, *before, now=now)
    items = bring(feed, *after, now=now + DAY)
    assert len(items) == len({*before, *after})
    assert items[0] == stored[0]


def test_of_two_alike_the_one_that_was_corrected_is_left_to_its_own_copy(feed: Feed, now):
    (a,) = bring(feed, at(f"{OLD}/a"), now=now)
    _, b = bring(feed, at(f"{OLD}/a"), at(f"{OLD}/b"), now=now)
    items = bring(feed, at(f"{OLD}/b"), now=now + DAY)
    assert [a, b] == items
    items = bring(feed, at(f"{OLD}/c"), now=now + DAY)  # of two that are gone, the later one
    assert len(items) == 2 and items[1].address == f"{OLD}/c"


SITES = {
    "links": lambda host, n: at(f"{host}/{n}", title=f"Part {n}"),
    "links without dates": lambda host, n: at(f"{host}/{n}", title=f"Part {n}", published=None),
    "guids with the host": lambda host, n: at(f"{host}/{n}", f"{host}/?p={n}", title=f"Part {n}"),
    "tags with the host": lambda host, n: at(
        f"{host}/{n}", f"tag:{host.partition('//')[2]},2026:{n}", title=f"Part {n}"
    ),
    "TLS and www. too": lambda host, n: at(
        f"{host}/{n}" if host == OLD else f"{host.replace('//', '//www.')}/{n}/", title=f"Part {n}"
    ),
}


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_a_site_that_moves_brings_nothing_again(feed: Feed, now, site):
    PrunedEntry.objects.create(feed=feed, guid=site(OLD, 9).guid or site(OLD, 9).link)
    items = bring(feed, *(site(OLD, n) for n in range(4)), now=now)
    edited = replace(site(NEW, 3), text="Edited with the move.")
    again = bring(feed, *(site(NEW, n) for n in range(3)), edited, site(NEW, 9), now=now + DAY, site=NEW)
    assert again == items
    assert [item.address for item in again] == [site(NEW, n).link for n in range(4)]
    new = at(f"{NEW}/10", title="Part 10")
    assert len(bring(feed, new, site(NEW, 3), now=now + DAY, site=NEW)) == 5


# --- Feeds that move ----------------------------------------------------------------------------------


def answer(feed: Feed, *posts: ParsedEntry, now: datetime) -> None:
    """Have the feed's server answer with these posts."""
    feed.next_check_at = now
    feed.save()
    response = FetchResponse(feed.url, b"", "", "", None, asked=feed.url)
    answers_store(answers=[FeedAnswer(feed, response, ParsedFeed("River", "", posts), 0.5)], now=now)
    feed.refresh_from_db()


def unread(reader: Reader, now: datetime) -> list[str]:
    ids = list_ids(reader_id=reader.pk, feeds=None, chosen=ListFilter(unread=True), limit=50, now=now)
    return sorted(Item.objects.filter(pk__in=ids).values_list("title", flat=True))


@pytest.fixture
def there(settings) -> str:
    """Allow moves to this machine, because its name needs no look-up. Return the address."""
    settings.FETCH_ALLOW_HOSTS = ["localhost"]
    return "https://localhost/feed"


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
@pytest.mark.parametrize("is_known", [False, True])
def test_a_feed_that_moves_to_another_domain_brings_nothing_again(feed, ada, ben, now, there, site, is_known):
    answer(feed, *(site(OLD, n) for n in range(4)), now=now)
    for title, mark in (("Part 0", item_read), ("Part 1", item_read)):
        mark(reader=ada, item_id=Item.objects.get(title=title).pk, now=now)
    item_save(reader=ada, item_id=Item.objects.get(title="Part 1").pk, saved=True, now=now)
    feedback_set(reader=ada, item_id=Item.objects.get(title="Part 0").pk, useful=True, now=now)
    moved = [site(NEW, n) for n in range(4)]
    target = feed_get_or_create(url=there, now=now)
    if is_known:
        Subscription.objects.create(reader=ben, feed=target, created_at=now)
        answer(target, *moved, now=now)
    feed_move(feed=feed, url=there, now=now + DAY)
    if not is_known:
        answer(target, *moved, now=now + DAY)
    assert unread(ada, now + DAY) == ["Part 2", "Part 3"]
    saved = Reading.objects.get(reader=ada, saved_at__isnull=False)
    assert saved.article == Item.objects.get(feed=target, title="Part 1").article
    assert Feedback.objects.get().article == Item.objects.get(feed=target, title="Part 0").article
    assert unread(ben, now + DAY) == (["Part 0", "Part 1", "Part 2", "Part 3"] if is_known else [])
    answer(target, at(f"{NEW}/8", title="News", published=now), *moved, now=now + DAY)
    assert unread(ada, now + DAY) == ["News", "Part 2", "Part 3"]


def test_a_second_move_brings_nothing_again(feed, ada, now, there):
    site = SITES["links"]
    answer(feed, site(OLD, 1), now=now)
    item_read(reader=ada, item_id=Item.objects.get().pk, now=now)
    for n, host in enumerate((NEW, "https://brook.example"), 1):
        feed = feed_move(feed=feed, url=f"{there}/{n}", now=now)
        answer(feed, site(host, 1), now=now + n * DAY / 24)
    assert Item.objects.count() == 3 and unread(ada, now + DAY / 8) == []


def test_other_posts_at_the_new_address_are_new(feed, ada, now, there):
    answer(feed, at(f"{OLD}/1", "1", title="Rain"), now=now)
    item_read(reader=ada, item_id=Item.objects.get().pk, now=now)
    target = feed_move(feed=feed, url=there, now=now)
    answer(target, at(f"{NEW}/1", "1", title="Buy", published=THEN - DAY / 24), now=now)
    assert unread(ada, now) == ["Buy"]
    assert len({item.article for item in Item.objects.all()}) == 2
