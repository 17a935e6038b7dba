"""Many publishers on one loopback port, in their own process. Each host name is an address 127.x.y.z.

It uses raw asyncio, so that the server itself takes little time. It notes the host and time of each request,
and the most connections of a host at once. `GET /stats` returns that as JSON, and `GET /reset` clears it.
"""

import asyncio
import gzip
import itertools
import json
import multiprocessing
import os
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import cache
from pathlib import Path

ITEMS = 20
PNG = b"\x89PNG\r\n\x1a\n"
WORDS = "rain wind river council harbour library museum tram bridge market garden school " * 4


def address(n: int) -> str:
    """Return the loopback address of publisher `n`, from 0 on."""
    return f"127.{100 + n // 62500}.{n // 250 % 250}.{n % 250 + 1}"


def document(name: str, newest: datetime = datetime(2026, 3, 18, tzinfo=UTC), times: int = 1) -> bytes:
    """Return a feed of `times` twenty items of about fifty words, one every six hours."""
    items = "".join(
        f"<item><title>{name} story {n}</title><link>https://news.example/{name}/{n}</link>"
        f"<guid>{name}-{n}</guid><pubDate>{format_datetime(newest - timedelta(hours=6 * n))}</pubDate>"
        f"<description>&lt;p&gt;{WORDS * times}{n}&lt;/p&gt;</description></item>"
        for n in range(ITEMS)
    )
    return f'<rss version="2.0"><channel><title>{name}</title>{items}</channel></rss>'.encode()


@cache
def real_documents() -> list[bytes]:
    """Return the documents of `feeds/real-*` below `TIDINGS_DATA`."""
    paths = sorted((Path(os.environ["TIDINGS_DATA"]) / "feeds").glob("real-*/**/*"))
    bodies = [path.read_bytes() for path in paths if path.is_file()]
    return [gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body for body in bodies]


class Publishers:
    """The answer of every path: `/<kind>/<name>`."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Clear the counts."""
        self.requests: dict[str, int] = defaultdict(int)
        self.visits: dict[str, list[float]] = defaultdict(list)
        self.on_the_way: dict[str, bool] = defaultdict(bool)
        self.statuses: dict[str, int] = defaultdict(int)
        self.open: dict[str, int] = defaultdict(int)
        self.open_max: dict[str, int] = defaultdict(int)

    def stats(self) -> dict[str, object]:
        """Requests by host and status, the shortest time between two visits to a host (the steps of one
        redirect chain are one visit), and the most connections at once."""
        pauses = [b - a for times in self.visits.values() for a, b in itertools.pairwise(times)]
        return {
            "requests": sum(self.requests.values()),
            "hosts": len(self.requests),
            "requests_per_host_max": max(self.requests.values(), default=0),
            "visit_gap_min_s": round(min(pauses), 3) if pauses else None,
            "connections_per_host_max": max(self.open_max.values(), default=0),
            "statuses": dict(sorted(self.statuses.items())),
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one answer."""
        host = writer.get_extra_info("sockname")[0]
        self.open[host] += 1
        self.open_max[host] = max(self.open[host], self.open_max[host])
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            await self.answer(host, head, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client has hung up, as it may
        finally:
            self.open[host] -= 1
            writer.close()

    async def answer(self, host: str, head: str, writer: asyncio.StreamWriter) -> None:
        """Write the answer of the path."""
        path = head.split(" ", 2)[1]
        if path in ("/stats", "/reset"):
            body = json.dumps(self.stats()).encode()
            if path == "/reset":
                self.reset()
            writer.write(message("200 OK", body))
            return await writer.drain()
        self.requests[host] += 1
        if not self.on_the_way[host]:
            self.visits[host].append(time.monotonic())
        kind, _, name = path.strip("/").partition("/")
        if kind == "drip":
            return await drip(writer)
        answer = respond(kind, name, head)
        status = answer[9:12].decode()
        self.statuses[status] += 1
        self.on_the_way[host] = status in ("301", "302")
        writer.write(answer)
        return await writer.drain()


def respond(kind: str, name: str, head: str) -> bytes:
    """Return the complete answer of one kind of publisher."""
    tag = f'"{name}"'
    if kind == "good":
        if f"if-none-match: {tag}" in head.lower():
            return message("304 Not Modified", b"", ETag=tag)
        return message("200 OK", document(name), ETag=tag)
    if kind == "fresh":  # long items of the last five days
        today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return message("200 OK", document(name, today, times=8), **{"Content-Type": "application/rss+xml"})
    if kind == "article":
        page = f"<html><title>{name}</title><article><p>{WORDS * 4}{name}.</p></article></html>"
        return message("200 OK", page.encode(), **{"Content-Type": "text/html; charset=utf-8"})
    if kind == "picture":
        return message("200 OK", PNG + name.encode(), **{"Content-Type": "image/png"})
    if kind == "real":
        return message("200 OK", real_documents()[int(name) % len(real_documents())])
    if kind == "truncated":
        return message("200 OK", gzip.compress(document(name))[:-40], **{"Content-Encoding": "gzip"})
    if kind == "bomb":
        return message("200 OK", gzip.compress(bytes(60 << 20)), **{"Content-Encoding": "gzip"})
    if kind == "busy":
        return message("429 Too Many Requests", b"", **{"Retry-After": "7200"})
    if kind == "down":
        later = format_datetime(datetime.now(UTC) + timedelta(hours=3), usegmt=True)
        return message("503 Service Unavailable", b"", **{"Retry-After": later})
    if kind in ("moved", "found"):  # /moved/<hops>/<name>: this many redirects, then a good feed
        hops, _, rest = name.partition("/")
        left = int(hops) - 1
        to = f"/{kind}/{left}/{rest}" if left else f"/good/{rest}"
        return message("301 Moved" if kind == "moved" else "302 Found", b"", Location=to)
    return message("410 Gone", b"") if kind == "gone" else message("404 Not Found", b"")


def message(status: str, body: bytes, **headers: str) -> bytes:
    """Return an HTTP answer that closes the connection."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def drip(writer: asyncio.StreamWriter) -> None:
    """A byte a second, for two minutes."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(120):
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(1)


def _run(pipe: "multiprocessing.connection.Connection") -> None:
    async def main() -> None:
        publishers = Publishers()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            # One socket for the thousands of addresses of 127.0.0.0/8; asked at any other, it hangs up.
            if writer.get_extra_info("sockname")[0].startswith("127."):
                await publishers.serve(reader, writer)
            else:
                writer.close()

        server = await asyncio.start_server(serve, "0.0.0.0", 0, backlog=1024)
        pipe.send(server.sockets[0].getsockname()[1])
        async with server:
            await server.serve_forever()

    asyncio.run(main())


@contextmanager
def publishers() -> Iterator[int]:
    """Run the publishers; gives their port."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(theirs,), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join(5)


def stats(port: int, *, reset: bool = False) -> dict[str, object]:
    """Return the counts since the last reset."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{'reset' if reset else 'stats'}") as answer:
        return dict(json.load(answer))
