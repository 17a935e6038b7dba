"""Send requests at a given rate, without waiting for earlier answers.

A request's time counts from the moment it was due. A server that stalls then makes later requests slow
instead of fewer.
"""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass

LONGEST_S = 60.0
BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Ask:
    """One GET: the kind of its page, its path, and its cookie."""

    page: str
    path: str
    cookie: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: seconds since it was due, the status (0: none came), the size, and the delay of its
    start."""

    page: str
    seconds: float
    status: int
    size: int
    late: float


def ask_all(asks: Sequence[Ask], *, port: int, rate: float, seed: int) -> list[Answer]:
    """Ask at `rate` a second on average, at random moments (Poisson); every answer, in order of asking."""
    return asyncio.run(_all(asks, port, rate, random.Random(seed)))


def ask_at_once(asks: Sequence[Ask], *, port: int) -> list[Answer]:
    """Ask everything at the same moment."""
    return asyncio.run(_all(asks, port, float("inf"), random.Random(0)))


async def _all(asks: Sequence[Ask], port: int, rate: float, dice: random.Random) -> list[Answer]:
    loop = asyncio.get_running_loop()
    due, tasks = loop.time(), []
    for ask in asks:
        due += dice.expovariate(rate) if rate != float("inf") else 0.0
        if (early := due - loop.time()) > 0:
            await asyncio.sleep(early)
        tasks.append(asyncio.create_task(_timed(ask, port, due)))
    return list(await asyncio.gather(*tasks))


async def _timed(ask: Ask, port: int, due: float) -> Answer:
    loop = asyncio.get_running_loop()
    late = loop.time() - due
    try:
        status, size = await asyncio.wait_for(_get(ask, port), LONGEST_S)
    except (TimeoutError, OSError, ValueError, IndexError):
        status, size = 0, 0
    return Answer(ask.page, loop.time() - due, status, size, late)


async def _get(ask: Ask, port: int) -> tuple[int, int]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        cookie = f"Cookie: {ask.cookie}\r\n" if ask.cookie else ""
        said = f"GET {ask.path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{cookie}Connection: close\r\n\r\n"
        writer.write(said.encode())
        first, size = await reader.readline(), 0
        while more := await reader.read(BYTES):
            size += len(more)
        return int(first.split()[1]), size
    finally:
        writer.close()
