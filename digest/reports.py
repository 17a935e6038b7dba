"""What reading documents brought: one by one, and summed up. Pure."""

from dataclasses import dataclass, field
from datetime import timedelta

from digest.feeds import FeedProblem


@dataclass(frozen=True, slots=True)
class IngestResult:
    """What one document brought. `dropped` entries were beyond the limit, `blank` ones say nothing.

    `gap` is the time between its items, as far as their dates tell; `ttl_minutes` the pause it asks for.
    """

    items_new: int
    items_seen: int
    items_updated: int = 0
    dropped: int = 0
    blank: int = 0
    gap: timedelta | None = None
    ttl_minutes: int | None = None


@dataclass(slots=True)
class FetchReport:
    """What a round brought, feed by feed; refused feeds are reported, not raised.

    `left` feeds were not reached in time, or wait for a host that wants its pause.
    """

    per_feed: list[tuple[str, IngestResult]] = field(default_factory=list)
    errors: list[tuple[str, FeedProblem]] = field(default_factory=list)
    unchanged: int = 0
    left: int = 0

    def add(self, name: str, outcome: IngestResult | FeedProblem, *, unchanged: bool = False) -> None:
        """Note what became of one feed."""
        if isinstance(outcome, FeedProblem):
            self.errors.append((name, outcome))
        else:
            self.per_feed.append((name, outcome))
            self.unchanged += unchanged

    def as_dict(self) -> dict[str, object]:
        """The object scripts rely on, without the time it took."""
        return {
            "feeds": len(self.per_feed) + len(self.errors),
            "ok": len(self.per_feed),
            "failed": len(self.errors),
            "unchanged": self.unchanged,
            "left": self.left,
            "items_new": sum(result.items_new for _, result in self.per_feed),
            "items_seen": sum(result.items_seen for _, result in self.per_feed),
            "items_updated": sum(result.items_updated for _, result in self.per_feed),
            "errors": [{"feed": feed, "code": p.code, "message": p.message} for feed, p in self.errors],
            "per_feed": [
                {"feed": feed, "items_new": r.items_new, "items_seen": r.items_seen, "dropped": r.dropped}
                for feed, r in self.per_feed
            ],
        }


def broken(what: str, error: Exception) -> FeedProblem:
    """A fault of our own, as the problem of the one feed it concerns."""
    return FeedProblem("internal", f"Tidings could not {what} ({type(error).__name__}); the log says more.")
