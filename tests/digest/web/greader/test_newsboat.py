"""Newsboat, a reader others wrote, against a running Tidings: it syncs, reads, stars and marks a feed.

By its mode for FeedHQ, which any Newsboat since 2.9 has, in a terminal of tmux.
"""

import os
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_httpserver import HTTPServer

from digest.models import Reader, Reading
from tests.digest.web.greader.support import App
from tests.support.browser import fresh_item, subscribe
from tests.support.processes import wait_until

pytestmark = [pytest.mark.newsboat, pytest.mark.alike, pytest.mark.django_db(transaction=True)]
ITEMS = 30
DOCS = Path(__file__).resolve().parents[4] / "docs" / "api.md"
ADVICE = re.search(r'^urls-source "feedhq"\n.*?(?=^```)', DOCS.read_text(), re.DOTALL | re.MULTILINE)[0]


class Newsboat:
    """Newsboat in `folder` against the server at `origin`, with the configuration that the docs name."""

    def __init__(self, folder: Path, origin: str, reader: Reader, secret: str = "") -> None:
        self.folder, self.socket = folder, f"tidings-{os.getpid()}"
        given = {"https://your-site.example": origin, "your name": reader.username}
        given["your token"] = secret or App(reader).secret
        config = ADVICE
        for placeholder, value in given.items():
            config = config.replace(placeholder, value)
        more = ["feedhq-min-items 200", 'feedhq-flag-star "s"']
        (folder / "config").write_text("\n".join([config, *more]))
        self.command = ["newsboat", "-C", "config", "-u", "urls", "-c", "cache.db"]
        self.env = os.environ | {"XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}

    def reload(self) -> None:
        """Sync without a terminal."""
        subprocess.run([*self.command, "-x", "reload"], cwd=self.folder, env=self.env, check=True, timeout=60)

    def stored(self, query: str) -> list[tuple[object, ...]]:
        """Return rows that it has stored."""
        with closing(sqlite3.connect(self.folder / "cache.db")) as rows:
            return rows.execute(query).fetchall()

    def tmux(self, *arguments: str) -> str:
        """Return tmux's output."""
        done = subprocess.run(
            ["tmux", "-L", self.socket, *arguments],
            cwd=self.folder, env=self.env, check=True, timeout=20, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout

    def shows(self, words: str) -> None:
        """Wait until its screen has these words."""
        wait_until(lambda: words in self.tmux("capture-pane", "-p"), f"“{words}” on the screen")

    def keys(self, *keys: str) -> None:
        """Press keys."""
        self.tmux("send-keys", *keys)


@pytest.fixture
def newsboat(tmp_path: Path, live_server, ada: Reader) -> Iterator[Newsboat]:
    """Ada's Newsboat, ended with the test."""
    program = Newsboat(tmp_path, live_server.url, ada)
    yield program
    subprocess.run(["tmux", "-L", program.socket, "kill-server"], check=False, capture_output=True)


def test_newsboat_syncs_reads_stars_and_marks_a_feed(newsboat: Newsboat, ada: Reader):
    subscribe(ada, "gazette.example", "Gazette")
    items = [fresh_item(ada, hours=n + 1, title=f"Rain {n}", text="Wet.") for n in range(ITEMS)]
    fresh_item(ada, hours=1, key="harbour.example", title="A ferry")
    newsboat.reload()
    titles = newsboat.stored("SELECT title, content FROM rss_item WHERE unread ORDER BY pubDate DESC")
    assert len(titles) == ITEMS + 1 and ("Rain 0", "<p>Wet.</p>") in titles
    newsboat.tmux("new-session", "-d", "-x", "100", "-y", "30", *newsboat.command)
    newsboat.shows("(30/30) Gazette")
    newsboat.keys("Enter", "Enter")
    newsboat.shows("Title: Rain 0")
    newsboat.keys("Down")  # it tells the server before it takes the next key
    wait_until(lambda: read(ada) == {items[0].pk}, "read")
    newsboat.keys("C-e", "s", "Enter")
    newsboat.shows("Flags updated.")
    wait_until(Reading.objects.filter(reader=ada, item=items[0], saved_at__isnull=False).exists, "starred")
    newsboat.keys("q", "q")
    newsboat.shows("(29/30) Gazette")
    newsboat.keys("A")
    wait_until(lambda: read(ada) == {item.pk for item in items}, "the feed read")
    newsboat.keys("q", "y")


def test_what_was_read_elsewhere_is_read_in_newsboat(newsboat: Newsboat, ada: Reader):
    here, there = fresh_item(ada, title="Here"), fresh_item(ada, title="Elsewhere")
    newsboat.reload()
    Reading.objects.create(reader=ada, item=there, article=there.article, read_at=timezone.now())
    newsboat.reload()
    assert newsboat.stored("SELECT title FROM rss_item WHERE unread") == [(here.title,)]


@pytest.mark.parametrize("as_advised", [True, False])
def test_the_configuration_of_the_docs_sends_a_token_to_nobody_else(
    newsboat: Newsboat, ada: Reader, httpserver: HTTPServer, as_advised: bool
):
    """A proxy notes requests to other hosts. Without the advised line, Newsboat asks feedhq.org."""
    fresh_item(ada, title="Rain")
    config = newsboat.folder / "config"
    if not as_advised:
        config.write_text(config.read_text().replace("feedhq-show-special-feeds no", ""))
    newsboat.env |= {"http_proxy": httpserver.url_for(""), "https_proxy": httpserver.url_for("")}
    newsboat.env |= {"no_proxy": "127.0.0.1,localhost"}
    newsboat.reload()
    assert newsboat.stored("SELECT title FROM rss_item") == [("Rain",)]
    asked = {request.headers.get("Host", "") for request, _ in httpserver.log}
    assert asked == (set() if as_advised else {"feedhq.org"})


def read(reader: Reader) -> set[int]:
    """Return the items that the reader has read."""
    return set(Reading.objects.filter(reader=reader, read_at__isnull=False).values_list("item_id", flat=True))
