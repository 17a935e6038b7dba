"""The effect of a settings change on a day's digest: its order before and after. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ranking.language import gettext as _
from ranking.language import ngettext


@dataclass(frozen=True, slots=True)
class OrderChange:
    """The order of a digest as it would be without a change (`before`), and right after it (`after`).

    The cause is one of three: the settings became `version`; the learning cycle of UTC day `cycle` ran; or
    the reader gave `answers` to interview questions about these items. The last two may come together. With
    none of the three, the reader had the page made again by their ratings.

    Without answers and ratings no page can be made again, so for these `before` is the page that the reader
    saw last. `arrived` are new items in `after` that came since then. They are not the change's effect.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    version: int = 0
    cycle: str = ""
    answers: tuple[int, ...] = ()
    arrived: tuple[int, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values, which `order_change_read` reads back."""
        return {
            "before": list(self.before),
            "after": list(self.after),
            "version": self.version,
            "cycle": self.cycle,
            "answers": list(self.answers),
            "arrived": list(self.arrived),
        }

    @property
    def added(self) -> tuple[int, ...]:
        """Return the items in `after` that are not in `before`, by rank."""
        return tuple(item for item in self.after if item not in self.before)

    @property
    def places(self) -> dict[int, int | None]:
        """Return {item: places moved up}; below 0 means down, `None` means that the change brought the item.

        Items that did not move, and items in `arrived`, are missing.
        """
        was = {item: rank for rank, item in enumerate(self.before)}
        moved = {item: was[item] - rank if item in was else None for rank, item in enumerate(self.after)}
        return {item: places for item, places in moved.items() if places != 0 and item not in self.arrived}

    @property
    def moved(self) -> int:
        """Return how many items changed their place."""
        return sum(places is not None for places in self.places.values())

    @property
    def new(self) -> int:
        """Return how many items the change brought."""
        return sum(places is None for places in self.places.values())

    @property
    def has_effect(self) -> bool:
        """Return whether the change moved, brought or took anything. Pages do not tell others."""
        return bool(self.places or self.gone)

    @property
    def may_be_undone(self) -> bool:
        """Return whether there is something to take back: ratings are taken back at their articles."""
        return bool(self.version or self.cycle or self.answers)

    @property
    def gone(self) -> int:
        """Return how many items left, not counting those replaced by items in `arrived`."""
        return max(0, len({*self.before} - {*self.after}) - len(self.arrived))


def order_change_read(stored: Mapping[str, Any] | None) -> OrderChange | None:
    """Return the change that `OrderChange.as_dict` stored; `None` if nothing is stored."""
    if not stored:
        return None
    before, after = tuple(stored["before"]), tuple(stored["after"])
    answers = tuple(stored.get("answers", ()))
    arrived = tuple(stored.get("arrived", ()))
    return OrderChange(before, after, stored["version"], stored["cycle"], answers, arrived)


def order_seen(shown: Sequence[int], seen: Sequence[int] | None, *, is_seen: bool) -> tuple[int, ...]:
    """Return the order that the reader last saw: `shown` if `is_seen`, else `seen` (if there is one)."""
    return tuple(shown if is_seen or not seen else seen)


def change_words(change: OrderChange) -> str:
    """Return the effect of a change on the page in a few words."""
    counts = (
        (change.moved, ngettext("{n} moved", "{n} moved", change.moved)),
        (change.new, ngettext("{n} new", "{n} new", change.new)),
        (change.gone, ngettext("{n} gone", "{n} gone", change.gone)),
    )
    words = ", ".join(what.format(n=count) for count, what in counts if count)
    return words or _("nothing on today’s page moved")


@dataclass(frozen=True, slots=True)
class Mark:
    """How far an item moved, or that it is new: in words, and short for where a row has one line.

    `because` is the reason of one that nothing of its own moved.
    """

    words: str
    short: str
    because: str = ""


def mark_of(places: int | None) -> Mark:
    """Return the mark of an item that moved up by `places` (below 0: down), or that is new (`None`)."""
    if places is None:
        return Mark(_("New here"), _("new"))
    if places > 0:
        words = ngettext("Up {n} place", "Up {n} places", places)
        return Mark(words.format(n=places), f"↑ {places}", _("others fell"))
    words = ngettext("Down {n} place", "Down {n} places", -places)
    return Mark(words.format(n=-places), f"↓ {-places}", _("others rose"))
