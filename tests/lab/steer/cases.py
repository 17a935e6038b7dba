"""The items that a change should move: films by readers' tags, news by editors' labels. Files below
TIDINGS_DATA."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ranking.common.text import topic_key
from ranking.entities import Candidate
from ranking.pool import FindAbout
from tests.lab.histories.data import SMALL, csv_rows, movielens
from tests.lab.ranking.topics import NAMED

NOW = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
# A tag on fewer films cannot be told from chance in a pool of a hundred.
TAG_FILMS_MIN = 5
TITLE_CHARS, TEXT_CHARS = 80, 2_000
BBC, AG_NEWS, NEMIG_NEWS = "topics-bbc", "topics-ag-news", "nemig-en"
# News come without a source; this many desks stand in for some. NeMig's have publishers.
DESKS = 7
# The most frequent labels of NeMig count: it has forty, most of them rare.
LABELS_MAX = 8


@dataclass(frozen=True, slots=True)
class Thing:
    """One item: its publisher's words, its source, and the subjects that other people gave it (`labels`)."""

    source: str
    title: str
    text: str = ""
    categories: tuple[str, ...] = ()
    labels: frozenset[str] = frozenset()

    def candidate(self, item_id: int, dated_at: datetime) -> Candidate:
        """Return the item as ranking knows it."""
        return Candidate(item_id, self.source, self.title, self.text, dated_at, categories=self.categories)


@dataclass(frozen=True, slots=True)
class Target:
    """A topic as a reader names it, with the labels that its items carry; `niche`: among the rarer half.

    `names` are other names that the reader gives it.
    """

    topic: str
    labels: frozenset[str]
    niche: bool = False
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A data set: its items, the targets to steer towards, and readers' likes by place (none: unknown).

    `find_about` finds items by meaning, with their places as ids. None: by their words only.
    """

    name: str
    things: Sequence[Thing]
    targets: Sequence[Target]
    readers: Sequence[dict[int, bool]] = ()
    find_about: FindAbout | None = None


def films(folder: Path) -> Field:
    """MovieLens-latest-small: tags are a film's categories and its labels, the period is its source."""
    tags: defaultdict[str, set[str]] = defaultdict(set)
    for row in csv_rows(folder / SMALL / "tags.csv.gz"):
        if key := topic_key(row["tag"]):
            tags[row["movieId"]].add(key)
    histories = movielens(folder, SMALL)
    of_film = {r.url.rpartition("/")[2]: r for h in histories for r in h.rated}
    places = {film: n for n, film in enumerate(of_film)}
    things = [
        Thing(r.source, r.title.rpartition(":")[0], "", tuple(sorted(tags[film])), frozenset(tags[film]))
        for film, r in of_film.items()
    ]
    counts = Counter(label for thing in things for label in thing.labels)
    often = sorted((c, tag) for tag, c in counts.items() if c >= TAG_FILMS_MIN)
    targets = [Target(tag, frozenset([tag]), n < len(often) // 2) for n, (_, tag) in enumerate(often)]
    readers = [{places[r.url.rpartition("/")[2]]: r.liked for r in h.rated} for h in histories]
    return Field(f"{SMALL}, tags", things, targets, readers)


def news(folder: Path, name: str) -> Field:
    """Load BBC, AG News or NeMig. A topic is found in the words only, and a label tells the subject."""
    if name == NEMIG_NEWS:
        return Field(name, _nemig_things(folder), ())
    if name == BBC:
        rows = csv_rows(folder / name / "bbc_news.csv.gz")
        texts = [(r["text"][:TITLE_CHARS], r["text"][:TEXT_CHARS], r["label"]) for r in rows]
    else:
        rows = csv_rows(folder / name / "ag_news_test.csv.gz")
        texts = [(r["title"], r["description"], r["label"]) for r in rows]
    things = [
        Thing(f"desk-{n % DESKS}.example", title, text, labels=frozenset([label]))
        for n, (title, text, label) in enumerate(texts)
    ]
    known = {label for thing in things for label in thing.labels}
    targets = [Target(topic, frozenset(labels & known)) for topic, labels in NAMED.items() if labels & known]
    return Field(name, things, targets)


def _nemig_things(folder: Path) -> list[Thing]:
    """Return the articles of NeMig that have one of the most frequent labels."""
    rows = [row for row in csv_rows(folder / NEMIG_NEWS / "articles.csv.gz") if row["subtopic_label"]]
    counts = Counter(row["subtopic_label"] for row in rows)
    known = {label for label, _ in counts.most_common(LABELS_MAX)}
    return [
        Thing(_desk(row["publisher"]), row["title"], row["abstract"], labels=frozenset([label]))
        for row in rows
        if (label := row["subtopic_label"]) in known
    ]


def _desk(publisher: str) -> str:
    return f"{'-'.join(re.findall('[a-z0-9]+', publisher.casefold())) or 'unknown'}.example"
