"""Values of the grammar of wishes: names, wishes, questions. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from ranking.entities import Candidate

WISH_CHARS_MAX = 500
# As many changes at a time as a run of the advisor may suggest.
WISHES_MAX = 3

SMALL, USUAL, BIG = "small", "usual", "big"
SOURCE, TOPIC, WORD, AUTHOR, FRESHNESS = "source", "topic", "word", "author", "freshness"
CATEGORY, TASTE = "category", "taste"


@dataclass(frozen=True, slots=True)
class Names:
    """The possible targets of this reader's wishes.

    `sources` has the titles of the sources they read, by key, `called` the keys by their own names for feeds;
    `topics` their interests and boosted keywords, `listed` the interests alone; `items` the items of the last
    seven days that they do not mute; `muted` the values of their mutes; `other_names` those of interests, by
    the key of the topic.
    """

    sources: Mapping[str, str]
    topics: Sequence[str] = ()
    listed: Sequence[str] = ()
    items: Sequence[Candidate] = ()
    called: Mapping[str, str] = field(default_factory=dict)
    muted: Sequence[str] = ()
    other_names: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a wish. `key` is a source's key, else the words as typed or as in settings."""

    kind: str
    key: str
    label: str


@dataclass(frozen=True, slots=True)
class Wish:
    """One change that was asked for; `until` is its last day, `most` a daily limit, `hours` a shelf life.

    `within` is the key of the only source in which it mutes; "" for everywhere.
    """

    direction: str
    target: Target
    amount: str = USUAL
    until: date | None = None
    most: int | None = None
    hours: int | None = None
    within: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer to a question: its label, and the whole wish in words that leave nothing open.

    `leads`: it is far ahead of the others, so that it is drafted, too.
    """

    label: str
    words: str
    leads: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A question back to the reader about `part` of their words. `unknown`: the words name nothing known.

    `others` are the other parts that are open, in the reader's words. They are asked about next: each choice
    has them behind its own words.
    """

    text: str
    choices: tuple[Choice, ...] = ()
    unknown: bool = False
    part: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading: wishes, or one question. `notes` name the parts left out, and why.

    `likely` are the wishes of answers that lead: they are drafted beside the question about their part.
    `left` has the words of the wishes beyond the third, which can be read the next time; `undoes`: the last
    change of the settings is wished away.
    """

    wishes: tuple[Wish, ...] = ()
    question: Question | None = None
    notes: tuple[str, ...] = field(default=())
    left: str = ""
    undoes: bool = False
    likely: tuple[Wish, ...] = ()

    @property
    def unread(self) -> bool:
        """Return whether nothing was understood, so that asking which of several is no use."""
        return not self.wishes and (self.question is None or self.question.unknown)
