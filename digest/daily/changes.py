"""What a change of settings did to the digest of a day: its order before, its order after. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ranking.language import gettext as _
from ranking.language import ngettext


@dataclass(frozen=True, slots=True)
class OrderChange:
    """A digest's items by rank as the reader last saw them (`before`), and right after a change (`after`).

    The change is that of settings to `version`, or else the learning cycle of the UTC day `cycle`, the
    `answers` of an interview about these items, or the latter two together. `arrived` are those of `after`
    that came in between: no work of the change.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    version: int = 0
    cycle: str = ""
    answers: tuple[int, ...] = ()
    arrived: tuple[int, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values, which `change_read` reads."""
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
        """Return by rank the items that were not there before, whatever brought them."""
        return tuple(item for item in self.after if item not in self.before)

    @property
    def places(self) -> dict[int, int | None]:
        """Return by item how many places it moved up (below 0: down), `None` for one that it brought.

        Items that stand where they stood, and those that merely arrived, are missing.
        """
        was = {item: rank for rank, item in enumerate(self.before)}
        moved = {item: was[item] - rank if item in was else None for rank, item in enumerate(self.after)}
        return {item: places for item, places in moved.items() if places != 0 and item not in self.arrived}

    @property
    def moved(self) -> int:
        """Return how many items stand at another place."""
        return sum(places is not None for places in self.places.values())

    @property
    def new(self) -> int:
        """Return how many items the change brought."""
        return sum(places is None for places in self.places.values())

    @property
    def gone(self) -> int:
        """Return how many items are there no more, beyond those that gave their places to what arrived."""
        return max(0, len({*self.before} - {*self.after}) - len(self.arrived))


def change_read(stored: Mapping[str, Any] | None) -> OrderChange | None:
    """Return the change that `OrderChange.as_dict` made `stored` of; `None` for none."""
    if not stored:
        return None
    before, after = tuple(stored["before"]), tuple(stored["after"])
    answers = tuple(stored.get("answers", ()))
    arrived = tuple(stored.get("arrived", ()))
    return OrderChange(before, after, stored["version"], stored["cycle"], answers, arrived)


def order_seen(shown: Sequence[int], seen: Sequence[int] | None, *, is_seen: bool) -> tuple[int, ...]:
    """Return the order the reader last saw: `shown` if `is_seen`, else the one before it, if any."""
    return tuple(shown if is_seen or not seen else seen)


def change_words(change: OrderChange) -> str:
    """Return what a change did to the page in a few words."""
    counts = (
        (change.moved, ngettext("{n} moved", "{n} moved", change.moved)),
        (change.new, ngettext("{n} new", "{n} new", change.new)),
        (change.gone, ngettext("{n} gone", "{n} gone", change.gone)),
    )
    words = ", ".join(what.format(n=count) for count, what in counts if count)
    return words or _("nothing on today’s page moved")


def mark_words(places: int | None) -> str:
    """Return the mark of one item: how far it moved, or that it is new."""
    if places is None:
        return _("New here")
    if places > 0:
        return ngettext("Up {n} place", "Up {n} places", places).format(n=places)
    return ngettext("Down {n} place", "Down {n} places", -places).format(n=-places)
