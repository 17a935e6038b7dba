"""A scripted agent behind a real chat-completions server on loopback, as long as a block lasts."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from digest.llm.entities import Message
from digest.llm.prices import tokens_estimated

Agent = Callable[[Sequence[Message]], Message]


@contextmanager
def served(agent: Agent) -> Iterator[str]:
    """Yield the address, ending in /v1, at which `agent` answers: the next message of any conversation it is
    sent.

    It reports tokens as the ledger counts them, four characters of JSON each.
    """
    handler = type("Handler", (_Handler,), {"agent": staticmethod(agent)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    """One connection, as many requests as the client likes."""

    agent: Agent
    protocol_version = "HTTP/1.1"
    # Head and body leave together: sent apart, the second waits for the first's receipt.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Answer one chat completion."""
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        asked: dict[str, Any] = json.loads(raw)
        message = type(self).agent(asked["messages"])
        said = json.dumps(_completion(asked, message)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: Any) -> None:
        """Log no requests."""


def _completion(asked: dict[str, Any], message: Message) -> dict[str, Any]:
    sent = tokens_estimated(len(json.dumps([asked["messages"], asked.get("tools", [])])))
    told = tokens_estimated(len(json.dumps(message)))
    usage = {"prompt_tokens": sent, "completion_tokens": told, "total_tokens": sent + told}
    reason = "tool_calls" if message.get("tool_calls") else "stop"
    return {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": asked.get("model", "scripted"),
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": usage,
    }
