"""Mixed pages at 20 requests a second: `python -m tests.lab load.pages [--rate N] [--minutes N] [--json]`.

The site runs by the Procfile, on the database of `DATABASE_URL` as filled by `tests.lab.load.seed`. It
answers signed-in readers drawn at random: the front page of readers who come for the first time that day
(their digest is six hours old, so it is built again), the front page of those who come back, and further
pages. Empty pages are asked at the same moments: `/healthz`, which does nothing, and `/offline`, a template
without a reader. Requests come at random (Poisson), and their time counts from the moment they were due. Each
worker's first pages, which load code, come before that.
"""

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from tests.lab.bench.running import Watch
from tests.lab.load.asking import Answer, Ask, ask_all, ask_at_once
from tests.lab.load.lines import FOLDERS
from tests.lab.load.seed import SETTLED
from tests.lab.load.server import Site, backends, database_s, processor_ms, processor_s, site, used_since
from tests.lab.load.setting import Json, django_up, head, rows_of, spread, target, told

READERS = 950
EMPTY, FIRST, AGAIN = "empty", "today, first visit", "today, again"
# The number of each page among a hundred requests. The empty pages come on top.
MIX = {
    FIRST: 20,
    AGAIN: 15,
    "item": 12,
    "all": 6,
    "all, older": 2,
    "all, unread": 2,
    "all, best": 2,
    "all, one feed": 2,
    "all, one folder": 2,
    "all, one source": 2,
    "suggestions": 8,
    "search": 5,
    "search, one source": 1,
    "yesterday": 3,
    "saved": 3,
    "all, saved": 1,
    "sources": 3,
    "settings": 3,
    "history": 3,
    "feed": 2,
    "left out": 1,
    "calendar": 1,
    "trends": 1,
}
EMPTY_SHARE = 0.1
# The number of requests for each page alone.
ALONE = 25
AGE = timedelta(hours=6)
P95_MS, P99_MS = 200.0, 500.0
TIMED = {FIRST: "digest", AGAIN: "digest", "suggestions": "suggestions"}
TIMED |= dict.fromkeys((name for name in MIX if name.startswith("all")), "all items")
TIMED |= dict.fromkeys(("search", "search, one source"), "search")


@dataclass
class Visitor:
    """A signed-in reader: cookie, feed token, items of the latest digest, feeds, whether they came."""

    cookie: str
    token: str
    items: list[int] = field(default_factory=list)
    feeds: list[int] = field(default_factory=list)
    came: bool = False


def main() -> None:
    """Measure and report. Exit 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=20.0)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument(
        "--tries", type=int, default=1, help="ask each page alone so often; the fastest counts"
    )
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    django_up()
    dice = random.Random(options.seed)
    visitors, words, yesterday = visitors_of(dice)
    report = {**head("pages"), "seed": options.seed, "rate": options.rate}
    report["rows"] = rows_of("digest_item", "digest_reader", "digest_subscription", "digest_feedback")
    watch = Watch()
    with site() as running:
        report["server"] = running.command
        report["first_pages"] = firsts(visitors, running)
        paths = paths_of(words, yesterday, dice)
        report["alone"] = alone(visitors, paths, running, dice)
        asks = plan(int(options.rate * 60 * options.minutes), visitors, paths, dice)
        used = [processor_s(running.workers()), database_s()]
        answers = ask_all(asks, port=running.port, rate=options.rate, seed=options.seed)
        used = [processor_s(running.workers()) - used[0], database_s() - used[1]]
        report["memory"] = running.memory()
        report["processor_ms_a_page"] = {
            "site": round(1000 * used[0] / len(asks), 1),
            "database": round(1000 * used[1] / len(asks), 1),
        }
    report |= {f"watch_{key}": value for key, value in watch.read().items()}
    report |= figures(answers)
    told(report, options.json)
    raise SystemExit(0 if all(aim["met"] for aim in report["targets"]) else 1)


def visitors_of(dice: random.Random) -> tuple[list[Visitor], list[str], str]:
    """Readers with a session each, words of titles to search for, and the day before today."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY  # noqa: PLC0415
    from django.contrib.sessions.backends.db import SessionStore  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from digest.models import Digest, Impression, Item, Reader, Subscription  # noqa: PLC0415

    settled = Reader.objects.filter(username__startswith="r", username__lt=f"r{SETTLED:05}")
    there = list(settled.order_by("pk"))
    readers = dice.sample(there, min(READERS, len(there)))
    latest = Digest.objects.filter(reader__in=readers).order_by("reader", "-date").distinct("reader")
    # As after a night: the first visit of the day builds the digest again, even if this script ran before.
    Digest.objects.filter(pk__in=[digest.pk for digest in latest]).update(built_at=timezone.now() - AGE)
    shown = Impression.objects.filter(digest__in=list(latest)).values_list("digest__reader", "item")
    found = {}
    for reader in readers:
        session = SessionStore()
        session[SESSION_KEY], session[BACKEND_SESSION_KEY] = str(reader.pk), BACKEND
        session[HASH_SESSION_KEY] = reader.get_session_auth_hash()
        session.create()
        found[reader.pk] = Visitor(f"sessionid={session.session_key}", reader.feed_token or "")
    for reader_id, item in shown:
        found[reader_id].items.append(item)
    read = Subscription.objects.filter(reader__in=readers).order_by("pk")
    for reader_id, feed in read.values_list("reader_id", "feed_id"):
        found[reader_id].feeds.append(feed)
    titles = Item.objects.order_by("-pk").values_list("title", flat=True)[:500]
    words = sorted({word for title in titles for word in title.lower().split() if len(word) > 3})
    return list(found.values()), words, str((timezone.now() - timedelta(days=1)).date())


BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


Paths = dict[str, Callable[[Visitor], str]]


def paths_of(words: Sequence[str], yesterday: str, dice: random.Random) -> Paths:
    """Return by page the address that a visitor asks for; the front page is not among them."""

    def source(visitor: Visitor) -> str:
        return f"s{dice.choice(visitor.feeds) - 1}.example"

    return {
        "item": lambda v: f"/ui/item/{dice.choice(v.items)}" if v.items else "/ui/saved",
        "all": lambda v: "/ui/all",
        "all, older": lambda v: f"/ui/all?before={_days_ago(dice.randrange(5, 95))}.1",
        "all, unread": lambda v: "/ui/all?unread=1",
        "all, best": lambda v: "/ui/all?order=best",
        "all, one feed": lambda v: f"/ui/all?feed={dice.choice(v.feeds)}",
        "all, one folder": lambda v: f"/ui/all?folder={dice.choice(FOLDERS)}",
        "all, one source": lambda v: f"/ui/all?source={source(v)}",
        "all, saved": lambda v: "/ui/all?saved=1",
        "search": lambda v: f"/ui/search?q={dice.choice(words)}",
        "search, one source": lambda v: f"/ui/search?q={dice.choice(words)}&source={source(v)}",
        "feed": lambda v: f"/feeds/{v.token}/atom.xml",
        "yesterday": lambda v: f"/ui/date/{yesterday}",
        "left out": lambda v: f"/ui/date/{yesterday}/left-out",
        "suggestions": lambda v: "/ui/suggestions",
        "saved": lambda v: "/ui/saved",
        "sources": lambda v: "/ui/sources",
        "settings": lambda v: "/ui/config",
        "history": lambda v: "/ui/history",
        "calendar": lambda v: "/ui/calendar",
        "trends": lambda v: "/ui/history/trends",
    }


def plan(count: int, visitors: Sequence[Visitor], paths: Paths, dice: random.Random) -> list[Ask]:
    """Return the requests, in order: of each page its share, by readers drawn at random."""
    fresh = iter([visitor for visitor in visitors if not visitor.came])
    back = [visitor for visitor in visitors if visitor.came]
    asks = []
    for page in dice.choices(list(MIX), list(MIX.values()), k=count):
        if page == FIRST:
            visitor = next(fresh)
            visitor.came = True
            back.append(visitor)
        else:
            # Somebody who came a while ago, so that their digest is built by now.
            visitor = back[dice.randrange(max(1, len(back) - 50))]
        path = paths.get(page, lambda v: "/")(visitor)
        asks.append(Ask(page, path, visitor.cookie))
        if dice.random() < EMPTY_SHARE:
            asks.append(Ask(EMPTY, dice.choice(["/healthz", "/offline"])))
    return asks


def _days_ago(days: int) -> int:
    """Return a moment in microseconds since 1970, as the keys of a list have it."""
    return int((time.time() - days * 86_400) * 1_000_000)


def firsts(visitors: Sequence[Visitor], running: Site) -> Json:
    """Measure the wait of the first readers after a start: eight at once, then forty one after the other."""
    some = list(visitors[:100])
    for visitor in some:
        visitor.came = True
    cold = ask_at_once([Ask("cold", "/", v.cookie) for v in some[:8]], port=running.port)
    warm = ask_all([Ask("warm", "/", v.cookie) for v in some[8:]], port=running.port, rate=8, seed=1)
    assert all(answer.status == 200 for answer in [*cold, *warm]), Counter(a.status for a in [*cold, *warm])
    return {"cold": spread([a.seconds for a in cold]), "then": spread([a.seconds for a in warm])}


def alone(visitors: Sequence[Visitor], paths: Paths, running: Site, dice: random.Random) -> list[Json]:
    """Measure each page `ALONE` times one after the other, in wall and processor time.

    Other work on the machine makes a page slow, but adds less to its processor time.
    """
    rows = []
    back = [visitor for visitor in visitors if visitor.came]
    new = [visitor for visitor in visitors if not visitor.came][-ALONE:]
    for name in MIX:
        some = new if name == FIRST else dice.choices(back, k=ALONE)
        asks = [Ask(name, paths.get(name, lambda v: "/")(visitor), visitor.cookie) for visitor in some]
        answers, used = [], []
        for ask in asks:
            before = processor_ms([*running.workers(), *backends()])
            answers.append(ask_at_once([ask], port=running.port)[0])
            used.append(used_since(before, [*running.workers(), *backends()]) / 1000)
        assert all(answer.status == 200 for answer in answers), name
        cpu = spread(used)
        took = spread([answer.seconds for answer in answers])
        rows.append({"page": name, "cpu_p50_ms": cpu["p50_ms"], "cpu_p95_ms": cpu["p95_ms"], **took})
    for visitor in new:
        visitor.came = True
    return rows


def figures(answers: Sequence[Answer]) -> Json:
    """Return times and statuses by page and over all pages, and the targets."""
    pages: dict[str, list[Answer]] = {}
    for answer in answers:
        pages.setdefault(answer.page, []).append(answer)
    empty = spread([a.seconds for a in pages.get(EMPTY, [])])
    rows: list[dict[str, Any]] = []
    for name in [EMPTY, *MIX]:
        got = pages.get(name, [])
        statuses = dict(Counter(str(answer.status) for answer in got))
        row = {"page": name, **spread([a.seconds for a in got]), "statuses": statuses}
        row["times_empty_p50"] = (
            round(row["p50_ms"] / empty["p50_ms"], 1) if got and empty["p50_ms"] else None
        )
        rows.append(row)
    real = [answer for answer in answers if answer.page != EMPTY]
    every = spread([answer.seconds for answer in real])
    timed = {
        kind: spread([a.seconds for a in real if TIMED.get(a.page) == kind]) for kind in set(TIMED.values())
    }
    bad = sum(answer.status != 200 for answer in answers)
    late = spread([answer.late for answer in answers])
    aims = [target("all pages, p95 in ms", P95_MS, every["p95_ms"]), target("answers but 200", 0, bad)]
    for kind, found in sorted(timed.items()):
        aims += [target(f"{kind}, p95 in ms", P95_MS, found["p95_ms"])]
        aims += [target(f"{kind}, p99 in ms", P99_MS, found["p99_ms"])]
    return {"pages": rows, "all_pages": every, "asked_late": late, "targets": aims}


if __name__ == "__main__":
    main()
