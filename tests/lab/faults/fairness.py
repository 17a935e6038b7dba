"""One reader does the worst in every shared place, while another opens a page, looks a site up, and so on.

The site is `serve` with one process, on the loopback. Mallory's publisher never ends an answer. Ada's has
another host. What Ada waits is measured before and meanwhile, each of her requests in turn.
"""

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Final

from django.conf import settings
from django.middleware.csrf import _get_new_csrf_string
from django.test import Client
from django.utils import timezone

from digest.articles.pictures import picture_href
from digest.models import Destination, Reader
from tests.lab.bench.running import Json
from tests.lab.faults.freezes import HOST, Shelf, asked, site
from tests.lab.faults.servers import spare_port
from tests.support.documents import MADE
from tests.support.factories import (
    FeedFactory,
    ItemFactory,
    ReaderFactory,
    SourceFactory,
    SubscriptionFactory,
)

PORT: Final = 18700
MALLORYS_HOST: Final = "127.0.0.2"
SILENT_S: Final = 60.0
PICTURE: Final = b"\x89PNG\r\n\x1a\n" + bytes(64)
TEXT: Final = b"<p>The council opened the harbour again.</p>" * 60
PAGE: Final = b"<html><body><article>" + TEXT + b"</article></body></html>"
# How long Mallory is at it before Ada is measured, and how often Ada does each thing in each phase.
WARM_S: Final = 3.0
TIMES, TIMES_FULL = 5, 15
# What a wait may have more than twice the quiet one: below this nobody notices.
UNNOTICED_S: Final = 0.1
Act = Callable[[], int]


def run(name: str, full: bool) -> Json:
    """The figures: Ada's median wait of each kind, quiet and meanwhile, in seconds."""
    times = TIMES_FULL if full else TIMES
    port = spare_port(PORT)
    hosts = f"{HOST},{MALLORYS_HOST}"
    told = {"FULL_TEXT": "true", "FETCH_ALLOW_HOSTS": hosts, "NOTIFY_ALLOW_HOSTS": hosts}
    command = ("manage.py", "serve", "--port")
    with both_publishers() as shelf, site(command, port, shelf, **told):
        ada, mallory = person("ada"), person("mallory")
        acts = things_to_do(ada, port, shelf, times)
        quiet, refused_quiet = measured(acts, times)
        with attacked(mallory, port, shelf) as requests:
            time.sleep(WARM_S)
            meanwhile, refused = measured(acts, times)
    slow = [what for what in acts if meanwhile[what] > 2 * quiet[what] + UNNOTICED_S]
    return {
        "requests": sum(requests.values()),
        "attacks": requests,
        "quiet_s": quiet,
        "meanwhile_s": meanwhile,
        "slow": len(slow),
        "slow_at": slow,
        "refused": refused,
        "refused_quiet": refused_quiet,
    }


def person(name: str) -> Reader:
    """A reader with a source, thirty items, one of which has a page at this reader's publisher."""
    reader = ReaderFactory(username=name)
    source = SourceFactory(key=f"{name}.example")
    feed = FeedFactory(source=source)
    SubscriptionFactory(reader=reader, feed=feed)
    ItemFactory.create_batch(30, source=source, feed=feed, published_at=timezone.now())
    return reader


def headers_of(reader: Reader) -> dict[str, str]:
    """The headers of a form that a signed-in reader sends."""
    client, token = Client(), _get_new_csrf_string()
    client.force_login(reader)
    cookie = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    form = "application/x-www-form-urlencoded"
    return {"Cookie": f"{cookie}; csrftoken={token}", "X-CSRFToken": token, "Content-Type": form}


def things_to_do(reader: Reader, port: int, shelf: Shelf, times: int) -> dict[str, Act]:
    """What Ada does. Each look-up, picture and full text is of an address of its own."""
    headers, numbers = headers_of(reader), count()
    feed = reader.subscriptions.get().feed

    def get(path: str) -> int:
        return asked(port, "GET", path, headers=headers)[0]

    def post(path: str, fields: str) -> int:
        return asked(port, "POST", path, headers=headers, body=fields.encode())[0]

    def page_of_item() -> int:
        address = f"http://{HOST}:{shelf.port}/page/{next(numbers)}"
        item = ItemFactory(source=feed.source, feed=feed, url=address, published_at=timezone.now())
        return post(f"/ui/item/{item.pk}/full-text", "")

    return {
        "page": lambda: get("/"),
        "look-up": lambda: post("/ui/sources", f"url=http://{HOST}:{shelf.port}/feed/{next(numbers)}"),
        "picture": lambda: get(
            picture_href(f"http://{HOST}:{shelf.port}/picture/{next(numbers)}", inside=True)
        ),
        "full text": page_of_item,
        "preview": lambda: get(f"/ui/mutes?kind=word&value=word{next(numbers)}&until="),
    }


def measured(acts: dict[str, Act], times: int) -> tuple[dict[str, float], list[str]]:
    """The median wait of each, in seconds, and what was refused or broke."""
    waits: dict[str, list[float]] = {what: [] for what in acts}
    refused = []
    for _ in range(times):
        for what, act in acts.items():
            began = time.monotonic()
            status = act()
            waits[what].append(time.monotonic() - began)
            refused += [f"{what}: {status}"] if status not in (200, 302) else []
    return {what: round(statistics.median(some), 3) for what, some in waits.items()}, refused


@contextmanager
def attacked(reader: Reader, port: int, shelf: Shelf) -> Iterator[dict[str, int]]:
    """Mallory does the worst of each kind, three at a time, until the block ends; yields the counts."""
    headers, numbers, over = headers_of(reader), count(), threading.Event()
    silent = f"http://{MALLORYS_HOST}:{shelf.port}/silent"
    hook = Destination.objects.create(
        reader=reader, kind="webhook", address=f"{silent}/hook", created_at=timezone.now()
    )
    feed = reader.subscriptions.get().feed
    items = [
        ItemFactory(source=feed.source, feed=feed, url=f"{silent}/{n}", published_at=timezone.now()).pk
        for n in range(60)
    ]
    outlines = "".join(f'<outline xmlUrl="https://h{n}.example/"/>' for n in range(5_000))
    upload = {**headers, "Content-Type": "multipart/form-data; boundary=xx"}
    head = '--xx\r\nContent-Disposition: form-data; name="file"; filename="a.opml"\r\n\r\n'
    listed = f"{head}<opml><body>{outlines}</body></opml>\r\n--xx--\r\n".encode()

    def post(path: str, fields: str = "") -> int:
        return asked(port, "POST", path, headers=headers, body=fields.encode())[0]

    def get(path: str) -> int:
        return asked(port, "GET", path, headers=headers)[0]

    worst: dict[str, Act] = {
        "look-ups": lambda: post("/ui/sources", f"url={silent}/{next(numbers)}"),
        "full texts": lambda: post(f"/ui/item/{items[next(numbers) % len(items)]}/full-text"),
        "tests": lambda: post(f"/ui/account/destinations/{hook.pk}/test"),
        "pictures": lambda: get(picture_href(f"{silent}/{next(numbers)}", inside=True)),
        "previews": lambda: get(f"/ui/mutes?kind=word&value=w{next(numbers)}&until="),
        "imports": lambda: asked(port, "POST", "/ui/sources/import", headers=upload, body=listed)[0],
        "runs": lambda: post("/ui/suggestions/generate"),
        "exports": lambda: get("/ui/account/export"),
    }
    counts = dict.fromkeys(worst, 0)

    def go_on(what: str) -> None:
        while not over.is_set():
            with suppress(OSError):
                status = worst[what]()
                counts[what] += 1
                over.wait(0.5 if status == 429 else 0.05)

    with ExitStack() as stack:
        stack.callback(over.set)
        for what in worst:
            for _ in range(3):
                threading.Thread(target=go_on, args=(what,), daemon=True).start()
        yield counts


@contextmanager
def both_publishers() -> Iterator[Shelf]:
    """Ada's publisher and Mallory's, on one port of two loopback addresses."""
    over = threading.Event()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind = self.path.split("/")[1]
            if kind == "silent":
                over.wait(SILENT_S)
                return
            body = {"feed": MADE[0], "picture": PICTURE, "page": PAGE}.get(kind)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Type", "text/html" if kind == "page" else "application/octet-stream")
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(body or b"")

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    with Server((HOST, 0), Answers) as mine, Server((MALLORYS_HOST, mine.server_port), Answers) as theirs:
        for server in (mine, theirs):
            threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Shelf(mine.server_port)
        over.set()
        mine.shutdown()
        theirs.shutdown()
