"""One reader puts the heaviest load on every shared place, while another reads on.

Mallory looks up sites, fetches full texts and pictures, tests and saves at servers that send a byte a second,
takes exports without reading them, imports lists and stars, asks for previews, wishes and suggestions,
searches, and opens lists and her page: each as often as its limit allows, all at once. Ada opens her page and
her list, searches, looks up a site, fetches a picture and a full text, and asks for a preview. Blocks without
and with Mallory alternate, so other load on the machine is in both. The figure is the median of Ada's times
beside Mallory, divided by that of her quiet ones: by the clock, and by the processor time that the process of
the site takes until she has her answer. Other load on the machine lengthens the second less, but it leaves
out how long she waits for a lock, and it says nothing of actions that wait for another site.

The site is `serve` on SQLite, or one process of gunicorn with a Celery worker on the services. The control is
a site whose places do not know their reader and that answers everything at once: there Ada must be refused.
"""

import http.client
import itertools
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median

from django.conf import settings
from django.db import connections
from django.utils import timezone

from digest.articles.pictures import picture_href
from digest.models import Destination, Feed, FullText, Item, Reader
from tests.lab.bench.publisher import address, publishers
from tests.lab.bench.running import Json
from tests.lab.faults.crowd import nights_over
from tests.lab.faults.freezes import site
from tests.lab.faults.mallory import QUICK, SLOW, SLOW_HOSTS, Browser, doing_the_worst, worst_deeds
from tests.lab.faults.model_server import model_server
from tests.lab.faults.model_server import settings_of as model_settings
from tests.lab.faults.servers import spare_port
from tests.lab.faults.workers import worker, working
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
FEEDS, ITEMS_A_FEED = 40, 100
# A refusal for want of a place says to come again after so many seconds. She comes so often.
RETRY_S, RETRIES = 2.0, 3
TOO_MANY = 429
DONE = (200, 302)
# Actions that wait for no other site. While the others wait, Mallory may have the processor.
COMPUTED = ("page", "list", "search", "preview")
# Of each action, the seconds by the clock and those of the site's processor time.
Times = dict[str, list[tuple[float, float]]]
_numbers = itertools.count()


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
    times: dict[bool, Times] = {True: defaultdict(list), False: defaultdict(list)}
    refused, hers = Counter[str](), Counter[str]()
    with ExitStack() as stack:
        server = stack.enter_context(site(command, port, publisher, **told))
        processor = partial(processor_s, server.pid, command == GUNICORN)
        if settings.REDIS_URL:
            stack.enter_context(working(worker(told)))
        large = feeds_filled(publisher)
        for _ in range(blocks):
            # New readers each time, so that no hourly limit stops them.
            ada, ben = (Browser(reader_new(large[:3], publisher), port) for _ in range(2))
            block(ada, publisher, tries, times[False], refused, processor)
            with doing_the_worst(reader_new(large, publisher), port, publisher, hers):
                block(ben, publisher, tries, times[True], refused, processor)
        # Somebody new, since how much of her hourly limits is left depends on how long this took.
        another = Browser(reader_new(large[:3], publisher), port)
        answers = one_by_one(another, publisher) if alone else {}
    by_clock, by_processor = ({name: ratio_of(times, name, n) for name in times[True]} for n in range(2))
    return {
        "blocks": blocks,
        "tries": sum(map(len, times[True].values())),
        "hers": hers.total(),
        "her_answers": dict(sorted(hers.items())),
        "alone": answers,
        "not_done": sum(status not in DONE for same in answers.values() for status in same),
        "refused": refused.total(),
        "refused_at": dict(refused),
        "ratio": max(by_clock.values()),
        "ratios": by_clock,
        "processor_ratio": max(by_processor[name] for name in COMPUTED),
        "processor_ratios": by_processor,
        "quiet_ms": milliseconds(times[False], 0),
        "beside_ms": milliseconds(times[True], 0),
        "quiet_processor_ms": milliseconds(times[False], 1),
        "beside_processor_ms": milliseconds(times[True], 1),
        "beside_worst_ms": {
            name: round(max(one[0] for one in took) * 1000) for name, took in times[True].items()
        },
    }


def ratio_of(times: dict[bool, Times], name: str, n: int) -> float:
    """Return how many times as long an action takes beside Mallory, by its nth measure."""
    beside, quiet = (median(took[n] for took in times[worst][name]) for worst in (True, False))
    return round(beside / quiet, 2)


def milliseconds(times: Times, n: int) -> dict[str, int]:
    """Return the median of each action's nth measure."""
    return {name: round(median(one[n] for one in took) * 1000) for name, took in times.items()}


def processor_s(pid: int, of_children: bool) -> float:
    """Return the processor time of a process so far, or that of its children."""
    pids = Path(f"/proc/{pid}/task/{pid}/children").read_text().split() if of_children else [pid]
    # The number of the clock of a process (clock_getcpuclockid(3)).
    return sum(time.clock_gettime((~int(one) << 3) | 2) for one in pids)


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
    ada: Browser,
    publisher: int,
    tries: int,
    times: Times,
    refused: Counter[str],
    processor: Callable[[], float],
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
            began, used = time.monotonic(), processor()
            done = False
            with suppress(OSError, http.client.HTTPException):
                done = deed()
            times[name].append((time.monotonic() - began, processor() - used))
            refused[name] += not done
    for name in deeds:
        if not refused[name]:
            del refused[name]


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
