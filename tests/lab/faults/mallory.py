"""Mallory: the heaviest load that one reader may put on every shared place, from a process of her own.

In the process that measures, her threads would make it wait for its own interpreter.
"""

import http.client
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from django.conf import settings
from django.middleware.csrf import _get_new_csrf_string
from django.test import Client
from django.utils import timezone

from digest.articles.pictures import picture_href
from digest.models import Destination, Item, Reader
from ranking.common.encryption import secret_encrypt
from tests.lab.bench.publisher import address
from tests.lab.faults.freezes import asked
from tests.lab.faults.servers import HOST
from tests.lab.faults.workers import until

ROOT = Path(__file__).resolve().parents[3]
# Mallory's host, and Ada's: a host is asked by one reader at a time, which is another matter.
QUICK, SLOW, SLOW_HOSTS = 1, 2, 500
# The seconds until Mallory holds all she can get, and until her requests have ended.
BEGINS_S, ENDS_S = 20.0, 60.0
EXPORT_HELD_S = 10.0
PLACES_TAKEN: Final = ("look-up", "picture", "export", "preview", "search", "list")
STARTS = "import django; django.setup(); from tests.lab.faults.mallory import main; main()"
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


@contextmanager
def doing_the_worst(
    reader: Reader, port: int, publisher: int, answers: Counter[str], without: Collection[str] = ()
) -> Iterator[None]:
    """Run Mallory's actions, without some, during the block. Then wait until her requests have ended.

    Adds how often she got which answer to `answers`.
    """
    told = [str(reader.pk), port, publisher, list(without), next(_numbers) * 10_000]
    mallory = subprocess.Popen(
        [sys.executable, "-c", STARTS, json.dumps(told)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert mallory.stdin and mallory.stdout
    try:
        assert mallory.stdout.readline(), "Mallory does not begin"
        yield
    finally:
        mallory.stdin.close()
        answers.update(json.loads(mallory.stdout.readlines()[-1]))
        mallory.stdout.close()
        mallory.wait(ENDS_S)


def main() -> None:
    """Say so once Mallory holds all she can get. When the input ends, write her answers."""
    pk, port, publisher, without, first = json.loads(sys.argv[1])
    global _numbers
    _numbers = itertools.count(first)
    deeds = worst_deeds(Browser(Reader.objects.get(pk=pk), port), publisher)
    over, lock = threading.Event(), threading.Lock()
    began, answers = Counter[str](), Counter[str]()

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
        for name, same in deeds.items()
        for deed in same
        if name not in without
    ]
    for thread in threads:
        thread.start()
    until(lambda: all(began[name] for name in PLACES_TAKEN), BEGINS_S)
    time.sleep(2.0)
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    sys.stdin.read()
    over.set()
    for thread in threads:
        thread.join(ENDS_S)
    sys.stdout.write(json.dumps(answers) + "\n")
