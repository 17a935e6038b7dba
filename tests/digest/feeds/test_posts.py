"""Two posts of a feed never become one, one post never becomes two, and each keeps its publisher's link."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st

from digest.feedback.services import feedback_set
from digest.feeds.dedupe import identify_entries
from digest.feeds.entities import Enclosure, ParsedEntry, ParsedFeed
from digest.feeds.identity import URN_PREFIX, address_folded, address_spellings
from digest.feeds.ingest import documents_ingest
from digest.models import Feed, Feedback, Item, Reader
from tests.digest.web.greader.support import App
from tests.support.factories import FeedFactory, SubscriptionFactory
from tests.support.ingest import document_ingest

DAY = timedelta(days=1)
THEN = datetime(2026, 3, 16, 9, tzinfo=UTC)
SITE = "https://river.example/"


def post(guid: str = "", link: str = "", title: str = "Rain", text: str = "", **more: object) -> ParsedEntry:
    """Return a post as a document has it, of two days ago unless it says otherwise."""
    given = {"author": "", "language": "", "published": THEN} | more
    return ParsedEntry(guid=guid, link=link, title=title, text=text, **given)


def sound(n: int, token: str = "") -> tuple[Enclosure, ...]:
    """Return the sound of an episode."""
    return (Enclosure(f"https://radio.example/{n}.mp3{token}", "audio/mpeg"),)


@pytest.fixture
def feed(db, ada: Reader) -> Feed:
    """Return a feed that Ada reads."""
    feed = FeedFactory(url="https://river.example/feed")
    SubscriptionFactory(reader=ada, feed=feed)
    return feed


def bring(feed: Feed, *posts: ParsedEntry, now: datetime, site: str = SITE) -> list[Item]:
    """Have the feed bring a document with these posts; its items then, oldest first."""
    documents_ingest(documents=[(feed, ParsedFeed("River", site, posts))], now=now)
    return list(feed.items.order_by("pk"))


LINK = "https://river.example/live"
WORDS = " ".join(f"word{n}" for n in range(40))
SHARED = {
    "one link, no guid": [post(link=LINK, title=f"Shirt {n}") for n in range(4)],
    "one link and date, other words": [post(link=LINK, text=f"Print {n}") for n in range(4)],
    "one link and title, other guids and sounds": [
        post(f"ep-{n}", LINK, enclosures=sound(n), published=THEN + n * DAY) for n in range(4)
    ],
    "the same, without dates": [post(f"ep-{n}", LINK, enclosures=sound(n), published=None) for n in range(4)],
    "one guid for all, other titles": [post("show", f"{LINK}/{n}", title=f"Part {n}") for n in range(4)],
    "one guid and link for all, other dates": [post("x", LINK, published=THEN + n * DAY) for n in range(4)],
    "one guid, no link, other sounds": [post("x", enclosures=sound(n)) for n in range(4)],
    "nothing but words, other dates": [post(published=THEN + n * DAY) for n in range(4)],
    "comments of one page": [
        post(f"c{n}", LINK, title="Re: Rain", text=f"I say {n}", published=None) for n in range(4)
    ],
    "the site's own link": [post(link=SITE, title=f"Notice {n}") for n in range(4)],
    "the site's own link as guid": [post(SITE, SITE, title=f"Notice {n}") for n in range(4)],
    "links that differ after #": [post(link=f"{LINK}#v{n}", title=f"v{n}") for n in range(4)],
    "guids that differ after #": [
        post(f"{LINK}#v{n}", f"{LINK}#v{n}", title="Release", text=f"{n}") for n in range(4)
    ],
}


@pytest.mark.parametrize("posts", SHARED.values(), ids=SHARED)
def test_what_shares_a_name_with_others_is_a_post_of_its_own(feed: Feed, now, posts: list[ParsedEntry]):
    assert len(bring(feed, *posts[:3], now=now)) == 3
    items = bring(feed, *reversed(posts), now=now + DAY)
    assert len(items) == len({item.article for item in items}) == 4
    stored = {(item.title, item.text, item.pk) for item in items}
    for some in (posts, posts[2:], posts[:1], posts[3:], posts):
        bring(feed, *some, now=now + 2 * DAY)
        assert {(item.title, item.text, item.pk) for item in feed.items.all()} == stored


@pytest.mark.parametrize("posts", SHARED.values(), ids=SHARED)
def test_posts_that_come_one_by_one_are_as_many_if_a_guid_or_the_site_says_so(feed, now, posts):
    for n, one in enumerate(posts):
        bring(feed, one, now=now + n * DAY)
    told = (len({post.guid for post in posts} - {""}) == 4 and posts[0].published) or posts[0].enclosures
    if told or posts[0].link == SITE:
        assert feed.items.count() == (1 if posts[0].guid == "x" else 4)


PLACES = ("http://river.example/a", "https://www.river.example/a/", "https://river.example/a?utm_source=rss")


@pytest.mark.parametrize("first", PLACES)
@pytest.mark.parametrize("then", PLACES)
@pytest.mark.parametrize("named", ["guid", "link", "both", "new guid"])
def test_a_post_that_comes_by_another_spelling_is_the_same(feed, ada, now, first, then, named):
    def spelt(place: str, n: int) -> ParsedEntry:
        guid = {"guid": place, "both": place, "link": "", "new guid": str(n)}[named]
        return post(guid, "" if named == "guid" else place, text="It rained.")

    (item,) = bring(feed, spelt(first, 1), now=now)
    feedback_set(reader=ada, item_id=item.pk, useful=True, now=now)
    (again,) = bring(feed, spelt(then, 2), now=now + DAY)
    assert again.pk == item.pk and Feedback.objects.get().article == again.article
    if named != "guid":
        assert again.address == then  # a corrected link arrives


def test_spellings_in_one_document_are_one_post_and_other_words_are_not(feed: Feed, now):
    same = [post(place, place) for place in PLACES]
    assert len(bring(feed, *same, now=now)) == 1
    other = replace(same[1], title="Sun")
    assert len(bring(feed, same[0], other, now=now + DAY)) == 2


def test_a_feed_that_dates_all_it_has_by_the_day_brings_nothing_twice(feed: Feed, now):
    shirts = [post(link=LINK, title=f"Shirt {n}") for n in range(3)]
    stored = bring(feed, *shirts, now=now)
    tomorrow = [replace(one, published=THEN + DAY) for one in shirts]
    items = bring(feed, post(link=LINK, title="Badger", published=THEN + DAY), *tomorrow, now=now + DAY)
    assert len(items) == 4 and items[:3] == stored
    (other,) = bring(feed, post("9", LINK, published=THEN + DAY, text="New."), now=now)[4:]
    assert other.text == "New."


@pytest.mark.parametrize("first", PLACES)
@pytest.mark.parametrize("then", PLACES)
@pytest.mark.parametrize("together", [False, True])
def test_one_address_in_two_feeds_is_one_article_however_it_is_spelt(feed, ada, now, first, then, together):
    other = FeedFactory(url="https://planet.example/feed")
    SubscriptionFactory(reader=ada, feed=other)
    documents = [
        (feed, ParsedFeed("", "", (post("1", first),))),
        (other, ParsedFeed("", "", (post("2", then),))),
    ]
    for some in [documents] if together else [documents[:1], documents[1:]]:
        documents_ingest(documents=some, now=now)
    mine, theirs = Item.objects.order_by("pk")
    assert mine.article == theirs.article and (mine.address, theirs.address) == (first, then)
    assert len(App(ada).items()) == 1
    feedback_set(reader=ada, item_id=mine.pk, useful=True, now=now)
    assert Feedback.objects.get().article == theirs.article
    documents_ingest(documents=list(reversed(documents)), now=now + DAY)
    assert Item.objects.count() == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{LINK}/1", f"{LINK}/2"),
        (f"{LINK}?a=1", f"{LINK}?a=2"),
        (LINK, LINK.replace("river", "stream")),
        (LINK, LINK.replace("//", "//blog.")),
        (LINK, LINK.upper().replace("HTTPS", "https")),
    ],
)
def test_other_addresses_in_two_feeds_are_two_articles(feed: Feed, now, one, other):
    bring(feed, post("1", one), now=now)
    bring(FeedFactory(), post("1", other), now=now)
    assert len({item.article for item in Item.objects.all()}) == 2


def test_two_posts_of_one_feed_never_become_one_through_another_feed(feed: Feed, now):
    plain, secure = "http://river.example/a", "https://river.example/a"
    bring(feed, post("1", plain, title="A"), now=now)
    bring(FeedFactory(), post("1", secure, title="B"), now=now)
    items = bring(feed, post("2", secure, title="B", published=THEN + DAY), now=now + DAY)
    assert len({item.article for item in items}) == 2


@pytest.mark.parametrize("named", ["guid", "no guid in common"])
def test_of_posts_with_one_guid_a_corrected_title_makes_no_second_copy(feed: Feed, now, named):
    def posts(*titles: str, guid: str = "show") -> list[ParsedEntry]:
        return [
            post(guid, f"{LINK}/{n}", title=title, published=THEN + n * DAY) for n, title in enumerate(titles)
        ]

    guid = "show" if named == "guid" else SITE
    stored = bring(feed, *posts("Rian", "Sun", "Fog", guid=guid), now=now)
    items = bring(feed, *posts("Rain", "Sun", "Fog", guid=guid), now=now + DAY)
    assert items == stored and items[0].title == "Rain"
    items = bring(feed, *posts("Rain", "The sun", "Fog and mist", "New", guid=guid), now=now + DAY)
    assert items[:3] == stored and [item.title for item in items[3:]] == ["New"]


@pytest.mark.parametrize("more", [{}, {"enclosures": True}, {"text": WORDS}], ids=["words", "sound", "text"])
def test_of_posts_with_one_link_a_corrected_title_makes_no_second_copy(feed, now, more):
    def show(n: int, title: str) -> ParsedEntry:
        values = {"text": f"A show. {n} guests.", **more, "published": THEN + n * DAY}
        values |= {"enclosures": sound(n)} if more.get("enclosures") else {}
        return post(link=LINK, title=title, **values)

    before = bring(feed, *(show(n, f"Show {n}") for n in range(3)), now=now)
    after = bring(
        feed, show(0, "Show 0: a proper title"), show(1, "Show 1"), show(2, "Show 2"), now=now + DAY
    )
    assert [item.pk for item in after] == [item.pk for item in before]
    assert after[0].title == "Show 0: a proper title"


def test_of_posts_with_one_link_a_new_one_is_no_correction(feed, now):
    shows = [post(link=LINK, title=f"Show {n}", text="A show.", published=THEN + n * DAY) for n in range(3)]
    bring(feed, *shows, now=now)
    new = post(link=LINK, title="Show 3", text="A show.", published=THEN + 3 * DAY)
    assert len(bring(feed, *shows[1:], new, now=now + DAY)) == 4


def test_of_posts_with_one_guid_another_date_or_link_is_another_post(feed: Feed, now):
    bring(feed, post("show", f"{LINK}/1", title="A"), post("show", f"{LINK}/2", title="B"), now=now)
    again = post("show", f"{LINK}/1", title="Next week", published=THEN + 7 * DAY)
    items = bring(feed, again, post("show", f"{LINK}/2", title="B"), now=now + DAY)
    assert [item.title for item in items] == ["A", "B", "Next week"]
    one_link = [post("show", LINK, title=title) for title in ("C", "D")]
    bring(feed, *one_link, now=now + DAY)
    items = bring(feed, replace(one_link[0], title="E"), one_link[1], now=now + DAY)
    assert [item.title for item in items][3:] == ["C", "D", "E"]  # a link that two share names neither


def test_a_guid_that_another_item_has_takes_nothing_from_it(feed: Feed, now):
    a, b = bring(feed, post("1", title="A"), post("2", title="B"), now=now)
    items = bring(feed, post("2", title="A"), post("1", title="B"), now=now + DAY)
    assert {item.pk for item in items} == {a.pk, b.pk}


def test_an_enclosure_with_another_token_is_the_same_and_what_returns_is_not_new(feed: Feed, now):
    (item,) = bring(feed, post("1", LINK, enclosures=sound(1, "?t=1")), now=now)
    bring(feed, post("2", f"{LINK}/2"), now=now + DAY)
    items = bring(feed, post("1", LINK, enclosures=sound(1, "?t=2")), now=now + 2 * DAY)
    assert len(items) == 2 and items[0].pk == item.pk


def test_a_correction_is_no_second_post(feed: Feed, now):
    (item,) = bring(feed, post("", LINK, title="Rian", text="It raned."), now=now)
    (again,) = bring(feed, post("", LINK, title="Rain", text="It rained."), now=now + DAY)
    assert (again.pk, again.title) == (item.pk, "Rain")


@pytest.mark.parametrize(
    ("one", "leads"),
    [
        (post("1", f"{LINK}#v1"), f"{LINK}#v1"),
        (post("1", "https://app.example/#!/rain?b=2&a=1"), "https://app.example/#!/rain?b=2&a=1"),
        (
            post("1", "http://www.river.example/a/?utm_source=rss"),
            "http://www.river.example/a/?utm_source=rss",
        ),
        (post("1", "HTTPS://River.example/Ä b"), "HTTPS://River.example/Ä%20b"),
        (post("1", enclosures=sound(1, "?t=1")), "https://radio.example/1.mp3?t=1"),
        (post("1"), SITE),
        (post("1", "https://bank.example@evil.example/"), SITE),
        (post("1", "javascript:alert(1)"), SITE),
        (post("urn:uuid:1", "urn:uuid:1"), SITE),
        (post("1", LINK + "?" + "x" * 2100), SITE),
    ],
)
def test_a_reader_opens_what_the_publisher_wrote(feed, ada, now, one: ParsedEntry, leads: str):
    (item,) = bring(feed, one, now=now)
    assert item.address == leads
    (shown,) = App(ada).items()
    assert shown["alternate"][0]["href"] == shown["canonical"][0]["href"] == leads


def test_several_posts_of_one_link_all_lead_there_and_no_urn_is_shown(feed, ada, now, client):
    bring(feed, *SHARED["one link and title, other guids and sounds"], now=now)
    client.force_login(ada)
    for item in feed.items.all():
        assert item.address == LINK and item.url.startswith(URN_PREFIX)
        page = client.get(reverse("digest:item", args=[item.pk])).content.decode()
        assert f'href="{LINK}"' in page and "urn:" not in page
        assert client.get(f"/api/items/{item.pk}").json()["url"] == LINK


def test_an_item_of_the_release_before_keeps_its_id_and_learns_its_link(feed: Feed, now):
    (item,) = bring(feed, post("1", f"{LINK}#v1"), now=now)
    Item.objects.update(link="")  # as the release before stored it
    (again,) = bring(feed, post("1", f"{LINK}#v1"), now=now + DAY)
    assert (again.pk, again.address) == (item.pk, f"{LINK}#v1")


POSTS = st.lists(
    st.builds(
        post,
        guid=st.sampled_from(["", "1", "2", LINK, *PLACES]),
        link=st.sampled_from(["", LINK, SITE, *PLACES]),
        title=st.sampled_from(["Rain", "Sun"]),
        text=st.sampled_from(["", "wet"]),
        published=st.sampled_from([None, THEN, THEN + DAY]),
        enclosures=st.sampled_from([(), sound(1), sound(2)]),
    ),
    max_size=6,
)


@given(POSTS)
def test_no_post_of_a_document_is_lost_but_what_it_repeats(posts: list[ParsedEntry]):
    found = identify_entries(posts, site=SITE)
    told = {(p.title, p.text, p.published or THEN, bool(p.enclosures) and p.enclosures) for p in posts}
    kept = {(e.entry.title, e.entry.text) for e in found.values()}
    assert kept == {(title, text) for title, text, *_ in told}
    assert len({e.url for e in found.values()}) == len(found) <= len(posts)
    assert list(identify_entries([e.entry for e in found.values()], site=SITE)) == list(found)


@pytest.mark.django_db
@settings(max_examples=40)
@given(POSTS, POSTS)
def test_the_same_documents_again_bring_nothing(one: list[ParsedEntry], other: list[ParsedEntry]):
    feed = FeedFactory()
    documents = [(feed, ParsedFeed("", SITE, tuple(some))) for some in (one, other)]
    for now in (THEN + 2 * DAY, THEN + 3 * DAY):
        results = [documents_ingest(documents=[document], now=now)[0] for document in documents]
    assert results[0].items_new == 0
    feed.items.all().delete()


def test_names_fold_by_place_and_other_names_stay():
    assert len({address_folded(place) for place in PLACES}) == 1
    assert address_folded("tag:river.example,2026:1") == "tag:river.example,2026:1"
    assert address_spellings("ep-1") == []
    assert {*PLACES[:2]} <= {*address_spellings(PLACES[2])}


def test_a_document_of_two_thousand_posts_of_one_name_takes_no_quadratic_time():
    posts = [post("x", LINK, published=THEN + timedelta(seconds=n)) for n in range(2_000)]
    assert len(identify_entries(posts)) == 2_000


# --- Posts without guid and link --------------------------------------------------------------------

AT_NOON, AT_MIDNIGHT = "Sat, 01 Feb 2025 12:30:00 GMT", "Sat, 01 Feb 2025 00:00:00 GMT"


def unnamed_item(title: str, text: str, date: str = "") -> str:
    dated = f"<pubDate>{date}</pubDate>" if date else ""
    return f"<item><title>{title}</title><description>{text}</description>{dated}</item>"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (unnamed_item("Rain", "It rains on the", AT_NOON), unnamed_item("Rain", "Another text.", AT_NOON)),
        (
            unnamed_item("Rain in", "It rains a lot", AT_NOON),
            unnamed_item("Rain in &lt;b&gt;", "It rains a lot", AT_NOON),
        ),
        (unnamed_item("Rain", "It rains a lot"), unnamed_item("Rain", "It rains a lot, and it will go on.")),
        (
            unnamed_item("Rain", "It rains a lot", AT_MIDNIGHT),
            unnamed_item("Rain", "It rains &lt;b&gt; a lot", AT_MIDNIGHT),
        ),
        (unnamed_item("Rain", ""), unnamed_item("Rain", "It rains a lot")),
    ],
)
@pytest.mark.django_db
def test_a_post_without_a_name_whose_words_change_is_no_other_post(now, before, after):
    feed = FeedFactory()
    rows = []
    for n, item in enumerate((before, after)):
        body = f"<rss><channel><title>T</title>{item}</channel></rss>".encode()
        result = document_ingest(feed=feed, body=body, now=now + timedelta(hours=n))
        rows.append((result.items_new, Item.objects.get().pk))
    assert rows == [(1, rows[0][1]), (0, rows[0][1])]
    assert document_ingest(feed=feed, body=body, now=now + timedelta(hours=2)).items_updated == 0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            unnamed_item("Notice", "The bridge is shut."),
            unnamed_item("Notice", "Bring your own cup tomorrow."),
        ),
        (
            unnamed_item("Notice", "The bridge is shut.", AT_MIDNIGHT),
            unnamed_item("Notice", "Bring a cup.", AT_MIDNIGHT),
        ),
        (
            unnamed_item("Notice", "The bridge is shut.", AT_NOON),
            unnamed_item("Cup", "Bring a cup.", AT_NOON),
        ),
    ],
)
@pytest.mark.django_db
def test_posts_without_a_name_that_say_something_else_are_others(now, before, after):
    feed = FeedFactory()
    for n, item in enumerate((before, after)):
        body = f"<rss><channel><title>T</title>{item}</channel></rss>".encode()
        document_ingest(feed=feed, body=body, now=now + timedelta(hours=n))
    assert Item.objects.count() == 2
