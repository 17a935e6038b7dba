"""Sync by the Google Reader API: `python -m tests.lab bench.sync [--json] [--feeds N] [--rounds N]`.

The reader has N feeds of twenty unread items, about 400 words each, from a local publisher. A new client
signs in, asks for subscriptions, tags and unread ids (10,000 at a time), then for the contents of all, 250 at
a time by continuation, uncompressed, and checks that all are there. The server is `manage.py serve` on
SQLite, idle before. Compared: FreshRSS on PHP's own server with opcache and four workers and on its SQLite,
if FRESHRSS_DIR names a folder with a release of it and `php` is installed (php-curl, -mbstring, -sqlite3,
-xml). After one warm-up, each round runs both. A row is the median of its rounds, a ratio the median of the
rounds, in wall seconds and in processor seconds of the server alone, without its worker.
"""

import argparse
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from tests.lab.bench.engine import engine, where
from tests.lab.bench.entities import Aim
from tests.lab.bench.footprint import cpu_s, served, settled, tree
from tests.lab.bench.publisher import ITEMS, address, publishers

ALL, READ = "user/-/state/com.google/reading-list", "user/-/state/com.google/read"
IDS, CONTENTS, PHP_WORKERS, START_S = 10_000, 250, "4", 20.0
NAME, PASSWORD = "ada", "a-long-password"
AIMS = (
    Aim("seconds, times FreshRSS's", "times_peer_wall", False, 1.0),
    Aim("seconds of the server's processor, times FreshRSS's", "times_peer_cpu", False, 1.0),
)
Run = tuple[float, float]


@dataclass(frozen=True)
class Site:
    """A server: the address below which it has the API, a login, and the processes that count."""

    name: str
    url: str
    secret: str
    pids: Callable[[], list[int]]


class Missing(Exception):
    """FreshRSS cannot run here. The message names the missing part."""


def main() -> None:
    """Print the table, or one JSON object. Exit 1 if a target is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--feeds", type=int, default=250)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    missing = ""
    with ExitStack() as stack:
        port, folder = stack.enter_context(publishers()), stack.enter_context(engine())
        hosts = [address(n) for n in range(options.feeds)]
        urls = [f"http://{host}:{port}/fresh/{n}" for n, host in enumerate(hosts)]
        sites = [stack.enter_context(ours(folder, hosts, urls))]
        try:
            sites.append(stack.enter_context(freshrss(folder, urls)))
        except Missing as error:
            missing = str(error)
        items = len(urls) * ITEMS
        for site in sites:
            timed(site, items)
        rounds = [[timed(site, items) for site in sites] for _ in range(options.rounds)]
    rows = [row(site, runs, items) for site, runs in zip(sites, zip(*rounds, strict=True), strict=True)]
    report = {"command": "python -m tests.lab bench.sync", **where(), "items": items, "rows": rows}
    report |= {"rounds": options.rounds, "missing": missing, "targets": []}
    if not missing:
        for key, n in (("times_peer_wall", 0), ("times_peer_cpu", 1)):
            report[key] = round(statistics.median(own[n] / peer[n] for own, peer in rounds), 3)
        report["targets"] = [aim.held(report) for aim in AIMS]
    print(json.dumps(report) if options.json else "\n".join([*map(str, rows), missing]).strip())
    sys.exit(int(not all(target["met"] for target in report["targets"])))


@contextmanager
def ours(folder: Path, hosts: list[str], urls: Sequence[str]) -> Iterator[Site]:
    """Tidings with all feeds read."""
    from django.conf import settings  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from digest.accounts.tokens import READ as SCOPE  # noqa: PLC0415
    from digest.accounts.tokens import token_issue  # noqa: PLC0415
    from digest.feeds.fetch_batch import feeds_fetch  # noqa: PLC0415
    from digest.feeds.ingest import feed_get_or_create  # noqa: PLC0415
    from digest.models import Reader, Subscription  # noqa: PLC0415

    settings.FETCH_ALLOW_HOSTS, settings.FETCH_HOST_GAP_S = hosts, 0.0
    os.environ["FETCH_ALLOW_HOSTS"] = ",".join(hosts)
    now = timezone.now()
    reader = Reader.objects.create_user(username=NAME)
    feeds = [feed_get_or_create(url=url, now=now) for url in urls]
    Subscription.objects.bulk_create(Subscription(reader=reader, feed=feed, created_at=now) for feed in feeds)
    feeds_fetch(now=now)
    issued = token_issue(reader=reader, name="app", scope=SCOPE, expires_at=None, now=now)
    with served(folder) as (pid, url):
        settled("idle", pid, lambda: True)
        yield Site("Tidings", url, issued.secret, lambda: [pid])


@contextmanager
def freshrss(folder: Path, urls: Sequence[str]) -> Iterator[Site]:
    """FreshRSS with all feeds read. Raises `Missing`."""
    release = os.environ.get("FRESHRSS_DIR", "")
    php = shutil.which("php")
    if not release or not php:
        raise Missing("FreshRSS was not measured: it needs php, and FRESHRSS_DIR, a folder with a release.")
    home = folder / "freshrss"
    shutil.copytree(release, home)
    outlines = "".join(f'<outline type="rss" text="{n}" xmlUrl="{url}"/>' for n, url in enumerate(urls))
    opml = f'<opml version="2.0"><head/><body>{outlines}</body></opml>'
    (home / "data" / "opml.xml").write_text(opml, encoding="utf-8")  # subscriptions of a new user
    port = free_port()
    for command in (
        ["prepare"],
        ["do-install", "--default-user", NAME, "--db-type", "sqlite", "--api-enabled"],
        ["create-user", "--user", NAME, "--password", PASSWORD, "--api-password", PASSWORD],
        ["actualize-user", "--user", NAME],
    ):
        done = subprocess.run(
            [php, f"cli/{command[0]}.php", *command[1:]],
            cwd=home,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Missing(f"FreshRSS was not measured: {command[0]}: {(done.stderr or done.stdout)[-300:]}")
    version = re.search(r"FRESHRSS_VERSION = '(.+?)'", (home / "constants.php").read_text(encoding="utf-8"))
    server = subprocess.Popen(
        [php, "-d", "opcache.enable_cli=1", "-S", f"127.0.0.1:{port}", "-t", "p"],
        cwd=home,
        env={**os.environ, "PHP_CLI_SERVER_WORKERS": PHP_WORKERS},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        listening(port)
        name = f"FreshRSS {version[1] if version else ''}"
        yield Site(name, f"http://127.0.0.1:{port}/api/greader.php/", PASSWORD, lambda: tree(server.pid))
    finally:
        os.killpg(server.pid, signal.SIGTERM)  # its workers would stay
        server.wait(10)


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listening(port: int) -> None:
    """Wait until somebody listens. Raises `TimeoutError`."""
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.1)
    raise TimeoutError(f"nobody listens on {port}")


def timed(site: Site, items: int) -> Run:
    """Seconds by the clock and of the server's processor for one sync, of which nothing may be missing."""
    began, used = time.perf_counter(), cpu_s(site.pids())
    ids, contents = sync(site)
    spent = time.perf_counter() - began, cpu_s(site.pids()) - used
    assert len(ids) == items and contents == ids, (site.name, len(ids), len(contents))
    return spent


def sync(site: Site) -> tuple[set[int], set[int]]:
    """Sync as a new client. Return the ids of unread items, and of items whose contents came."""
    login = urlencode({"Email": NAME, "Passwd": site.secret}).encode()
    with urlopen(f"{site.url}accounts/ClientLogin", login) as answer:
        token = re.search(r"(?m)^Auth=(.+)$", answer.read().decode())
    assert token, site.name

    def get(path: str, **query: object) -> dict[str, list[dict[str, str]]]:
        address_ = f"{site.url}reader/api/0/{path}?{urlencode({**query, 'output': 'json'})}"
        headers = {"Authorization": f"GoogleLogin auth={token[1].strip()}"}
        with urlopen(Request(address_, headers=headers)) as answer:
            return dict(json.load(answer))

    def pages(path: str, **query: object) -> Iterator[dict[str, list[dict[str, str]]]]:
        more: dict[str, object] = {}
        while True:
            page = get(path, **query, **more)
            yield page
            if not page.get("continuation"):
                return
            more = {"c": page["continuation"]}

    get("subscription/list")
    get("tag/list")
    unread = pages("stream/items/ids", s=ALL, xt=READ, n=IDS)
    ids = {int(one["id"]) for page in unread for one in page["itemRefs"]}
    contents = pages(f"stream/contents/{ALL}", n=CONTENTS, xt=READ)
    return ids, {int(one["id"].rpartition("/")[2], 16) for page in contents for one in page["items"]}


def row(site: Site, runs: Sequence[Run], items: int) -> dict[str, object]:
    """Return the median round of one contestant."""
    wall, cpu = (statistics.median(run[n] for run in runs) for n in (0, 1))
    figures = {"wall_s": round(wall, 3), "cpu_s": round(cpu, 3), "items_per_s": round(items / wall)}
    return {"name": site.name, **figures, "runs": [[round(one, 3) for one in run] for run in runs]}


if __name__ == "__main__":
    main()
