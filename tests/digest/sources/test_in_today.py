"""A source that its reader keeps out of Today is in All and its folder, and in no digest."""

from datetime import datetime

import pytest
from django.test import Client
from django.utils import timezone

from digest.daily.candidates import digest_candidates, digest_candidates_many, window_load
from digest.days import day_of
from digest.models import Reader, Subscription
from digest.mutes.preview import mute_preview
from ranking.entities import Mute
from tests.support.browser import fresh_item

PAPER, RIVER = "gazette.example", "river.example"


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Ada's browser. She reads a paper and a river of news in a folder."""
    client.force_login(ada)
    for n in range(3):
        fresh_item(ada, hours=n + 1, title=f"Paper {n}")
        fresh_item(ada, hours=n + 1, key=RIVER, title=f"River {n}")
    Subscription.objects.filter(feed__source_id=RIVER).update(folder="News")
    return client


def keep_out(page: Client, reader: Reader, *, kept: bool = True) -> None:
    feed = reader.subscriptions.get(feed__source_id=RIVER).feed_id
    form = {"own_name": "", "folder": "News", "ai_enabled": "on"} | ({} if kept else {"in_today": "on"})
    assert page.post(f"/ui/sources/{feed}", form).status_code == 302


def candidates(reader: Reader, now: datetime) -> tuple[set[str], set[str]]:
    """Return the sources of the day's candidates, on demand and as the nightly build has them."""
    day = day_of(now, reader.zone)
    alone = digest_candidates(reader=reader, date=day, now=now)
    found = digest_candidates_many(window=window_load(now=now), readers=[reader], days={reader.pk: day})
    both = alone, found[reader.pk]
    return tuple(
        {one.origins[int(pk)][0] for pk in (one.pool.ids if one.rows is None else one.pool.ids[one.rows])}
        for one in both
    )


def test_what_is_kept_out_is_in_no_digest_but_in_all_and_its_folder(page: Client, ada: Reader):
    now = timezone.now()
    assert candidates(ada, now) == ({PAPER, RIVER}, {PAPER, RIVER})
    keep_out(page, ada)
    assert candidates(ada, now) == ({PAPER}, {PAPER})
    today = page.get("/").content.decode()
    assert "Paper 0" in today and "River" not in today.split("data-thumbs", 1)[1].split("</main>")[0]
    for address in ("/ui/all", "/ui/all?folder=News", "/ui/search?q=river"):
        assert "River 0" in page.get(address).content.decode(), address
    sources = page.get("/ui/sources").content.decode()
    assert "not in Today" in sources and "1 feed in your digest." in sources
    keep_out(page, ada, kept=False)
    assert candidates(ada, now) == ({PAPER, RIVER}, {PAPER, RIVER})


def test_a_source_leaves_and_joins_today_at_the_next_look(page: Client, ada: Reader):
    assert "River 0" in page.get("/").content.decode()
    keep_out(page, ada)
    assert "River 0" not in page.get("/").content.decode()
    keep_out(page, ada, kept=False)
    assert "River 0" in page.get("/").content.decode()


def test_a_mute_counts_what_it_hides_outside_of_today(page: Client, ada: Reader):
    keep_out(page, ada)
    found = mute_preview(reader=ada, mute=Mute("word", "river"), now=timezone.now())
    assert (found.hides, found.total, len(found.titles)) == (3, 6, 3)


def test_a_muted_source_is_no_feed_of_the_digest_and_the_lists_say_so(page: Client, ada: Reader):
    assert "2 feeds in your digest." in page.get("/ui/sources").content.decode()
    assert "muted" not in page.get("/ui/all?side=1").content.decode()
    page.post("/ui/mutes/add", {"kind": "source", "value": RIVER})
    sources = page.get("/ui/sources").content.decode()
    assert "1 feed in your digest." in sources and "muted" in sources
    (folder, loose) = page.get("/ui/all").context["side"]
    assert [(one.name, one.muted) for one in (*folder.feeds, *loose.feeds)] == [
        ("River", True),
        ("Gazette", False),
    ]
    for address in (f"/ui/all?source={RIVER}", folder.feeds[0].href):
        assert "You muted this source" in page.get(address).content.decode()
    for address in ("/ui/all", f"/ui/all?source={PAPER}"):
        assert "You muted this source" not in page.get(address).content.decode()


def test_it_is_one_readers_choice(page: Client, ada: Reader, ben: Reader):
    feed = ada.subscriptions.get(feed__source_id=RIVER).feed
    Subscription.objects.create(reader=ben, feed=feed, created_at=timezone.now())
    keep_out(page, ada)
    assert candidates(ben, timezone.now()) == ({RIVER}, {RIVER})


def test_a_feed_kept_out_lends_no_words_to_a_story_of_another(page: Client, ada: Reader):
    paper = fresh_item(ada, hours=1, title="One article")
    river = fresh_item(ada, hours=1, key=RIVER, title="One article")
    type(river).objects.filter(pk=river.pk).update(article=paper.article)
    keep_out(page, ada)
    now = timezone.now()
    found = digest_candidates(reader=ada, date=day_of(now, ada.zone), now=now)
    assert paper.pk in found.origins and river.pk not in found.origins
