"""A headstrong agent with a list of changes in mind, to see what guidance makes of it. Pure.

It reads the thumbs once, then writes one change after another in the order it was given, until two are stored
or the list is at its end. What it is told not to write it drops; it never asks twice for the same change.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from advisor.conversation import calls_of, calls_to
from digest.llm.entities import Message, ToolCall, ToolSchema, Turn, Usage
from suggestions.entities import BOOST_SOURCE, REDUCE_SOURCE, SOURCE_WEIGHTS

FEEDBACK, WRITE = "query_user_feedback", "write_suggestion"
STORED_MAX = 2
DAYS = 50
REASON = "Your thumbs on this source differ clearly from your usual rate over the last seven weeks."
CLOSING = json.dumps({"suggestions": [], "skipped": [], "meta": {}})


@dataclass(frozen=True, slots=True)
class Source:
    """One source of a simulated reader: its thumbs, the share of them up, and what was decided about it.

    `refused_days`, `accepted_days` and `pending` are earlier suggestions about it; `accepts` is how likely
    the reader accepts the next one. What is `settled` is not proposed again.
    """

    name: str
    thumbs: int
    rate: float
    refused_days: tuple[int, ...] = ()
    accepted_days: tuple[int, ...] = ()
    pending: bool = False
    settled: bool = False
    accepts: float = 0.6

    @property
    def suggestion_type(self) -> str:
        """What the agent has in mind for it."""
        return BOOST_SOURCE if self.rate >= 0.5 else REDUCE_SOURCE


# Two changes are free and welcome, two were turned down three times, three may not be asked now, and two have
# too little behind them. Four more were accepted long ago.
SOURCES = (
    Source("welcome-more", 40, 0.95),
    Source("welcome-less", 40, 0.05),
    Source("resisted-more", 40, 0.95, (70, 45, 20), accepts=0.2),
    Source("resisted-less", 40, 0.05, (75, 50, 25), accepts=0.2),
    Source("answered-more", 30, 0.93, (4,)),
    Source("answered-less", 30, 0.07, (3,)),
    Source("waiting-more", 30, 0.93, pending=True),
    Source("thin-more", 2, 1.0),
    Source("even-more", 30, 0.5),
    Source("kept-more", 30, 0.93, accepted_days=(80,), settled=True),
    Source("grown-more", 30, 0.93, accepted_days=(60,), settled=True),
    Source("kept-less", 30, 0.07, accepted_days=(85,), settled=True),
    Source("shrunk-less", 30, 0.07, accepted_days=(65,), settled=True),
)
PROPOSED = tuple(source for source in SOURCES if not source.settled)


def history_lines(reader: str, now: datetime) -> Iterator[str]:
    """The reader's thumbs on every source as lines of the import format, oldest first."""
    rows = []
    for place, source in enumerate(SOURCES):
        for n in range(source.thumbs):
            useful = int((n + 1) * source.rate) > int(n * source.rate)
            at = now - timedelta(days=DAYS * (n + 0.5) / source.thumbs, minutes=place)
            rows.append((at, host_of(reader, source), n, useful))
    for at, host, n, useful in sorted(rows):
        yield json.dumps(
            {
                "reader": reader,
                "url": address_of(host, n),
                "title": f"Report {n} from {host}",
                "source": host,
                "useful": int(useful),
                "at": at.isoformat(),
                "published": at.isoformat(),
            }
        )


def host_of(reader: str, source: Source) -> str:
    """The source's key; each reader has their own."""
    return f"{source.name}-{reader}.example"


def address_of(host: str, n: int) -> str:
    """One item's address."""
    return f"https://{host}/items/{n}"


def proposal_of(reader: str, source: Source) -> dict[str, Any]:
    """The write that the agent has in mind, with up to five items that speak for it."""
    host, liked = host_of(reader, source), source.suggestion_type == BOOST_SOURCE
    said = [(n, int((n + 1) * source.rate) > int(n * source.rate)) for n in range(source.thumbs)]
    fitting = [address_of(host, n) for n, useful in said if useful == liked]
    return {
        "suggestion_type": source.suggestion_type,
        "field": SOURCE_WEIGHTS,
        "target_key": host,
        "suggested_value": "1.3" if liked else "0.7",
        "evidence_items": [{"url": url} for url in fitting[-5:]],
        "reason": REASON,
        "expected_impact": "Its stories move in the digest.",
    }


@dataclass
class HeadstrongModel:
    """The agent behind the `Model` protocol. `proposals` in the order it means to write them."""

    proposals: Sequence[Mapping[str, Any]]
    name: str = "scripted:headstrong"
    turns: int = field(default=0)

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSchema], *, timeout_s: float) -> Turn:
        """The next turn of the run."""
        self.turns += 1
        wanted = self._wanted(messages)
        message: Message = {"role": "assistant", "content": CLOSING if wanted is None else "Next."}
        if wanted is None:
            return Turn(message, CLOSING, (), model=self.name)
        name, arguments = wanted
        call = ToolCall(f"call_{self.turns}", name, json.dumps(arguments))
        function = {"name": call.name, "arguments": call.arguments}
        message["tool_calls"] = [{"id": call.id, "type": "function", "function": function}]
        return Turn(message, "Next.", (call,), model=self.name)

    def worst_case_usd(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Decimal:
        """Nothing: it is a script."""
        return Decimal(0)

    def cost_usd(self, usage: Usage) -> Decimal:
        """Nothing."""
        return Decimal(0)

    def _wanted(self, messages: Sequence[Message]) -> tuple[str, Mapping[str, Any]] | None:
        """The next call; `None` at the end."""
        if self.turns == 1:
            return FEEDBACK, {}
        writes = calls_to(calls_of(messages), WRITE)
        asked = {write.arguments.get("target_key") for write in writes}
        if sum(write.succeeded for write in writes) >= STORED_MAX:
            return None
        left = [proposal for proposal in self.proposals if proposal["target_key"] not in asked]
        return (WRITE, left[0]) if left else None
