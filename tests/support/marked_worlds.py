"""Worlds in which every word carries the mark of its feed, to test which words each of two readers may see.

A seed decides who reads which feeds, in which feed an article comes first and under which titles and dates,
which feeds move, and what is imported, rated and saved. Dates are real, because pages read the real clock.
"""

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from xml.sax.saxutils import escape

from django.utils import timezone

from digest.feedback.services import feedback_set, feedback_tags_set
from digest.feedback.transfer import feedback_import
from digest.feeds.ingest import feed_get_or_create
from digest.feeds.services import feed_move
from digest.items.reading import item_read, item_save
from digest.items.selectors import items_candidates
from digest.items.stories import stories_update
from digest.items.vectors import item_vectors_update, profile_refresh
from digest.models import Feed, Reader
from digest.sources.subscription_changes import subscriptions_remove
from digest.sources.subscriptions import opml_import, subscription_add
from digest.summaries.services import extracts_make
from tests.support.ingest import document_ingest

MARK = re.compile(r"zq[0-9a-f]{8}")
HOUR = timedelta(hours=1)
# Two headlines for each event that several feeds report, so that stories form.
NEWS = (
    ("Harbour ferry strike ends after talks", "Ferry strike at the harbour ends"),
    ("Minister resigns over stolen letters", "Stolen letters: minister resigns"),
    ("Comet visible above northern islands tonight", "Northern islands see comet tonight"),
    ("Old mill bridge reopens for carts", "Carts cross reopened old mill bridge"),
)
# A headline between two stories.
HYBRIDS = (
    "Ferry strike ends: minister resigns over letters",
    "Comet visible above mill bridge: northern carts",
)
LANGUAGES = ("en", "de", "")


@dataclass
class World:
    """One world: the feeds by name, and by reader the marks that may appear in an answer to them."""

    random: random.Random
    now: datetime
    readers: dict[str, Reader]
    feeds: dict[str, Feed] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)
    allowed: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    posts: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def mark(self, name: str, *readers: str) -> str:
        """Return the mark for `name`, which these readers may see."""
        mark = self.marks.setdefault(name, f"zq{self.random.getrandbits(32):08x}")
        for reader in readers:
            self.allowed[reader].add(mark)
        return mark

    def feed(self, name: str, url: str, *readers: str) -> Feed:
        """Return the feed at `url`, read by those readers. MARK in the address is its mark."""
        url = url.replace("MARK", self.mark(name, *readers))
        self.feeds[name] = feed_get_or_create(url=url, now=self.now)
        for reader in readers:
            subscription_add(reader=self.readers[reader], url=url, now=self.now - 60 * 24 * HOUR)
        return self.feeds[name]

    def post(self, name: str, title: str, link: str = "", hours: float = 5, edition: str = "") -> None:
        """Put an entry into the feed's document, marked all over; without a `link` at its own address."""
        mark, rng = self.marks[name], self.random
        words = f"{title} {mark}"
        link = link or f"{self.feeds[name].url.rpartition('/')[0]}/{mark}/{len(self.posts[name])}"
        self.posts[name].append(
            f"<item><title>{escape(words)}</title><link>{link}</link>"
            f"<guid isPermaLink='false'>{mark}-{len(self.posts[name])}{edition}</guid>"
            f"<pubDate>{self.now - hours * HOUR:%a, %d %b %Y %H:%M:%S GMT}</pubDate>"
            f"<dc:creator>Author {mark}</dc:creator><category>Topic {mark}</category>"
            f"<enclosure url='https://files.example/{mark}.mp3' type='audio/mpeg' length='1'/>"
            f"<description>{escape(f'{words}. It was told by {mark} at noon. ' * rng.randint(1, 4))}"
            f"&lt;img src='https://files.example/{mark}.png' alt='{mark}'&gt;</description></item>"
        )

    def ingest(self, name: str, hours: float) -> None:
        """Let the feed bring its document, `hours` ago."""
        mark = self.marks[name]
        body = (
            "<rss xmlns:dc='http://purl.org/dc/elements/1.1/'><channel>"
            f"<title>Feed {mark}</title><link>https://site.example/{mark}</link>"
            f"<description>About {mark}</description><language>{self.random.choice(LANGUAGES)}</language>"
            f"{''.join(self.posts[name])}</channel></rss>"
        )
        feed = Feed.objects.get(pk=self.feeds[name].pk)
        document_ingest(feed=feed, body=body.encode(), now=self.now - hours * HOUR)


def marked_world(seed: int, ada: Reader, ben: Reader) -> World:
    """Make the world of a seed."""
    world = World(random.Random(seed), timezone.now(), {"ada": ada, "ben": ben})
    _subscribe(world)
    _bring(world, 6)
    _move(world)
    _bring(world, 3)
    _import(world)
    stories_update(now=world.now)
    item_vectors_update(now=world.now)
    extracts_make(now=world.now)
    _respond(world)
    _leave(world)
    return world


def _subscribe(world: World) -> None:
    """Subscribe to publishers that others link to, to aggregators, and to two feeds of one host, one per
    reader."""
    for name, readers in {"ada": ["ada"], "ben": ["ben"], "both": ["ada", "ben"]}.items():
        for n in range(2):
            world.feed(f"press-{name}-{n}", f"https://press-{name}-{n}.example/feed.xml", *readers)
        world.feed(f"planet-{name}", "https://MARK.example/feed.xml", *readers)
    for name in world.random.sample(["ada", "ben"], 2):
        world.feed(f"hosted-{name}", f"https://hosted.example/{name}/feed.xml", name)
        world.feed(f"listed-{name}", f"https://localhost/{name}/feed.xml", name)


def _bring(world: World, hours: float) -> None:
    """Some of the news by some of the feeds, in any order, under any of their titles and dates."""
    moved = set(Feed.objects.filter(state=Feed.State.MOVED).values_list("pk", flat=True))
    rng, names = world.random, sorted(name for name, feed in world.feeds.items() if feed.pk not in moved)
    addresses = [f"https://{world.feeds[n].source_id}/{k}" for n in names if "press" in n for k in range(2)]
    for address in addresses:
        for name in rng.sample(names, rng.randint(1, 4)):
            title = rng.choice([*rng.choice(NEWS), rng.choice(HYBRIDS)])
            world.post(name, title, f"{address}-{hours}", hours=rng.uniform(1, 140), edition=f"-{hours}")
    for name in names:
        for title in rng.sample(NEWS, 2):
            world.post(name, title[0], hours=rng.uniform(1, 140))
    for n, name in enumerate(rng.sample(names, len(names))):
        world.ingest(name, hours - n / 10)


def _move(world: World) -> None:
    """Move feeds of each reader to an address that only the other reads, and to one that nobody read
    before."""
    for mover, other in (("ada", "ben"), ("ben", "ada")):
        target = world.feeds[f"listed-{other}"]
        feed_move(feed=Feed.objects.get(pk=world.feeds[f"hosted-{mover}"].pk), url=target.url, now=world.now)
        world.mark(f"listed-{other}", mover)
        fresh = f"https://127.0.0.1/{mover}/feed.xml"
        feed_move(feed=Feed.objects.get(pk=world.feeds[f"press-{mover}-1"].pk), url=fresh, now=world.now)
        world.feed(f"fresh-{mover}", fresh, "ada", "ben")


def _import(world: World) -> None:
    """Import each reader's own history, at addresses of articles that others read, and each reader's list."""
    for name, other in (("ada", "ben"), ("ben", "ada")):
        mark = world.mark(f"history of {name}", name)
        rows = [
            {
                "reader": name,
                "url": f"https://press-{other}-0.example/{n}-6",
                "title": f"History {mark}",
                "text": f"Text {mark}",
                "source": f"press-{other}-0.example" if n % 2 else f"old-{name}.example",
                "source_title": f"Source {mark}",
                "useful": n % 2,
                "at": (world.now - (10 + n) * HOUR).isoformat(),
            }
            for n in range(6)
        ]
        report = feedback_import(lines=map(json.dumps, rows), now=world.now, readers=[name])
        assert report.imported == len(rows), report
        listed = world.mark(f"list of {name}", name)
        addresses = [f"https://list-{n}.example/feed.xml" for n in range(2)]
        outlines = "".join(f"<outline text='{listed}' title='{listed}' xmlUrl='{url}'/>" for url in addresses)
        document = f"<opml version='2.0'><body>{outlines}</body></opml>".encode()
        assert opml_import(reader=world.readers[name], document=document, now=world.now).added == 2


def _respond(world: World) -> None:
    """Thumbs over weeks, with reasons, clear enough about half the sources; reads, saves."""
    rng = world.random
    for reader in world.readers.values():
        rated = items_candidates(reader_id=reader.pk, now=world.now)
        sources = sorted({row.source for row in rated})
        liked = rng.sample(sources, len(sources) // 2)
        for n, row in enumerate(rng.sample(rated, len(rated) * 2 // 3)):
            at = world.now - timedelta(days=n % 30, minutes=5)
            useful = (row.source in liked) is (rng.random() > 0.1)
            feedback_set(reader=reader, item_id=row.item_id, useful=useful, now=at)
            if n % 2:
                feedback_tags_set(reader=reader, item_id=row.item_id, tags=["depth"])
        for row in rng.sample(rated, 6):
            item_save(reader=reader, item_id=row.item_id, saved=True, now=world.now)
            item_read(reader=reader, item_id=row.item_id, now=world.now)
        profile_refresh(reader_id=reader.pk, now=world.now)


def _leave(world: World) -> None:
    """Let Ben leave a feed that both read. The items he rated stay his, and the rest is no longer shown."""
    subscriptions_remove(reader=world.readers["ben"], feed_ids=[world.feeds["planet-both"].pk], now=world.now)


def foreign(world: World, reader: str, text: str) -> Iterable[str]:
    """Yield the names of marks in this text that the reader may not see."""
    names = {mark: name for name, mark in world.marks.items()}
    # A signature may look like a mark by chance.
    found = {*MARK.findall(text.lower())} & names.keys()
    return sorted(names[mark] for mark in found - world.allowed[reader])
