"""Memory of a small installation: `python -m tests.lab bench.footprint [--json] [--feeds N] [--pages N]`.

It runs `manage.py demo`, then `manage.py serve` as `make run` does, and measures PSS of the site, its worker
and their children. (PSS divides shared memory among its processes, so the sum is the memory that the machine
gives up.) It measures after a signed-in reader opened some pages and the worker did its first jobs, and again
after fetching feeds of a local publisher: the real documents below `TIDINGS_DATA`, or made-up ones. Both
times the worker has been idle for a while. `most` is the largest sum seen until then.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

from tests.lab.bench.engine import engine, where
from tests.lab.bench.publisher import address, publishers
from tests.lab.bench.startup import address as site_address
from tests.lab.bench.startup import unbuffered

PATHS = (
    "",
    "ui/all",
    "ui/search?q=rain",
    "ui/suggestions",
    "ui/sources",
    "ui/config",
    "ui/history",
    "ui/calendar",
    "ui/account",
    "ui/item/{item}",
)
# Idle: below this share of a processor for this many seconds.
IDLE_SHARE, IDLE_S, POLL_S, LONGEST_S = 0.03, 6.0, 0.5, 420.0
Row = dict[str, object]


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--feeds", type=int, default=250)
    parser.add_argument("--pages", type=int, default=50)
    options = parser.parse_args()
    with publishers() as port, engine() as folder:
        hosts = [address(n) for n in range(options.feeds)]
        os.environ["FETCH_ALLOW_HOSTS"] = ",".join(hosts)
        subprocess.run([sys.executable, "manage.py", "demo"], stdout=subprocess.DEVNULL, check=True)
        with served(folder) as (pid, site):
            kind = "real" if os.environ.get("TIDINGS_DATA") else "good"
            urls = [f"http://{host}:{port}/{kind}/{n}" for n, host in enumerate(hosts)]
            rows = list(measured(pid, site, urls, options.pages))
    report = {"command": "python -m tests.lab bench.footprint", **where(), "documents": kind, "rows": rows}
    print(json.dumps(report) if options.json else "\n".join(map(str, rows)))


@contextmanager
def served(folder: Path) -> Iterator[tuple[int, str]]:
    """Run `manage.py serve`; gives its process and its address."""
    log = folder / "serve.log"
    with log.open("wb") as output:
        command = [sys.executable, "manage.py", "serve", "--port", "0"]
        site = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=unbuffered())
        try:
            yield site.pid, site_address(log)
        finally:
            site.send_signal(signal.SIGTERM)
            site.wait(30)


def measured(pid: int, site: str, urls: Sequence[str], pages: int) -> Iterator[Row]:
    """Yield the rows: after the demo and some pages, then with all feeds read as well."""
    from django.test import Client  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from digest.feeds.ingest import feed_get_or_create  # noqa: PLC0415
    from digest.models import Feed, Item, Reader, Subscription  # noqa: PLC0415

    reader = Reader.objects.get(username="ada")
    client = Client()
    client.force_login(reader)
    cookie = f"sessionid={client.cookies['sessionid'].value}"
    items = list(Item.objects.values_list("pk", flat=True)[:pages])

    def visit() -> None:
        for n in range(pages):
            path = PATHS[n % len(PATHS)].format(item=items[n % len(items)])
            urlopen(Request(site + path, headers={"Cookie": cookie})).read()

    visit()
    yield settled(f"after the demo and {pages} pages", pid, lambda: True)
    now = timezone.now()
    feeds = [feed_get_or_create(url=url, now=now) for url in urls]
    Subscription.objects.bulk_create(Subscription(reader=reader, feed=feed, created_at=now) for feed in feeds)
    unread = Feed.objects.filter(url__in=urls, last_fetched_at=None)
    row = settled("", pid, lambda: not unread.exists())
    visit()
    again = settled(f"with {len(urls)} feeds read and {pages} pages more", pid, lambda: True)
    yield again | {"most_mb": max(int(str(row["most_mb"])), int(str(again["most_mb"])))}


def settled(name: str, pid: int, ready: Callable[[], bool]) -> Row:
    """PSS of the processes, in MB, once `ready` and all of them idle."""
    most, used, since = 0.0, cpu_s(tree(pid)), time.monotonic()
    until = since + LONGEST_S
    while time.monotonic() < until:
        time.sleep(POLL_S)
        most = max(most, sum(map(pss_mb, tree(pid))))
        now = cpu_s(tree(pid))
        if now - used > IDLE_SHARE * (time.monotonic() - since) or not ready():
            used, since = now, time.monotonic()
        elif time.monotonic() - since > IDLE_S:
            break
    return {
        "name": name,
        "pss_mb": round(sum(map(pss_mb, tree(pid)))),
        "most_mb": round(most),
        "processes": [f"{kind_of(one, pid)}: {round(pss_mb(one))} MB" for one in tree(pid)],
    }


def tree(pid: int) -> list[int]:
    """Return a process and all that it started, directly or not, and that still run."""
    found = [pid]
    for one in found:
        try:
            tasks = list(Path(f"/proc/{one}/task").iterdir())
            found += [int(child) for task in tasks for child in (task / "children").read_text().split()]
        except OSError:
            continue  # it ended meanwhile
    return found


def pss_mb(pid: int) -> float:
    """Return the memory of a process with its part of shared memory, or 0 if it has ended."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("Pss:")), 0.0)


def cpu_s(pids: Sequence[int]) -> float:
    """Processor seconds that processes have used, their ended children included."""
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(int(field) for field in fields[11:15])
    return total / os.sysconf("SC_CLK_TCK")


def kind_of(pid: int, site: int) -> str:
    """Return the role of a process: site, worker or parser."""
    if pid == site:
        return "site"
    try:
        command = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
    except OSError:
        return "gone"
    return "parser" if "\0-m\0" in command else "worker"


if __name__ == "__main__":
    main()
