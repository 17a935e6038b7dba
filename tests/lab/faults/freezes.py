"""Send texts made to be slow to every endpoint of a site, while another client asks for its health.

Some repeat one piece; others hold as many different names, keys or words as fit.

The site is `serve`, then gunicorn if it is installed, each on the loopback, on the row's own database. A
local publisher answers with the same strings.
"""

import http.client
import itertools
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
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from allauth.idp.oidc.models import Token
from django.conf import settings
from django.middleware.csrf import _get_new_csrf_string
from django.test import Client
from django.utils import timezone

from digest.accounts.oauth import BYTES_MAX
from digest.accounts.tokens import token_issue
from digest.feeds.ingest import feed_get_or_create
from digest.feeds.prechecks import BODY_MAX_BYTES
from digest.feeds.sanitise import FIELD_MAX_CHARS
from digest.models import Reader
from digest.sources.opml import OPML_BYTES_MAX
from tests.lab.bench.running import Json
from tests.lab.faults.servers import HOST, spare_port
from tests.support.assistants import Connected
from tests.support.factories import FeedFactory, ItemFactory, ReaderFactory, SubscriptionFactory

ROOT = Path(__file__).resolve().parents[3]
PORT = 18600
STARTS_S, ANSWERS_S, PAUSE_S, LEAVES_S = 90.0, 120.0, 0.05, 60.0
# The longest line that the embedded server reads has 65,536 bytes.
LINE_BYTES, LEAST_BYTES = 65_000, 64 * 1024
# The length of one text for a command; all texts are in one file.
LINE_CHARS, COMMAND_S = 1024 * 1024, 1800.0
PASSWORD = "a-lamp-and-a-kettle"
REPEATED = {
    "blanks": " ",
    "underscores": "_",
    "dots": ".",
    "angles": "<",
    "ampersands": "&",
    "quotes": '"',
    "digits": "1",
    "outlines": "<outline text=",
    "dotted": "a.",
    "lines": " \n",
    "tags": "<b>",
    "comments": "<!--",
    "references": "&#",
    "brackets": "[[",
    "sentences": "Ab c d. ",
}
# The beginning of each text, a piece for each number, and the end.
DISTINCT = {
    "fields": ("", "a{}=1&", "b=1"),
    "keys": ("{{", '"k{}":1,', '"b":1}}'),
    "names": ('{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{', '"k{}":[],', '"b":1}}}}'),
    "attributes": ("<outline ", 'a{}="1" ', "/>"),
    "elements": ("<opml>", "<a{0}>", ""),
    "prefixes": ("<opml ", 'xmlns:a{}="b" ', "/>"),
    "words": ("", "w{0}x{0} ", ""),
    "paragraphs": ("", "Ab{0} cde{0} fg. ", ""),
    "sites": ("", "https://a{0}.example/{0} ", ""),
    "feeds": ("<opml>", '<outline text="{0}" xmlUrl="https://a{0}.example/"/>', "</opml>"),
    "links": ("", '<a href="https://a{0}.example/" title="{0}">{0}</a>', ""),
    "cookies": ("", "c{}=1; ", "d=1"),
}
# Each request comes from another address, so that no limit closes a door before it was tried.
_senders = itertools.count(1)


@dataclass
class Watch:
    """Asks /healthz again and again; how long the slowest answer took, and the slowest of an idle server."""

    port: int
    control: int
    worst_s: float = 0.0
    control_s: float = 0.0
    # The text being sent, and the one at the time of the slowest answer.
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
            began = time.monotonic()
            with suppress(OSError):
                asked(self.control, "GET", "/")
            self.control_s = max(self.control_s, time.monotonic() - began)


def run(name: str, full: bool) -> Json:
    """Return the figures of both servers. `full` also sends the largest texts."""
    sizes = (LEAST_BYTES, OPML_BYTES_MAX, BODY_MAX_BYTES) if full else (192 * 1024,)
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
        "control_s": max(report["control_s"] for report in found.values()),
        "servers": found,
    }


def frozen(command: tuple[str, ...], sizes: tuple[int, ...]) -> Json:
    """Return the results of a server with this command, at each endpoint for each family."""
    port, answers, slowest = spare_port(PORT), Counter[str](), ("", 0.0)

    def met(where: str, door: str, knock: Callable[[Any], int], given: Any) -> None:
        nonlocal slowest
        began, watch.sending = time.monotonic(), where
        answers[f"{door} {tried(knock, given)}"] += 1
        slowest = max(slowest, (where, time.monotonic() - began), key=lambda one: one[1])

    idle = spare_port(port + 1)
    with (
        publisher() as shelf,
        site(command, port, shelf.port),
        idling(idle),
        ThreadOf(Watch(port, idle)) as watch,
    ):
        for size in sizes:
            texts = {family: piece * (size // len(piece)) for family, piece in REPEATED.items()}
            texts |= {family: distinct(*parts, size=size) for family, parts in DISTINCT.items()}
            for family, text in texts.items():
                reader = ReaderFactory(username=f"{family}-{size}-{command[-1].strip('-')}")
                for door, knock in (visitors(port) | readers(reader, port, shelf)).items():
                    met(f"{door}, {family}", door, knock, text)
            for door, run in commands(reader, shelf).items():
                met(door, door, run, list(texts.values()))
    return {
        "requests": answers.total(),
        "errors": sum(count for met, count in answers.items() if met.split()[-1].startswith("5")),
        "asked": watch.asked,
        "unanswered": watch.failed,
        "worst_s": round(watch.worst_s, 2),
        "worst_at": watch.worst_at,
        "control_s": round(watch.control_s, 2),
        "slowest": [slowest[0], round(slowest[1], 2)],
        "answers": dict(sorted(answers.items())),
    }


def distinct(begins: str, piece: str, ends: str, *, size: int) -> str:
    """Return a text of at most `size` characters with a piece for each number, none twice."""
    begins, ends = begins.format(), ends.format()
    count = (size - len(begins) - len(ends)) // len(piece.format(size))
    return begins + "".join(map(piece.format, range(count))) + ends


def tried(knock: Callable[[Any], int], given: Any) -> int:
    """Return the status of one endpoint: 0 if it hung up, 504 if no answer came in time."""
    try:
        return knock(given)
    except (TimeoutError, subprocess.TimeoutExpired):
        return 504
    except (OSError, http.client.HTTPException):
        return 0


def visitors(port: int) -> dict[str, Callable[[str], int]]:
    """Return the doors that need no account."""
    token = _get_new_csrf_string()
    form = {
        "Cookie": f"csrftoken={token}",
        "X-CSRFToken": token,
        "Content-Type": "application/x-www-form-urlencoded",
    }

    def posted(path: str, fields: str) -> Callable[[str], int]:
        return lambda text: asked(
            port, "POST", path, headers=form, body=fields.replace("TEXT", text).encode()
        )[0]

    def raw(path: str, kind: str, most: int = BODY_MAX_BYTES) -> Callable[[str], int]:
        headers = {"Content-Type": kind}
        return lambda text: asked(port, "POST", path, headers=headers, body=text[:most].encode())[0]

    def carried(text: str) -> int:
        return asked(port, "GET", "/accounts/login/", headers={"Cookie": text[:LINE_BYTES].strip()})[0]

    def signed(text: str) -> int:
        headers = {"Authorization": f"Bearer {text[:LINE_BYTES].strip()}"}
        return asked(port, "GET", "/api/search?q=x", headers=headers)[0]

    new = f"password1={PASSWORD}&password2={PASSWORD}&time_zone=UTC"
    return {
        "sign-in": posted("/accounts/login/", "login=TEXT&password=x"),
        "sign-up": posted("/accounts/signup/", f"username=TEXT&email=TEXT@a.example&{new}"),
        "reset": posted("/accounts/password/reset/", "email=TEXT@a.example"),
        "request line": lambda text: line_sent(port, text[:LINE_BYTES]),
        "sign-in form": lambda text: asked(
            port, "POST", "/accounts/login/", headers=form, body=text.encode()
        )[0],
        "token": signed,
        "cookies": carried,
        "assistant's registration": raw("/oauth/register", "application/json", BYTES_MAX),
        "assistant's code": raw("/oauth/token", "application/x-www-form-urlencoded"),
        "reader app's login": raw("/accounts/ClientLogin", "application/x-www-form-urlencoded"),
    }


def readers(reader: Reader, port: int, shelf: "Shelf") -> dict[str, Callable[[str], int]]:
    """Return the doors of somebody who signed in."""
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

    def rated(text: str) -> bytes:
        return b"useful=1&reason=" + text.encode()

    def sent(method: str, path: str, headers: dict[str, str], body: Callable[[str], bytes]) -> Any:
        return lambda text: asked(port, method, path, headers=headers, body=body(text))[0]

    def noted(text: str) -> bytes:
        return json.dumps(note | {"reason_tags": [text]}).encode()

    rating = f"/api/items/{item.pk}/feedback"
    as_json = {**headers, "Content-Type": "application/json"}
    secret = token_issue(reader=reader, name="app", scope="full", expires_at=None, now=timezone.now()).secret
    app = {
        "Authorization": f"GoogleLogin auth={secret}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    let_in = Connected(reader)
    resource = {"resources": [f"http://{HOST}:{port}/mcp"]}
    Token.objects.filter(client_id=let_in.client_id).update(data=resource)
    assistant = {"Authorization": f"Bearer {let_in.secret}", "Content-Type": "application/json"}
    assistant["Accept"] = "application/json, text/event-stream"

    def called(text: str) -> bytes:
        given = {"name": "search_items", "arguments": {"query": text, text: text}}
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": given}).encode()

    return {
        "reader app's tags": sent("POST", "/reader/api/0/edit-tag", app, str.encode),
        "reader app's feeds": sent(
            "POST", "/reader/api/0/subscription/edit", app, lambda text: f"ac=edit&s=feed/{text}".encode()
        ),
        "assistant's message": sent("POST", "/mcp", assistant, str.encode),
        "assistant's call": sent("POST", "/mcp", assistant, called),
        "words to watch for": sent(
            "POST", "/ui/account/notifications", form, lambda text: f"word=on&words={text}".encode()
        ),
        "destination": sent(
            "POST", "/ui/account/destinations", form, lambda text: f"kind=ntfy&address={text}".encode()
        ),
        "opml": sent("POST", "/ui/sources/import", upload, part),
        "form": sent("POST", f"/ui/item/{item.pk}/feedback", form, rated),
        "api note": sent("POST", rating, as_json, noted),
        "api json": sent("POST", rating, as_json, str.encode),
        "search": lambda text: asked(port, "GET", f"/ui/search?q={quoted(text)}", headers=headers)[0],
        "page": lambda text: asked(
            port, "POST", "/ui/sources", headers=form, body=f"url={shelf.put(text.encode())}".encode()
        )[0],
    }


def quoted(text: str) -> str:
    """Return a query as long as a line may be."""
    return "".join(f"%{ord(sign):02X}" for sign in text[: LINE_BYTES // 3 - 100])


def asked(
    port: int, method: str, path: str, *, headers: dict[str, str] | None = None, body: bytes | None = None
) -> tuple[int, bytes]:
    """Return the status and the body of an answer."""
    connection = http.client.HTTPConnection(HOST, port, timeout=ANSWERS_S)
    n = next(_senders)
    sender = {"X-Forwarded-For": f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}"}
    try:
        connection.request(method, path, body, sender | (headers or {}))
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def line_sent(port: int, text: str) -> int:
    """Return the status of a line that is no request."""
    with socket.create_connection((HOST, port), timeout=ANSWERS_S) as connection:
        connection.sendall(text.encode() + b"\r\n\r\n")
        answer = connection.recv(4096).split()
    return int(answer[1]) if len(answer) > 1 and answer[1].isdigit() else 400


def commands(reader: Reader, shelf: "Shelf") -> dict[str, Callable[[list[str]], int]]:
    """Return the commands that read text, each with all families at once: 200, or 500 if one broke."""
    return {
        "feeds": lambda texts: feeds_fetched(texts, shelf),
        "histories": histories_imported,
        "mcp": lambda texts: session_sent(texts, reader),
    }


def feeds_fetched(texts: list[str], shelf: "Shelf") -> int:
    """Fetch a feed that is full of each text, and make the extracts of its items."""
    told = {"FETCH_ALLOW_HOSTS": HOST, "FETCH_PORTS": str(shelf.port), "FETCH_HOST_GAP_S": "0"}
    urls = [shelf.put(feed_of(text, title=str(n)).encode()) for n, text in enumerate(texts)]
    for url in urls:
        feed_get_or_create(url=url, now=timezone.now())
    return max(commanded("fetch_feeds", "--feed", *urls, told=told), commanded("summarise", "--limit", "0"))


def feed_of(text: str, *, title: str) -> str:
    """Return a feed that holds a text in items as large as they may be, at least four."""
    words = text[: min(FIELD_MAX_CHARS, len(text) // 4)]
    items = "".join(
        f"<item><title>{title} {n}</title><guid>{title}-{n}-{len(text)}</guid>"
        f"<description><![CDATA[{words}]]></description></item>"
        for n in range((len(text) - 4096) // (len(words) + 128) or 1)
    )
    return f'<rss version="2.0"><channel><title>{title}</title>{items}</channel></rss>'


def histories_imported(texts: list[str]) -> int:
    """Import a history with each text as a line, and as every field of one."""
    path, names = Path(settings.VAR_DIR) / "history.jsonl", ("url", "title", "text", "source", "at")
    with path.open("w", encoding="utf-8") as file:
        for text in (text[:LINE_CHARS] for text in texts):
            row = {"reader": "x", "useful": 1, **dict.fromkeys(names, text)}
            file.write(f"{text}\n{json.dumps(row)}\n")
    return commanded("import_feedback", str(path))


def session_sent(texts: list[str], reader: Reader) -> int:
    """Send each text as a line, and in a call, of a session with the tools."""
    lines = []
    for text in (text[:LINE_CHARS] for text in texts):
        named = {"name": text, "arguments": {text: text}}
        call = {"jsonrpc": "2.0", "id": len(lines), "method": "tools/call", "params": named}
        lines += [" ".join(text.split()), json.dumps(call)]
    return commanded("serve_mcp", "--reader", reader.username, given="\n".join(lines).encode() + b"\n")


def commanded(*words: str, given: bytes = b"", told: dict[str, str] | None = None) -> int:
    """Return 200 if our command ended without a traceback, else 500."""
    done = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env={**os.environ, **(told or {})},
        input=given,
        capture_output=True,
        timeout=COMMAND_S,
        check=False,
    )
    return 500 if b"Traceback" in done.stderr else 200


@dataclass
class Shelf:
    """The publisher's answers, by path."""

    port: int
    documents: dict[str, bytes] = field(default_factory=dict)

    def put(self, document: bytes) -> str:
        """Return the address at which it can be fetched from now on."""
        path = f"/{len(self.documents)}"
        self.documents[path] = document
        return f"http://{HOST}:{self.port}{path}"


@contextmanager
def publisher() -> Iterator[Shelf]:
    """Yield a publisher on the loopback until the block ends."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            document = shelf.documents.get(self.path)
            self.send_response(404 if document is None else 200)
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(document or b"")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer((HOST, 0), Answers) as server:
        shelf = Shelf(server.server_address[1])
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield shelf
        server.shutdown()


@contextmanager
def site(
    command: tuple[str, ...], port: int, publisher_port: int, **told: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a server of one's own until the block ends; `told` are further settings."""
    last = f"{HOST}:{port}" if command[-1] == "-b" else str(port)
    more = {"WEB_WORKERS": "1", "SITE_URL": f"http://{HOST}:{port}", "ALLOWED_HOSTS": HOST}
    more |= {"FETCH_ALLOW_HOSTS": HOST, "FETCH_PORTS": str(publisher_port), "FETCH_HOST_GAP_S": "0"}
    more |= {"MCP_HTTP": "true", "TRUSTED_PROXY_COUNT": "1", **told}
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
        yield server
    finally:
        server.terminate()
        try:
            server.wait(LEAVES_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@contextmanager
def idling(port: int) -> Iterator[None]:
    """Run an idle server in its own process, to measure the delay of a busy machine."""
    server = subprocess.Popen(
        [sys.executable, "-m", "http.server", "--bind", HOST, str(port)],
        cwd=settings.VAR_DIR,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        server.terminate()
        server.wait(LEAVES_S)


@dataclass
class ThreadOf:
    """A watch in its own thread while the block runs."""

    watch: Watch

    def __enter__(self) -> Watch:
        self._thread = threading.Thread(target=self.watch.run, daemon=True)
        self._thread.start()
        return self.watch

    def __exit__(self, *_: object) -> None:
        self.watch.over.set()
        self._thread.join(ANSWERS_S)
