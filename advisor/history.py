"""What of a conversation is sent: the opening and the last turns, never half a turn. Pure."""

from collections.abc import Sequence

from digest.llm.entities import Message

PLAIN_KEYS = ("role", "content", "tool_calls", "tool_call_id")
PLAIN_CALL_KEYS = ("id", "type", "function")


def trim(messages: Sequence[Message], turns: int) -> list[Message]:
    """The opening (everything before the first answer) and the last `turns` turns.

    A turn is an assistant message with all its tool results: a result without its call would be refused.
    """
    starts = [n for n, message in enumerate(messages) if message["role"] == "assistant"]
    if len(starts) <= turns:
        return list(messages)
    return [*messages[: starts[0]], *messages[starts[-turns] :]]


def plain(messages: Sequence[Message]) -> list[Message]:
    """The conversation without what only the provider that wrote it understands, for another to go on."""
    return [_plain(message) for message in messages]


def _plain(message: Message) -> Message:
    kept = {key: message[key] for key in PLAIN_KEYS if key in message}
    if "tool_calls" in kept:
        calls = kept["tool_calls"]
        kept["tool_calls"] = [{key: call[key] for key in PLAIN_CALL_KEYS if key in call} for call in calls]
    return kept
