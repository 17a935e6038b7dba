"""What guidance remembers between calls: a run's own course, and what a reader's runs were told of late.

It stands in Django's cache, which all workers share where there is a Redis; a copy in this process stands
in for one that is lost. Every key carries the reader's id or the run's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

from django.core.cache import cache
from django.core.cache.backends.locmem import LocMemCache

from advisor.guidance.situations import WRITE
from advisor.guidance.tunables import Tunables

PREFIX = "guidance"
SHOWN, TEXT, TOOL = "shown", "text", "tool"
# What this process told, for when the shared cache is lost.
_own = LocMemCache("guidance", {"OPTIONS": {"MAX_ENTRIES": 10_000}})


@dataclass(slots=True)
class RunState:
    """One run's course so far: calls made, the last tools, writes that failed in a row, what was told.

    `told` are the memories this run has seen. `holds` are the writes held, by what they asked for, each with
    the id that lets it through and the words it was held with; `repeats` counts, by rule and target, how
    often a block was run into.
    """

    calls: int = 0
    recent: list[str] = field(default_factory=list)
    failed_writes: int = 0
    told: list[int] = field(default_factory=list)
    holds: dict[str, list[str]] = field(default_factory=dict)
    repeats: dict[str, int] = field(default_factory=dict)

    def called(self, tool: str, *, recent_max: int) -> None:
        """Count one call, and keep the last `recent_max` tools."""
        self.calls += 1
        self.recent = [*self.recent, tool][-recent_max:]

    def ended(self, tool: str, *, failed: bool) -> None:
        """Note how a call ended; only writes that count as failures make a row of them."""
        if tool == WRITE:
            self.failed_writes = self.failed_writes + 1 if failed else 0

    def repeated(self, what: str) -> bool:
        """Count that the run came upon `what`; whether it had before."""
        self.repeats[what] = self.repeats.get(what, 0) + 1
        return self.repeats[what] > 1


def state_load(*, run_id: UUID) -> RunState:
    """The state of a run that another process may have begun; a fresh one where none is known."""
    stored = cache.get(_state_key(run_id))
    return RunState(**stored) if isinstance(stored, dict) else RunState()


def state_keep(*, run_id: UUID, state: RunState, tunables: Tunables) -> None:
    """Keep a run's state for two hours."""
    cache.set(_state_key(run_id), asdict(state), tunables.state_ttl_s)


@dataclass(frozen=True, slots=True)
class Histories:
    """When what was last told to a reader, in seconds since the epoch."""

    shown: Mapping[int, float]
    tools: Mapping[str, float]
    texts: Mapping[str, float]


def histories_read(*, reader_id: UUID, memories: Iterable[int], texts: Iterable[str], tool: str) -> Histories:
    """What is known of these memories, texts and this tool; one round to the cache."""
    names = [(SHOWN, str(i)) for i in memories] + [(TEXT, text) for text in texts if text] + [(TOOL, tool)]
    by_key = {key_of(reader_id, kind, name): (kind, name) for kind, name in names}
    found = _own.get_many(by_key) | cache.get_many(by_key)
    split: dict[str, dict[str, float]] = {SHOWN: {}, TEXT: {}, TOOL: {}}
    for key, at in found.items():
        kind, name = by_key[key]
        split[kind][name] = float(at)
    return Histories({int(i): at for i, at in split[SHOWN].items()}, split[TOOL], split[TEXT])


def tool_cooling(*, reader_id: UUID, tool: str, now_s: float, tunables: Tunables) -> bool:
    """Whether this tool's calls were told something a moment ago."""
    key = key_of(reader_id, TOOL, tool)
    at = cache.get(key, _own.get(key))
    return at is not None and 0 <= now_s - float(at) < tunables.tool_cooldown_s


class CacheLost(Exception):
    """The shared cache does not keep what it is given; what was claimed is known to this process alone."""


def claim(*, reader_id: UUID, kind: str, name: str, now_s: float, ttl_s: float) -> bool:
    """Take the right to tell something, as one of many runs; `False` where another told it within `ttl_s`.

    Judged by `now_s`, so that a clock that stands still in a test stands still here. Raises `CacheLost`
    after taking it in this process, where the cache has lost what it was just given.
    """
    key = key_of(reader_id, kind, name)
    fresh_here = _take(_own, key, now_s, ttl_s)
    fresh = _take(cache, key, now_s, ttl_s)
    if cache.get(key) is None:
        if not fresh_here:
            return False
        raise CacheLost("The cache keeps nothing.")
    return fresh


def _take(store: Any, key: str, now_s: float, ttl_s: float) -> bool:
    if store.add(key, now_s, ttl_s):
        return True
    at = store.get(key)
    if at is not None and 0 <= now_s - float(at) < ttl_s:
        return False
    store.set(key, now_s, ttl_s)
    return True


def key_of(reader_id: UUID, kind: str, name: str) -> str:
    """The cache key of one thing told to one reader."""
    return f"{PREFIX}:{reader_id.hex}:{kind}:{name}"


def _state_key(run_id: UUID) -> str:
    return f"{PREFIX}:state:{run_id.hex}"


def forget_own() -> None:
    """Forget what this process keeps for when the shared cache is lost."""
    _own.clear()
