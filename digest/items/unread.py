"""Unread counts of a reader by feed, folder and source. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class UnreadCounts:
    """Numbers of unread articles: in total, and by feed, folder and source. Each sum counts an article once.

    Muted items do not count. If there are more than `UNMUTED_MAX` unread items, only those of muted sources
    are left out, and `with_muted` is true. `muted` are the keys of muted sources.
    """

    total: int = 0
    feeds: Mapping[int, int] = field(default_factory=dict)
    folders: Mapping[str, int] = field(default_factory=dict)
    sources: Mapping[str, int] = field(default_factory=dict)
    with_muted: bool = False
    muted: Collection[str] = ()

    def within(self, *, source: str, folder: str | None, feed: int | None) -> int:
        """Return the count of the given feed, folder or source; without any, the total."""
        if feed is not None:
            return self.feeds.get(feed, 0)
        if folder is not None:
            return self.folders.get(folder, 0)
        return self.sources.get(source, 0) if source else self.total


def counts_of(rows: Sequence[tuple[str, int, str, int]]) -> UnreadCounts:
    """Return the counts from rows (kind, feed, name, count). A kind is all, feed, folder or source."""
    return UnreadCounts(
        total=next(count for kind, _, _, count in rows if kind == "all"),
        feeds={feed: count for kind, feed, _, count in rows if kind == "feed"},
        folders={name: count for kind, _, name, count in rows if kind == "folder"},
        sources={key: count for kind, _, key, count in rows if kind == "source"},
    )


def counts_of_rows(rows: Iterable[tuple[int, str, str, int]]) -> UnreadCounts:
    """Return the counts from unread items, each given as (feed, folder, source, article)."""
    unique = {*rows}
    return UnreadCounts(
        total=len({article for *_, article in unique}),
        feeds=Counter(feed for feed, _ in {(feed, article) for feed, _, _, article in unique}),
        folders=Counter(name for name, _ in {(name, article) for _, name, _, article in unique}),
        sources=Counter(key for key, _ in {(key, article) for _, _, key, article in unique}),
    )
