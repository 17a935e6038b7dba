"""Open data as thumbs with a time, for the evaluation of the reflector. Reads files, no database.

MovieLens-100k: rating >= 4 is a thumb up, else down; the decade stands in for the source, genres are topics.
NeMig: a chosen article is a thumb up, one shown and not chosen a thumb down; the publisher is the source.
It knows no times, so readers come one hour after the other; a history hardly predicts a choice there.
Records: the histories of a file of preference records; items are told apart by source and title.
"""

import csv
import gzip
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from digest.feedback.records import BadLine, Record, record_parse, record_times

MOVIELENS, NEMIG = "movielens-100k", "nemig-en"
LIKED_FROM = 4
START = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Rating:
    """One thumb of one reader; `item` tells items apart."""

    reader: str
    item: str
    title: str
    source: str
    topics: tuple[str, ...]
    liked: bool
    at: datetime


def ratings_movielens(folder: Path) -> list[Rating]:
    """Return the ratings in order of reader and time."""
    films = {row["item_id"]: row for row in _rows(folder / "items.csv.gz")}
    found = [
        Rating(
            reader=row["user_id"],
            item=row["item_id"],
            title=films[row["item_id"]]["title"],
            source=_decade(films[row["item_id"]]["release_year"]),
            topics=tuple(films[row["item_id"]]["genres"].split()),
            liked=float(row["rating"]) >= LIKED_FROM,
            at=datetime.fromtimestamp(int(float(row["timestamp"])), UTC),
        )
        for row in _rows(folder / "ratings.csv.gz")
        if row["item_id"] in films
    ]
    return sorted(found, key=lambda rating: (rating.reader, rating.at, rating.item))


def ratings_nemig(folder: Path) -> list[Rating]:
    """Return the choices, a minute apart within a reader, from the hour of their first impression."""
    articles = {row["news_id"]: row for row in _rows(folder / "articles.csv.gz")}
    told: dict[str, int] = {}
    hours: dict[str, int] = {}
    found = []
    for row in sorted(_rows(folder / "behaviors.csv.gz"), key=lambda row: int(row["impression_id"])):
        for shown in row["impressions"].split():
            news, _, chosen = shown.rpartition("-")
            if news in articles:
                n = told[row["user_id"]] = told.get(row["user_id"], 0) + 1
                hour = hours.setdefault(row["user_id"], len(hours))
                at = START + timedelta(hours=hour, minutes=n)
                found.append(_choice(row["user_id"], articles[news], chosen == "1", at))
    return sorted(found, key=lambda rating: (rating.reader, rating.at))


def ratings_records(lines: Iterable[str]) -> tuple[list[Rating], list[tuple[int, str]]]:
    """Return the thumbs of a file of records, each once, and (line number, code) of every bad line."""
    found: dict[tuple[str, str, datetime], Rating] = {}
    bad = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            for rating in _told(record_parse(line)):
                found[(rating.reader, rating.item, rating.at)] = rating
        except BadLine as error:
            bad.append((number, error.code))
    return sorted(found.values(), key=lambda rating: (rating.reader, rating.at, rating.item)), bad


def by_reader(ratings: Sequence[Rating]) -> dict[str, list[Rating]]:
    """Return the ratings of each reader, in their order."""
    found: dict[str, list[Rating]] = {}
    for rating in ratings:
        found.setdefault(rating.reader, []).append(rating)
    return found


def _told(record: Record) -> Iterator[Rating]:
    """Yield the rows of a record, then its candidate, dated an hour later."""
    times = record_times(record.rows, START)
    for row, at in zip(record.rows, times, strict=True):
        yield Rating(
            record.reader, f"{row.source}\n{row.title}", row.title, row.source, row.topics, row.liked, at
        )
    if record.liked is not None:
        at = (times[-1] if times else START) + timedelta(hours=1)
        name = f"{record.source}\n{record.title}"
        yield Rating(record.reader, name, record.title, record.source, record.topics, record.liked, at)


def _choice(reader: str, article: dict[str, str], chosen: bool, at: datetime) -> Rating:
    topic = article["subtopic_label"].strip()
    return Rating(
        reader=reader,
        item=article["news_id"],
        title=article["title"],
        source=article["publisher"],
        topics=(topic,) if topic else (),
        liked=chosen,
        at=at,
    )


def _decade(year: str) -> str:
    return f"{year[:3]}0s" if year[:4].isdecimal() else "unknown"


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
