"""Strings made to be slow, at every door of a site of one's own, while somebody asks whether it is well.

The site is `serve`, then gunicorn where it is installed, each on the loopback, on the row's own database.
"""

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.conf import settings
from django.middleware.csrf import _get_new_csrf_string
from django.test import Client

from digest.feeds.opml import OPML_BYTES_MAX
from digest.models import Reader
from tests.lab.bench.running import Json
from tests.lab.faults.servers import HOST, spare_port
from tests.support.factories import FeedFactory, ItemFactory, ReaderFactory, SubscriptionFactory

ROOT = Path(__file__).resolve().parents[3]
PORT = 18600
STARTS_S, ANSWERS_S, PAUSE_S, LEAVES_S = 90.0, 120.0, 0.05, 60.0
# The longest line that the embedded server reads has 65,536 bytes.
LINE_BYTES, LEAST_BYTES = 65_000, 64 * 1024
FAMILIES = {
    "blanks": " ",
    "underscores": "_",
    "dots": ".",
    "angles": "<",
    "ampersands": "&",
    "quotes": '"',
    "digits": "1",
    "outlines": "<outline text=",
    "dotted": "a.",
}


@dataclass
class Watch:
    """Asks /healthz again and again; how long the slowest answer took."""

    port: int
    worst_s: float = 0.0
    # What is being sent, and what was when the slowest answer came.
    sending: str = ""
    worst_at: str = ""
    asked: int = 0
    failed: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Ask until told to stop."""
        while not self.over.wait(PAUSE_S):
            began = time.monotonic()
            try:
                self.failed += asked(self.port, "GET", "/healthz")[0] != 200
            except OSError:
                self.failed += 1
            self.asked, took = self.asked + 1, time.monotonic() - began
            if took > self.worst_s:
                self.worst_s, self.worst_at = took, self.sending


def run(name: str, full: bool) -> Json:
    """The figures of both servers; `full` sends what is largest, too."""
    sizes = (LEAST_BYTES, OPML_BYTES_MAX) if full else (192 * 1024,)
    servers = {"serve": ("manage.py", "serve", "--port")}
    if find_spec("gunicorn"):
        servers["gunicorn"] = ("-m", "gunicorn", "--config", "deploy/gunicorn.conf.py", "config.wsgi", "-b")
    found = {server: frozen(command, sizes) for server, command in servers.items()}
    return {
        "requests": sum(report["requests"] for report in found.values()),
        "asked": sum(report["asked"] for report in found.values()),
        "unanswered": sum(report["unanswered"] for report in found.values()),
        "errors": sum(report["errors"] for report in found.values()),
        "worst_s": max(report["worst_s"] for report in found.values()),
        "servers": found,
    }


def frozen(command: tuple[str, ...], sizes: tuple[int, ...]) -> Json:
    """What a server of this command does at each door for each family."""
    port = spare_port(PORT)
    with site(command, port), ThreadOf(Watch(port)) as watch:
        answers, slowest = Counter[str](), ("", 0.0)
        for family, piece in FAMILIES.items():
            for size in sizes:
                text = piece * (size // len(piece))
                reader = ReaderFactory(username=f"{family}-{size}-{command[-1].strip('-')}")
                for door, knock in doors(reader, port).items():
                    began, watch.sending = time.monotonic(), f"{door}, {family}"
                    status = tried(knock, text)
                    answers[f"{door} {status}"] += 1
                    slowest = max(
                        slowest, (f"{door}, {family}", time.monotonic() - began), key=lambda s: s[1]
                    )
    return {
        "requests": answers.total(),
        "errors": sum(count for told, count in answers.items() if told.split()[-1].startswith("5")),
        "asked": watch.asked,
        "unanswered": watch.failed,
        "worst_s": round(watch.worst_s, 2),
        "worst_at": watch.worst_at,
        "slowest": [slowest[0], round(slowest[1], 2)],
        "answers": dict(sorted(answers.items())),
    }


def tried(knock: Callable[[str], int], text: str) -> int:
    """The status of one door, 0 where it hung up."""
    with suppress(OSError, http.client.HTTPException):
        return knock(text)
    return 0


def doors(reader: Reader, port: int) -> dict[str, Callable[[str], int]]:
    """What takes text from outside: each with what it answers."""
    item = ItemFactory()
    SubscriptionFactory(reader=reader, feed=FeedFactory(source=item.source))
    client = Client()
    client.force_login(reader)
    token = _get_new_csrf_string()
    cookie = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    headers = {"Cookie": f"{cookie}; csrftoken={token}", "X-CSRFToken": token}
    form = {**headers, "Content-Type": "application/x-www-form-urlencoded"}
    upload = {**headers, "Content-Type": "multipart/form-data; boundary=xx"}
    note = {"useful": True, "reason_tags": []}

    def part(text: str) -> bytes:
        head = '--xx\r\nContent-Disposition: form-data; name="file"; filename="a.opml"\r\n\r\n'
        return f"{head}<opml>{text}\r\n--xx--\r\n".encode()

    stranger = {**form, "Cookie": f"csrftoken={token}"}

    def typed(text: str) -> bytes:
        return b"login=" + text.encode() + b"&password=x"

    def rated(text: str) -> bytes:
        return b"useful=1&reason=" + text.encode()

    def sent(method: str, path: str, headers: dict[str, str], body: Callable[[str], bytes]) -> Any:
        return lambda text: asked(port, method, path, headers=headers, body=body(text))[0]

    def noted(text: str) -> bytes:
        return json.dumps(note | {"reason_tags": [text]}).encode()

    rating = f"/api/items/{item.pk}/feedback"
    as_json = {**headers, "Content-Type": "application/json"}
    return {
        "opml": sent("POST", "/ui/sources/import", upload, part),
        "sign-in": sent("POST", "/accounts/login/", stranger, typed),
        "form": sent("POST", f"/ui/item/{item.pk}/feedback", form, rated),
        "api note": sent("POST", rating, as_json, noted),
        "api json": sent("POST", rating, as_json, str.encode),
        "search": lambda text: asked(port, "GET", f"/ui/search?q={quoted(text)}", headers=headers)[0],
        "request line": lambda text: line_sent(port, text[:LINE_BYTES]),
        "history": history_imported,
    }


def quoted(text: str) -> str:
    """A query as long as a line may be."""
    return "".join(f"%{ord(sign):02X}" for sign in text[: LINE_BYTES // 3 - 100])


def asked(
    port: int, method: str, path: str, *, headers: dict[str, str] | None = None, body: bytes | None = None
) -> tuple[int, bytes]:
    """The status and the body of an answer."""
    connection = http.client.HTTPConnection(HOST, port, timeout=ANSWERS_S)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def line_sent(port: int, text: str) -> int:
    """The status of a line that is no request."""
    with socket.create_connection((HOST, port), timeout=ANSWERS_S) as connection:
        connection.sendall(text.encode() + b"\r\n\r\n")
        answer = connection.recv(4096).split()
    return int(answer[1]) if len(answer) > 1 and answer[1].isdigit() else 400


def history_imported(text: str) -> int:
    """200 where the command that imports histories read a line of it, whatever it said to it."""
    row = {"reader": "x", "url": text, "title": text, "text": text, "source": text, "at": text, "useful": 1}
    path = Path(settings.VAR_DIR) / "history.jsonl"
    path.write_text(f"{text}\n{json.dumps(row)}\n", encoding="utf-8")
    command = [sys.executable, "manage.py", "import_feedback", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=ANSWERS_S, check=False)
    return 500 if b"Traceback" in done.stderr else 200


@contextmanager
def site(command: tuple[str, ...], port: int) -> Iterator[None]:
    """A server of one's own until the block ends."""
    last = f"{HOST}:{port}" if command[-1] == "-b" else str(port)
    more = {"WEB_WORKERS": "1", "SITE_URL": f"http://{HOST}:{port}", "ALLOWED_HOSTS": HOST}
    with (Path(settings.VAR_DIR) / "site.log").open("ab") as log:
        server = subprocess.Popen(
            [sys.executable, *command, last], cwd=ROOT, env={**os.environ, **more}, stdout=log, stderr=log
        )
    try:
        began = time.monotonic()
        while True:
            with suppress(OSError):
                if asked(port, "GET", "/healthz")[0] == 200:
                    break
            if server.poll() is not None or time.monotonic() - began > STARTS_S:
                raise OSError("the site does not answer")
            time.sleep(PAUSE_S)
        yield
    finally:
        server.terminate()
        try:
            server.wait(LEAVES_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@dataclass
class ThreadOf:
    """A watch in a thread of its own while the block runs."""

    watch: Watch

    def __enter__(self) -> Watch:
        self._thread = threading.Thread(target=self.watch.run, daemon=True)
        self._thread.start()
        return self.watch

    def __exit__(self, *_: object) -> None:
        self.watch.over.set()
        self._thread.join(ANSWERS_S)
