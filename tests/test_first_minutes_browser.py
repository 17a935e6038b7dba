"""The first minutes in a real browser, with the real server and its worker: from a list to a digest."""

import gzip
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.config.test_serve import ROOT, fetched, heartbeat_wait, place, port_free
from tests.support.publishers import DATE, address, dated_anew, hours_ago, opml, publishers
from tests.test_pages_browser import browser

__all__ = ["browser", "place"]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.alike,
    pytest.mark.data,
    pytest.mark.django_db(transaction=True),
]

FEEDS, BROKEN, SLOW = 250, 7, 3
PASSWORD = "a-lamp-and-a-kettle"


@pytest.fixture
def documents(data_dir: Path) -> dict[str, bytes]:
    """Captured feeds with dates, by address, their newest items 0 to 30 hours old; some are out of order."""
    folders = [data_dir / "feeds" / name for name in ("real-captured", "real-smallweb")]
    texts = [
        text for folder in folders for path in sorted(folder.iterdir()) if DATE.search(text := read(path))
    ]
    found = {}
    for n in range(FEEDS):
        anew = dated_anew(texts[n % len(texts)], hours_ago(n * 7 % 30))
        found[address(n)] = b"" if n < BROKEN else anew.encode("utf-8", "surrogateescape")
    return found


def read(path: Path) -> str:
    body = path.read_bytes()
    return (gzip.decompress(body) if path.suffix == ".gz" else body).decode("utf-8", "surrogateescape")


@contextmanager
def site(place: dict[str, str], hosts: list[str]) -> Iterator[str]:
    """`serve` with its worker; gives its address."""
    port = port_free()
    environment = {**place, "FETCH_ALLOW_HOSTS": ",".join(hosts)}
    command = [sys.executable, "manage.py", "serve", "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    try:
        fetched(f"http://127.0.0.1:{port}/healthz")
        heartbeat_wait(place)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


def signed_up(page: Page, home: str) -> None:
    page.goto(f"{home}/accounts/signup/")
    page.get_by_label("Username").fill("cleo")
    page.locator("[name=password1]").fill(PASSWORD)
    page.locator("[name=password2]").fill(PASSWORD)
    page.get_by_role("button", name="Create my account").click()


def processor_seconds() -> float:
    """Return the processor time of all servers that have ended: other work on the machine adds little to
    it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.nightly
def test_a_list_of_250_feeds_is_a_digest_of_many_sources_within_a_minute(
    browser, place: dict[str, str], documents: dict[str, bytes], record_property
):
    slow = dict.fromkeys(list(documents)[-SLOW:], 8.0)
    before = processor_seconds()
    with publishers(documents, slow=slow) as (port, asked), site(place, list(documents)) as home:
        page = browser.new_page()
        page.set_default_timeout(300_000)
        signed_up(page, home)
        page.get_by_role("link", name="Import your list of feeds").click()
        feeds = {f"Feed {n}": f"http://{host}:{port}/feed.xml" for n, host in enumerate(documents)}
        page.locator("#id_file").set_input_files(
            {"name": "mine.opml", "mimeType": "text/x-opml", "buffer": opml(feeds)}
        )
        began = time.monotonic()
        page.get_by_role("button", name="Import", exact=True).click()
        expect(page.locator("[data-words]")).to_contain_text(f"of {FEEDS}")
        page.goto(f"{home}/")
        expect(page.locator("article.item").first).to_be_visible()
        first = time.monotonic() - began
        # The page moves on and fills by itself, without a click.
        expect(page.locator("[data-filling]")).to_have_count(0, timeout=300_000)
        done = time.monotonic() - began
        named = [text.split(" · ")[0] for text in page.locator("article.item > .meta").all_inner_texts()]
        sources = set(named)
        record_property("seconds", f"first item {first:.1f}, done {done:.1f}, sources {len(sources)}")
        print(f"{len(documents)} feeds: first item {first:.1f} s, done {done:.1f} s, {len(sources)} sources")
        assert page.locator("article.item").count() == 30
        assert len(sources) >= 15
        assert sorted(asked) == sorted(documents)  # every publisher was asked once
        page.goto(f"{home}/ui/sources")
        expect(page.locator(".page-head")).to_contain_text(
            re.compile(r"250 feeds in your digest\. \d+ in trouble")
        )
        page.close()
    # A minute of an idle processor; a busy one counts up to half as much again for the same work.
    assert processor_seconds() - before <= 90


def test_from_sign_up_to_twenty_items_read_here_within_a_minute(
    browser, place: dict[str, str], documents: dict[str, bytes], record_property
):
    long = sorted(documents, key=lambda host: -documents[host].count(b"</item>"))[:3]
    before = processor_seconds()
    with (
        publishers({host: documents[host] for host in long}) as (port, _),
        site(place, long) as home,
    ):
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(120_000)
        began = time.monotonic()
        signed_up(page, home)
        page.get_by_role("button", name="Not now").click()
        for host in long:
            page.goto(f"{home}/ui/sources")
            page.get_by_label("A site or a feed").fill(f"http://{host}:{port}/feed.xml")
            page.get_by_role("button", name="Add", exact=True).click()
            expect(page.get_by_text("Its posts are here.")).to_be_visible()
        page.goto(f"{home}/")
        expect(page.get_by_text("30 of 30 unread")).to_be_visible()
        titles = page.locator("article.item h2").all_inner_texts()
        for title in titles[:20]:
            page.keyboard.press("j")
            page.keyboard.press("Enter")
            expect(page.locator("[data-pane] h1, [data-pane] h2").first).to_have_text(title)
        took = time.monotonic() - began
        page.reload()
        expect(page.get_by_text("10 of 30 unread")).to_be_visible()
        record_property("seconds", f"{took:.1f}")
        print(f"sign-up to 20 items read: {took:.1f} s")
        page.close()
    assert processor_seconds() - before <= 60
