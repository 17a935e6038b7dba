"""One reader puts the heaviest load on every shared place, while another reads on.

Mallory looks up sites, fetches full texts and pictures, tests and saves at servers that send a byte a second,
takes exports without reading them, imports lists and stars, asks for previews, wishes and suggestions,
searches, and opens lists and her page: each as often as its limit allows, all at once. Ada opens her page and
her list, searches, looks up a site, fetches a picture and a full text, and asks for a preview. Blocks without
and with Mallory alternate, so other load on the machine is in both. The figure is the median of Ada's times
beside Mallory, divided by that of her quiet ones.

The site is `serve` on SQLite, or one process of gunicorn with a Celery worker on the services. The control is
a site whose places do not know their reader and that answers everything at once: there Ada must be refused.
"""

import http.client
import itertools
import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from statistics import median
from typing import Final
from urllib.parse import urlencode

from django.conf import settings
from django.db import connections
from django.middleware.csrf import _get_new_csrf_string
from django.test import Client
from django.utils import timezone

from digest.articles.pictures import picture_href
from digest.models import Destination, Feed, FullText, Item, Reader
from ranking.common.encryption import secret_encrypt
from tests.lab.bench.publisher import address, publishers
from tests.lab.bench.running import Json
from tests.lab.faults.crowd import nights_over
from tests.lab.faults.freezes import asked, site
from tests.lab.faults.model_server import model_server
from tests.lab.faults.model_server import settings_of as model_settings
from tests.lab.faults.servers import HOST, spare_port
from tests.lab.faults.workers import until, worker, working
from tests.support.factories import (
    FeedFactory,
    ItemFactory,
    ReaderFactory,
    SourceFactory,
    SubscriptionFactory,
)

PORT = 18800
SERVE = ("manage.py", "serve", "--port")
UNFAIR = ("-m", "tests.lab.faults.unfair", "serve", "--port")
GUNICORN = ("-m", "gunicorn", "--config", "deploy/gunicorn.conf.py", "config.wsgi", "-b")
# Mallory's host, and Ada's: a host is asked by one reader at a time, which is another matter.
QUICK, SLOW, SLOW_HOSTS = 1, 2, 500
FEEDS, ITEMS_A_FEED = 40, 100
# The seconds until Mallory holds all she can get, and until her requests have ended.
BEGINS_S, ENDS_S = 20.0, 60.0
# A refusal for want of a place says to come again after so many seconds. She comes so often.
RETRY_S, RETRIES = 2.0, 3
TOO_MANY = 429
EXPORT_HELD_S = 10.0
PLACES_TAKEN: Final = ("look-up", "picture", "export", "preview", "search", "list")
_numbers = itertools.count()


@dataclass
class Browser:
    """A reader who is signed in, in a browser of their own."""

    reader: Reader
    port: int
    headers: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        client, token = Client(), _get_new_csrf_string()
        client.force_login(self.reader)
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        cookie = f"{settings.SESSION_COOKIE_NAME}={session}; csrftoken={token}"
        self.headers = {"Cookie": cookie, "X-CSRFToken": token}

    def get(self, path: str) -> int:
        """Return the status of a page."""
        return asked(self.port, "GET", path, headers=self.headers)[0]

    def post(self, path: str, **fields: str) -> int:
        """Return the status of a form."""
        headers = {**self.headers, "Content-Type": "application/x-www-form-urlencoded"}
        return asked(self.port, "POST", path, headers=headers, body=urlencode(fields).encode())[0]

    def upload(self, path: str, name: str, document: bytes) -> int:
        """Return the status of a form with a file."""
        headers = {**self.headers, "Content-Type": "multipart/form-data; boundary=xx"}
        head = f'--xx\r\nContent-Disposition: form-data; name="{name}"; filename="a"\r\n\r\n'
        return asked(
            self.port, "POST", path, headers=headers, body=head.encode() + document + b"\r\n--xx--\r\n"
        )[0]

    def hold(self, path: str) -> int:
        """Ask for a document and read nothing of it."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=ENDS_S)
        try:
            connection.request("GET", path, headers=self.headers)
            status = connection.getresponse().status
            time.sleep(EXPORT_HELD_S)
            return status
        finally:
            connection.close()


# An action, and the seconds until it is repeated, as often as its limit allows.
Deed = tuple[Callable[[], int], float]


def run(name: str, full: bool) -> Json:
    """Return the figures; without `full` one block of few tries."""
    nights_over()
    blocks, tries = (6, 9) if full else (1, 4)
    command = GUNICORN if settings.REDIS_URL else SERVE
    with ground() as (publisher, model):
        found = measured(command, publisher, model, blocks=blocks, tries=tries, alone=True)
        control = measured(UNFAIR, publisher, model, blocks=1, tries=2)
    return {**found, "control_found": control["refused"], "control_refused_at": control["refused_at"]}


@contextmanager
def ground() -> Iterator[tuple[int, int]]:
    """Yield the ports of publishers and of a model that takes five seconds for an answer."""
    connections.close_all()  # the model's process is forked from none that has a connection
    with publishers() as publisher, model_server() as model:
        yield publisher, model


def measured(
    command: tuple[str, ...], publisher: int, model: int, *, blocks: int, tries: int, alone: bool = False
) -> Json:
    """Ada's times without and with Mallory, on a site of this command; `alone`: then Mallory's actions."""
    port = spare_port(PORT)
    told = {
        "FETCH_ALLOW_HOSTS": ",".join(address(n) for n in range(SLOW + 1 + SLOW_HOSTS)),
        "NOTIFY_ALLOW_HOSTS": f"{address(SLOW)}:{publisher},{address(QUICK)}:{publisher}",
        "FULL_TEXT": "true",
        **model_settings(model, "slow-5"),
    }
    times: dict[bool, dict[str, list[float]]] = {True: defaultdict(list), False: defaultdict(list)}
    refused, hers = Counter[str](), Counter[str]()
    with ExitStack() as stack:
        stack.enter_context(site(command, port, publisher, **told))
        if settings.REDIS_URL:
            stack.enter_context(working(worker(told)))
        large = feeds_filled(publisher)
        for _ in range(blocks):
            # New readers each time, so that no hourly limit stops them.
            ada, ben = (Browser(reader_new(large[:3], publisher), port) for _ in range(2))
            block(ada, publisher, tries, times[False], refused)
            mallory = Browser(reader_new(large, publisher), port)
            with doing_the_worst(mallory, publisher, hers):
                block(ben, publisher, tries, times[True], refused)
        # Somebody new, since how much of her hourly limits is left depends on how long this took.
        another = Browser(reader_new(large[:3], publisher), port)
        answers = one_by_one(another, publisher) if alone else {}
    ratios = {name: median(times[True][name]) / median(times[False][name]) for name in times[True]}
    return {
        "blocks": blocks,
        "tries": sum(map(len, times[True].values())),
        "hers": hers.total(),
        "her_answers": dict(sorted(hers.items())),
        "alone": answers,
        "refused": refused.total(),
        "refused_at": dict(refused),
        "ratio": round(max(ratios.values()), 2),
        "ratios": {name: round(ratio, 2) for name, ratio in ratios.items()},
        "quiet_ms": {name: round(median(took) * 1000) for name, took in times[False].items()},
        "beside_ms": {name: round(median(took) * 1000) for name, took in times[True].items()},
        "beside_worst_ms": {name: round(max(took) * 1000) for name, took in times[True].items()},
    }


def feeds_filled(publisher: int) -> list[Feed]:
    """Feeds with articles of the last two days, a few thousand in all."""
    now, found = timezone.now(), []
    for n in range(FEEDS):
        key = f"large{next(_numbers)}.example"
        feed = FeedFactory(source=SourceFactory(key=key))
        items = [
            ItemFactory.build(
                source=feed.source,
                feed=feed,
                title=f"{key} reports on harbour {n} and council {hour}",
                text="rain wind river council harbour library museum tram bridge market garden " * 10,
                published_at=now - timedelta(minutes=25 * hour),
            )
            for hour in range(ITEMS_A_FEED)
        ]
        Item.objects.bulk_create(items)
        found.append(feed)
    return found


def reader_new(feeds: list[Feed], publisher: int) -> Reader:
    """Create a reader of these feeds, and of one whose articles are slow and quick pages of a publisher."""
    reader = ReaderFactory(username=f"reader-{next(_numbers)}", time_zone="UTC")
    for feed in feeds:
        SubscriptionFactory(reader=reader, feed=feed)
    kind, host = ("drip", SLOW) if len(feeds) == FEEDS else ("article", QUICK)
    source = SourceFactory(key=f"{reader.username}.example")
    feed = FeedFactory(source=source, url=f"http://{address(host)}:{publisher}/good/{reader.username}")
    SubscriptionFactory(reader=reader, feed=feed)
    for n in range(40):
        at = host + n if kind == "drip" else host
        url = f"http://{address(at)}:{publisher}/{kind}/{next(_numbers)}"
        ItemFactory(source=source, feed=feed, url=url, published_at=timezone.now() - timedelta(hours=30))
    return reader


def block(
    ada: Browser, publisher: int, tries: int, times: dict[str, list[float]], refused: Counter[str]
) -> None:
    """Do each of Ada's actions this many times, in turn."""
    mine = f"http://{address(QUICK)}:{publisher}"
    pages = iter(Item.objects.filter(url__contains="/article/", feed__subscriptions__reader=ada.reader))

    def full_text() -> bool:
        item = next(pages)
        ada.post(f"/ui/item/{item.pk}/full-text")
        return FullText.objects.filter(item=item).exclude(html=b"").exists()

    deeds: dict[str, Callable[[], bool]] = {
        "page": lambda: ada.get("/") == 200,
        "list": lambda: ada.get("/ui/all") == 200,
        "search": lambda: ada.get("/ui/search?q=harbour+council") == 200,
        "look-up": lambda: ada.post("/ui/sources", url=f"{mine}/good/{next(_numbers)}") == 302,
        "picture": lambda: ada.get(picture_href(f"{mine}/picture/{next(_numbers)}", inside=True)) == 200,
        "full text": full_text,
        "preview": lambda: ada.get("/ui/mutes?kind=word&value=harbour&until=") == 200,
    }
    for _ in range(tries):
        for name, deed in deeds.items():
            began = time.monotonic()
            done = False
            with suppress(OSError, http.client.HTTPException):
                done = deed()
            times[name].append(time.monotonic() - began)
            refused[name] += not done
    for name in deeds:
        if not refused[name]:
            del refused[name]


def worst_deeds(mallory: Browser, publisher: int) -> dict[str, list[Deed]]:
    """Return Mallory's actions, each for its own thread."""

    # Another host each time: one that hangs is not asked again for a minute.
    def slow() -> str:
        return f"{drip(SLOW + 1 + next(_numbers) % SLOW_HOSTS)}/{next(_numbers)}"

    def drip(n: int) -> str:
        return f"http://{address(n)}:{publisher}/drip"

    reader = mallory.reader
    items = itertools.cycle(Item.objects.filter(feed__source_id=f"{reader.username}.example"))
    sealed = {"webhook": "whsec_" + "a" * 32, "readeck": "a" * 32}
    hook, _ = (
        Destination.objects.create(
            reader=reader,
            kind=kind,
            address=f"{drip(SLOW)}/{kind}",
            secret=secret_encrypt(secret),
            created_at=timezone.now(),
        )
        for kind, secret in sealed.items()
    )
    outlines = "".join(f'<outline text="a{n}" xmlUrl="{slow()}"/>' for n in range(1900))
    opml = f'<opml version="2.0"><body>{outlines}</body></opml>'.encode()
    stars = [
        {"title": "x " * 50, "url": f"https://a{n}.example/", "content": "y " * 200} for n in range(5000)
    ]
    past = json.dumps(stars).encode()
    return {
        "look-up": [(lambda: mallory.post("/ui/sources", url=slow()), 6.0)] * 2,
        "full text": [(lambda: mallory.post(f"/ui/item/{next(items).pk}/full-text"), 4.0)],
        "test": [(lambda: mallory.post(f"/ui/account/destinations/{hook.pk}/test"), 3.0)],
        "save": [(lambda: mallory.post(f"/ui/item/{next(items).pk}/send"), 3.0)],
        "picture": [(lambda: mallory.get(picture_href(slow(), inside=True)), 0.5)] * 5,
        "suggestions": [(lambda: mallory.post("/ui/suggestions/generate"), 6.0)] * 2,
        "import": [
            (lambda: mallory.upload("/ui/sources/import", "file", opml), 10.0),
            (lambda: mallory.upload("/ui/sources/import", "file", past), 10.0),
        ],
        "preview": [
            (lambda: mallory.get("/ui/mutes?kind=word&value=harbour&until="), 0.0),
            (lambda: mallory.post("/ui/sources/preview", whole="1", level="more"), 0.0),
            (lambda: mallory.post("/ui/wishes", words="less about harbour, more about council"), 6.0),
        ],
        "search": [(lambda: mallory.get("/ui/search?q=harb+OR+counc+OR+libr"), 1.0)] * 3,
        "list": [
            (lambda: mallory.get("/ui/all?order=best"), 0.0),
            (lambda: mallory.get("/ui/all"), 0.0),
            (lambda: mallory.get("/"), 0.0),
        ],
        "export": [(lambda: mallory.hold("/ui/account/export"), 5.0)] * 2,
    }


def one_by_one(mallory: Browser, publisher: int) -> dict[str, list[int]]:
    """Do each of the worst actions alone, at quick servers, again for as long as it is refused.

    Return the last statuses. Nothing disturbs them, so each gets through on a machine of any speed.
    """
    mine = f"http://{address(QUICK)}:{publisher}"
    deeds = worst_deeds(mallory, publisher)
    Destination.objects.filter(reader=mallory.reader).update(address=f"{mine}/good/0")
    deeds["look-up"] = [(lambda: mallory.post("/ui/sources", url=f"{mine}/good/{next(_numbers)}"), 0.0)]
    picture = picture_href(f"{mine}/picture/{next(_numbers)}", inside=True)
    deeds["picture"] = [(lambda: mallory.get(picture), 0.0)]

    def last_status(deed: Callable[[], int]) -> int:
        for _ in range(RETRIES):
            if (status := deed()) != TOO_MANY:
                break
            time.sleep(RETRY_S)
        return status

    once = {name: dict.fromkeys(deed for deed, _ in same) for name, same in deeds.items()}
    return {name: [last_status(deed) for deed in same] for name, same in once.items()}


@contextmanager
def doing_the_worst(
    mallory: Browser, publisher: int, answers: Counter[str], without: Collection[str] = ()
) -> Iterator[None]:
    """Run Mallory's actions, without some, during the block. Wait at the end until her requests have
    ended."""
    over, lock, began = threading.Event(), threading.Lock(), Counter[str]()

    def go_on(name: str, deed: Callable[[], int], pause_s: float) -> None:
        while not over.is_set():
            at = time.monotonic()
            with lock:
                began[name] += 1
            try:
                status = str(deed())
            except (OSError, http.client.HTTPException) as error:
                status = type(error).__name__
            with lock:
                answers[f"{name} {status}"] += 1
            # A refusal takes milliseconds: asking again at once would be a flood, which is for the proxy.
            over.wait(max(pause_s - (time.monotonic() - at), 0.2))

    threads = [
        threading.Thread(target=go_on, args=(name, *deed), daemon=True)
        for name, deeds in worst_deeds(mallory, publisher).items()
        for deed in deeds
        if name not in without
    ]
    for thread in threads:
        thread.start()
    until(lambda: all(began[name] for name in PLACES_TAKEN), BEGINS_S)
    time.sleep(2.0)
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(ENDS_S)
