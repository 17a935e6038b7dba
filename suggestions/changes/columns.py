"""The columns of targets that the planner counts thumbs on: sources, topics, and those of single kinds. Pure.

A kind names its column. A new column is a subclass of `Column` with `found`, and whatever else of it differs:
`listed` says which targets thumbs are counted on.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from digest.entities import RatedItem
from ranking.common.categories import category_key, topic_categories
from ranking.common.text import topic_key
from ranking.entities import Config
from suggestions.changes.phrases import (
    AUTHORS_MAX,
    CATEGORIES_MAX,
    TOPICS_MAX,
    authors_frequent,
    categories_frequent,
    phrases_frequent,
    phrases_without,
)

NO_NAMES: Mapping[str, Sequence[str]] = {}


class Ratings(NamedTuple):
    """A reader's ratings, the titles of their sources by key, and the other names of topics by key."""

    items: Sequence[RatedItem]
    titles: Mapping[str, str]
    names: Mapping[str, Sequence[str]]


class Targets(NamedTuple):
    """The targets of a column: spellings by key, and the keys of those that are authors."""

    labels: Mapping[str, str]
    authors: frozenset[str] = frozenset()


class Column:
    """A group of targets. The finder of its kinds says which articles are about one, and so gets the thumb.

    `key` gives the identity of a target among its thumbs, by its spelling. Columns beside sources and topics
    do not tell whether a reader prefers anything (`preference_of` was measured without them).
    """

    # Whether its targets are authors: each is compared with the sources they write for only.
    of_authors = False

    def __init__(self, name: str, key: Callable[[str], str] = str) -> None:
        self.name, self.key = name, key

    def __repr__(self) -> str:
        return f"<column {self.name}>"

    def found(self, rated: Sequence[RatedItem], titles: Mapping[str, str], config: Config) -> Iterable[str]:
        """Return the spellings of the targets in a reader's ratings; `titles` are those of sources, by key.

        Of sources and topics only the reader's own: `listed` finds the others.
        """
        return ()

    def listed(self, ratings: Ratings, given: Sequence[str]) -> Targets:
        """Return the targets to count thumbs on, those `given` in their own spelling; see `attributes_of`."""
        return Targets(dict(sorted({self.key(one): one for one in given}.items())))


class SourceColumn(Column):
    """The sources."""

    def listed(self, ratings: Ratings, given: Sequence[str]) -> Targets:
        """Return the sources of the ratings."""
        return Targets({key: key for key in sorted({item.source for item in ratings.items})})


class TopicColumn(Column):
    """The topics, some of which are authors' names."""

    def found(self, rated: Sequence[RatedItem], titles: Mapping[str, str], config: Config) -> Iterable[str]:
        """Return the reader's own topics."""
        return config.topics

    def listed(self, ratings: Ratings, given: Sequence[str]) -> Targets:
        """Return the topics `given`, and the frequent categories, authors and phrases of the ratings.

        What has another name of a topic is about the topic, so that such a `name` is no topic of its own.
        """
        rated, titles, names = ratings
        labels = {topic_key(topic): topic for topic in given}
        own = frozenset().union(*map(topic_categories, given))
        taken = {topic_key(name) for some in names.values() for name in some}
        named = categories_frequent(rated, titles)
        categories = [one for one in named if category_key(one.label) not in own][:CATEGORIES_MAX]
        authors = phrases_without(authors_frequent(rated, titles), categories)
        labelled = [*categories, *authors[:AUTHORS_MAX]]
        phrases = phrases_without(phrases_frequent(rated, titles), labelled)
        for found in [*labelled, *phrases][:TOPICS_MAX]:
            if found.key not in taken:
                labels.setdefault(found.key, found.label)
        return Targets(
            dict(sorted(labels.items())), frozenset(one.key for one in authors if one.key in labels)
        )


SOURCES, TOPICS = SourceColumn("sources"), TopicColumn("topics", topic_key)
NOTHING: Mapping[Column, Sequence[str]] = {}


@dataclass(frozen=True, slots=True)
class Attributes:
    """The targets that thumbs are counted on: spellings by key, by column, in the order of the arrays.

    Sources come first, topics next. `authors` are the `topics` that are an author's name. `names` are the
    other names of topics, by key, and `whole` the topics that are found in texts, too.
    """

    targets: Mapping[Column, Mapping[str, str]]
    authors: frozenset[str] = frozenset()
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the keys of sources."""
        return tuple(self.targets[SOURCES])

    @property
    def topics(self) -> tuple[str, ...]:
        """Return the keys of topics."""
        return tuple(self.targets[TOPICS])

    @property
    def keys(self) -> list[tuple[Column, str]]:
        """Return column and key of each target, in the order of the arrays."""
        return [(column, key) for column, labels in self.targets.items() for key in labels]

    def labels(self, column: Column) -> Mapping[str, str]:
        """Return the spellings of a column's targets by key."""
        return self.targets.get(column, {})

    def index(self, column: Column, label: str) -> int:
        """Return the index of a target, by its spelling. Raises `ValueError` for an unknown one.

        So a target whose key marks its type, such as `author:ada`, is counted by its name.
        """
        return self.keys.index((column, column.key(label)))

    def is_whole(self, column: Column, key: str) -> bool:
        """Return whether a target is found in texts, too."""
        return column is TOPICS and key in self.whole

    def is_author(self, column: Column, key: str) -> bool:
        """Return whether a target is an author."""
        return column.of_authors or (column is TOPICS and key in self.authors)


def attributes_of(
    rated: Sequence[RatedItem],
    *,
    titles: Mapping[str, str],
    given: Mapping[Column, Sequence[str]] = NOTHING,
    names: Mapping[str, Sequence[str]] = NO_NAMES,
) -> Attributes:
    """Return the targets for these ratings; those `given` by column are among them in their own spelling.

    Sources are always those of the ratings, and topics are found in them. Of other columns there is what is
    given. `names` are the other names of topics, by key.
    """
    columns: Mapping[Column, Sequence[str]] = {SOURCES: (), TOPICS: (), **given}
    ratings = Ratings(rated, titles, names)
    found = {column: column.listed(ratings, some) for column, some in columns.items()}
    labels = {column: targets.labels for column, targets in found.items()}
    return Attributes(labels, found[TOPICS].authors, names)
