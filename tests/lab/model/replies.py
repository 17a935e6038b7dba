"""Replies of paid models, stored by the hash of their request, so that a lab that is run again costs nothing.

A request is the same if messages, tools and form are, whoever the invented reader is: ids of readers and runs
are drawn anew in each shard, so they are left out of the hash.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

from advisor.review import compose
from advisor.run import execute
from digest.llm.client import chain_configured
from digest.llm.entities import AnswerForm, Message, Model, ToolCall, ToolSchema, Turn, Usage

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class StoredModel:
    """Ask a model only what it has not answered before, by the files in `folder`."""

    model: Model
    folder: Path

    @property
    def name(self) -> str:
        """Return the model's own name."""
        return self.model.name

    def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        *,
        timeout_s: float,
        form: AnswerForm | None = None,
    ) -> Turn:
        """Return the stored turn, or ask for a new one and store it. Errors are raised and not stored."""
        asked = [self.name, list(messages), list(tools), form and [form.name, form.schema]]
        path = self.folder / f"{request_hash(asked)}.json"
        if path.exists():
            return turn_load(path.read_text(encoding="utf-8"))
        turn = self.model.complete(messages, tools, timeout_s=timeout_s, form=form)
        self.folder.mkdir(parents=True, exist_ok=True)
        path.write_text(turn_dump(turn), encoding="utf-8")
        return turn

    def worst_case_usd(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Decimal:
        """Return the model's own figure: a run has the same caps, replayed or not."""
        return self.model.worst_case_usd(messages, tools)

    def cost_usd(self, usage: Usage) -> Decimal:
        """Return the cost of the reply when it was given."""
        return self.model.cost_usd(usage)


def request_hash(asked: Any) -> str:
    """Return the hash of a request, in 64 hexadecimal digits."""
    text = json.dumps(asked, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(UUID.sub("id", text).encode("utf-8", "surrogatepass")).hexdigest()


def turn_dump(turn: Turn) -> str:
    """Return a turn as JSON text."""
    calls = [[call.id, call.name, call.text] for call in turn.tool_calls]
    row = {"message": turn.message, "text": turn.text, "calls": calls, "model": turn.model}
    return json.dumps(row | {"usage": asdict(turn.usage)}, default=str)


def turn_load(text: str) -> Turn:
    """Return the turn in a JSON text."""
    row = json.loads(text)
    billed = row["usage"]["billed_usd"]
    usage = Usage(**row["usage"] | {"billed_usd": None if billed is None else Decimal(billed)})
    calls = tuple(ToolCall(*call) for call in row["calls"])
    return Turn(row["message"], row["text"], calls, usage, row["model"])


@contextmanager
def replies_stored(folder: Path) -> Iterator[None]:
    """Ask the configured models of runs and reviews through the files in `folder`."""

    def chain(purpose: str = "advisor") -> list[Model]:
        return [StoredModel(model, folder) for model in chain_configured(purpose)]

    with patch.object(execute, "chain_configured", chain), patch.object(compose, "chain_configured", chain):
        yield
