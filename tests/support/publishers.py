"""Publishers on this machine. Each has its own address 127.x.y.z, so pauses per host are kept."""

import asyncio
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime

DATE = re.compile(
    r"(<(?P<tag>pubDate|published|updated|dc:date|lastBuildDate|date)>)\s*([^<]{8,40}?)\s*(</(?P=tag)>)"
)


def address(n: int) -> str:
    """Return the loopback address of publisher `n`, from 0 on."""
    return f"127.90.{n // 250}.{n % 250 + 1}"


def dated_anew(document: str, newest: datetime) -> str:
    """`document` with its dates moved, so that the newest is `newest`; unreadable ones stay."""
    dates = [at for found in DATE.finditer(document) if (at := _date(found[3]))]
    if not dates:
        return document
    by = newest - max(dates)

    def moved(found: re.Match[str]) -> str:
        at = _date(found[3])
        if at is None:
            return found[0]
        words = (at + by).isoformat() if "T" in found[3] else format_datetime(at + by)
        return f"{found[1]}{words}{found[4]}"

    return DATE.sub(moved, document)


def _date(text: str) -> datetime | None:
    for parse in (parsedate_to_datetime, datetime.fromisoformat):
        with suppress(ValueError, TypeError):
            at: datetime = parse(text)
            return at if at.tzinfo else at.replace(tzinfo=UTC)
    return None


@contextmanager
def publishers(
    documents: Mapping[str, bytes], *, slow: Mapping[str, float] | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Serve `documents` by address, those in `slow` after their seconds. Yield the port and the addresses
    asked."""
    asked: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host = writer.get_extra_info("sockname")[0]
        with suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            asked.append(host)
            await asyncio.sleep((slow or {}).get(host, 0))
            body = documents[host]
            status = "200 OK" if body else "503 Service Unavailable"
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()
        writer.close()

    loop, ready = asyncio.new_event_loop(), threading.Event()
    ports: list[int] = []

    async def listen(over: asyncio.Event) -> None:
        first, *others = documents
        async with await asyncio.start_server(serve, first, 0) as server:
            ports.append(server.sockets[0].getsockname()[1])
            more = await asyncio.start_server(serve, others, ports[0]) if others else None
            ready.set()
            await over.wait()
            if more:
                more.close()

    over = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(listen(over),), daemon=True)
    thread.start()
    assert ready.wait(30), "the publishers did not start"
    try:
        yield ports[0], asked
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(30)
        loop.close()


def opml(addresses: Mapping[str, str]) -> bytes:
    """Return a list of feeds, by title."""
    lines = "".join(f'<outline type="rss" text="{n}" xmlUrl="{url}"/>' for n, url in addresses.items())
    return f'<opml version="2.0"><body>{lines}</body></opml>'.encode()


def hours_ago(n: float) -> datetime:
    """Return the moment `n` hours before now."""
    return datetime.now(UTC) - timedelta(hours=n)
