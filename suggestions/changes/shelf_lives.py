"""A shelf life for a source, learned from ratings by the age of the item: shelf_life. Pure."""

from collections.abc import Sequence
from datetime import timedelta

from digest.entities import RatedItem
from ranking.language import gettext_noop
from ranking.source_rules import SHELF_CHOICES, SHELF_HOURS_MAX, SHELF_HOURS_MIN, hours_words
from suggestions.changes.change import Field, Kind, State, Texts
from suggestions.changes.source_rules import RATINGS_MIN, CutKind

AGE = "age"


class ShelfLifeKind(CutKind):
    """A shelf life in hours, up to which the reader liked the items of the source."""

    field = Field.SHELF_LIVES
    rule = "shelf_life"
    axis = gettext_noop("age in hours")
    # After a week nothing competes anyway.
    cuts = SHELF_CHOICES[:-1]
    value_refused = f"A shelf life is a whole number of hours from {SHELF_HOURS_MIN} to {SHELF_HOURS_MAX}."
    counts = gettext_noop(
        "You liked none of {beyond} that were older than {value} hours, and {likes} of {within} younger ones."
    )

    def measure(self, rated: Sequence[RatedItem]) -> list[tuple[float, RatedItem]]:
        """Return each rating with the item's age in hours at that time."""
        return [((item.at - item.dated_at) / timedelta(hours=1), item) for item in rated]

    def value_read(self, value: object) -> State:
        """Return the hours."""
        text = str(value).strip()
        hours = int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else 0
        return hours if SHELF_HOURS_MIN <= hours <= SHELF_HOURS_MAX else None

    def value_words(self, value: str) -> str:
        """Return the shelf life in words: "6 hours"."""
        hours = self.value_read(value)
        return hours_words(hours) if isinstance(hours, int) else value


SHELF_LIFE = ShelfLifeKind(
    AGE,
    name=Kind.SHELF_LIFE,
    liked=False,
    evidence_min=RATINGS_MIN,
    texts=Texts(
        headline=gettext_noop("Show me {label} only while it is fresh"),
        title="A shelf life for {}",
        doing="giving {} source a shelf life",
        targets="sources with a shelf life",
        about=(gettext_noop("shelf lives"), gettext_noop("a shelf life for {}")),
        sentence=gettext_noop(
            "Articles from {label} leave your digest after {value}. They stay in All and its folder."
        ),
        impact=gettext_noop("Older articles from {label} will leave your digest."),
        nothing_left=gettext_noop("{label} has this shelf life already, so nothing had to change."),
        for_model="show a source only while fresh; five older items disliked, none liked",
        argument="hours",
    ),
)
