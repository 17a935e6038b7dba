"""Answer one MCP message with the official SDK, from the bytes of the request to the bytes of the answer."""

from collections.abc import Mapping
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


def tool_of(name: str, description: str, parameters: dict[str, Any], *, reads: bool) -> types.Tool:
    """Return a tool in MCP's form."""
    hints = types.ToolAnnotations(read_only_hint=reads, destructive_hint=False, open_world_hint=False)
    return types.Tool(name=name, description=description, input_schema=parameters, annotations=hints)


async def message_answer(
    server: Server[Any], headers: Mapping[str, str], body: bytes, timeout_s: float
) -> tuple[int, str, bytes]:
    """Return the status, content type and body of the answer of `server` to one POST.

    Raises `TimeoutError` after `timeout_s` seconds.
    """
    manager = StreamableHTTPSessionManager(app=server, json_response=True, stateless=True)
    sent: list[Mapping[str, Any]] = []
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if not waiting:
            await anyio.sleep_forever()
        return waiting.pop()

    async def send(message: Any) -> None:
        sent.append(message)

    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "root_path": "",
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
    }
    with anyio.fail_after(timeout_s):
        async with manager.run():
            await manager.handle_request(scope, receive, send)
    names = {bytes(name).lower(): bytes(value).decode() for name, value in sent[0].get("headers", ())}
    answer = b"".join(message.get("body", b"") for message in sent[1:])
    return int(sent[0]["status"]), names.get(b"content-type", "application/json"), answer
