"""A model server that answers at once, in its own process, to measure a turn without the model's time.

It speaks chat completions over kept-alive connections. After `/reset?turns=N` each answer asks for one tool
call (`query_user_config`, no arguments), except the N-th, which ends the run.
"""

import asyncio
import json
import multiprocessing
import multiprocessing.connection
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

TOOL = "query_user_config"
FINAL = '{"suggestions": [], "skipped": [], "meta": {}}'
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


class Stub:
    """The answers, and the counts since the last reset."""

    def __init__(self) -> None:
        self.turns, self.requests, self.received = 1, 0, 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, as many requests as the client likes."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                lengths = [
                    line[15:] for line in head.split("\r\n") if line.lower().startswith("content-length:")
                ]
                body = await reader.readexactly(int(lengths[0]) if lengths else 0)
                said = json.dumps(self.answer(head.split(" ", 2)[1], len(body))).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    b"Content-Length: %d\r\n\r\n%b" % (len(said), said)
                )
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client has hung up, as it may
        finally:
            writer.close()

    def answer(self, path: str, size: int) -> dict[str, object]:
        """Return the answer to one request."""
        if path.startswith("/reset"):
            self.turns, self.requests, self.received = int(parse_qs(urlsplit(path).query)["turns"][0]), 0, 0
            return {}
        if path.startswith("/stats"):
            return {"requests": self.requests, "bytes": self.received}
        self.requests, self.received = self.requests + 1, self.received + size
        message: dict[str, object] = {"role": "assistant", "content": FINAL}
        if self.requests < self.turns:
            called = {"name": TOOL, "arguments": "{}"}
            calls = [{"id": f"call-{self.requests}", "type": "function", "function": called}]
            message = {"role": "assistant", "content": None, "tool_calls": calls}
        reason = "tool_calls" if "tool_calls" in message else "stop"
        return {
            "id": f"chat-{self.requests}",
            "object": "chat.completion",
            "created": 0,
            "model": "stub",
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": USAGE,
        }


def _run(pipe: "multiprocessing.connection.Connection") -> None:
    async def main() -> None:
        server = await asyncio.start_server(Stub().serve, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        async with server:
            await server.serve_forever()

    asyncio.run(main())


@contextmanager
def stub() -> Iterator[int]:
    """Run the server; gives its port on 127.0.0.1."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(theirs,), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join(5)


def reset(port: int, turns: int) -> None:
    """Begin a run of `turns` turns."""
    urllib.request.urlopen(f"http://127.0.0.1:{port}/reset?turns={turns}").read()


def stats(port: int) -> dict[str, int]:
    """`requests` and `bytes` of their bodies since the last reset."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats") as answer:
        return dict(json.load(answer))
