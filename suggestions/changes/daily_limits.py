"""A daily limit for a source, learned from the order in which its items were rated: daily_limit. Pure."""

from collections import Counter
from collections.abc import Sequence
from datetime import date

from digest.entities import RatedItem
from ranking.language import gettext_noop
from ranking.source_rules import DAILY_LIMIT_MAX, limit_words
from suggestions.changes.change import Field, Kind, State, Texts
from suggestions.changes.source_rules import RATINGS_MIN, CutKind

LIMIT = "limit"


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
        """Return each rating with its place among those of its day, the first being 1."""
        seen: Counter[date] = Counter()
        found: list[tuple[float, RatedItem]] = []
        for item in sorted(rated, key=lambda one: (one.at, one.item_id)):
            seen[item.at.date()] += 1
            found.append((float(seen[item.at.date()]), item))
        return found

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
    ),
)
