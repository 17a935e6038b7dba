"""A daily limit for a source, learned from the places of its items on the page: daily_limit. Pure.

Few rated items stand behind others of their source, so for one source alone chance is hard to rule out. So
all sources are tested together first: is what stands lower among its source liked less (`strata_z`, at most
0.02 by chance)? Only then a source needs no more than a probability of its own of at most 0.05.
"""

from collections.abc import Sequence

from digest.entities import RatedItem
from ranking.common.probability import normal_above
from ranking.language import gettext_noop
from ranking.source_rules import DAILY_LIMIT_MAX, limit_words
from suggestions.changes.change import Field, Kind, State, Texts
from suggestions.changes.source_rules import CHANCE_MAX, RATINGS_MIN, CutKind, by_source, strata_z

LIMIT = "limit"
# Chosen on seeds 61 to 64 of `tests.lab advisor --data kinds`.
PLACES_CHANCE_MAX = 0.02


class DailyLimitKind(CutKind):
    """The most items a day, up to which the reader liked the items of the source."""

    field = Field.DAILY_LIMITS
    rule = "daily_limit"
    axis = gettext_noop("place in its day")
    cuts = range(1, DAILY_LIMIT_MAX + 1)
    value_refused = f"A daily limit is a whole number from 1 to {DAILY_LIMIT_MAX}."
    counts = gettext_noop(
        "You liked none of {beyond} that came after the first {value} of their day, "
        "and {likes} of {within} of those first ones."
    )

    def measure(self, rated: Sequence[RatedItem]) -> list[tuple[float, RatedItem]]:
        """Return each rating of an item that a page showed, with its place among its source there."""
        return [(float(item.place), item) for item in rated if item.place]

    def chance_max(self, rated: Sequence[RatedItem]) -> float:
        """Return the bar for a single test if the places tell something over all sources, else 0."""
        z = strata_z([self.measure(own) for own in by_source(rated).values()])
        return CHANCE_MAX if normal_above(-z) <= PLACES_CHANCE_MAX else 0.0

    def value_read(self, value: object) -> State:
        """Return the number."""
        text = str(value).strip()
        most = int(text) if text.isascii() and text.isdecimal() and len(text) < 3 else 0
        return most if 1 <= most <= DAILY_LIMIT_MAX else None

    def value_words(self, value: str) -> str:
        """Return the limit in words: "at most 3 a day"."""
        most = self.value_read(value)
        return limit_words(most) if isinstance(most, int) else value


DAILY_LIMIT = DailyLimitKind(
    LIMIT,
    name=Kind.DAILY_LIMIT,
    liked=False,
    evidence_min=RATINGS_MIN,
    texts=Texts(
        headline=gettext_noop("Show me fewer a day from {label}"),
        title="A daily limit for {}",
        doing="limiting {} source",
        targets="sources to limit",
        about=(gettext_noop("daily limits"), gettext_noop("a daily limit for {}")),
        sentence=gettext_noop("{label}: {value}, the best of them. The others stay in All and its folder."),
        impact=gettext_noop("Fewer articles a day from {label} will be in your digest."),
        nothing_left=gettext_noop("{label} has this limit already, so nothing had to change."),
        for_model="so many a day of a source; five later ones disliked, none liked",
        argument="1 to 10",
    ),
)
