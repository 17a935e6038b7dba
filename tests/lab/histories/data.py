"""Open histories below TIDINGS_DATA, read as readers' thumbs: MovieLens-100k, -latest-small, and NeMig."""

import csv
import gzip
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from ranking.common.categories import category_key
from tests.lab.histories.pools import History, Rated

LIKED_FROM = 4
# Periods of release, each a "source": before 1950, decades, the years most films are from, threes of years.
PERIODS = (1950, 1960, 1970, 1980, 1990, 1993, 1994, 1995, 1996, 1997, 1998, *range(1999, 2015, 3))
PERIOD_NAMES: tuple[str, ...] = (
    *("silents", "fifties", "sixties", "seventies", "eighties", "early nineties", "spring", "summer"),
    *("autumn", "winter", "midsummer", "latest"),
    *("dawn", "morning", "noon", "evening", "dusk", "midnight"),
)
MOVIELENS, SMALL, NEMIG = "movielens-100k", "movielens-latest-small", "nemig"
YEAR_UNKNOWN = 1995
# A tag on fewer films is somebody's note, no topic.
TAG_FILMS_MIN = 5
_YEAR = re.compile(r"\((\d{4})\)\s*$")


def movielens(folder: Path, name: str = MOVIELENS, *, by_genre: bool = False) -> list[History]:
    """Return the readers of a MovieLens set, by time. A rating of 4 or more counts as liked.

    The source of a film is its period, and its genres are words in its title. With `by_genre` the first genre
    is the source and the period a word. If readers tag films, a film's categories are the tags that anybody
    gave it before the moment of the rating, because later ones were not visible.
    """
    small = name == SMALL
    rows_of_films = csv_rows(folder / name / ("movies.csv.gz" if small else "items.csv.gz"))
    films = dict(_film_small(row, by_genre) if small else _film(row, by_genre) for row in rows_of_films)
    item_id, user_id = ("movieId", "userId") if small else ("item_id", "user_id")
    tags = _tags(folder / name / "tags.csv.gz") if small else {}
    ratings: defaultdict[str, list[tuple[int, str, bool]]] = defaultdict(list)
    for row in csv_rows(folder / name / "ratings.csv.gz"):
        given = int(row["timestamp"]), row[item_id], float(row["rating"]) >= LIKED_FROM
        ratings[row[user_id]].append(given)
    return [
        History(
            f"film-{user}",
            tuple(
                replace(films[i], liked=liked, categories=_given(tags.get(i, ()), at))
                for at, i, liked in sorted(rows)
                if i in films
            ),
        )
        for user, rows in sorted(ratings.items(), key=lambda pair: int(pair[0]))
    ]


def _film(row: dict[str, str], by_genre: bool) -> tuple[str, Rated]:
    year = int(row["release_year"]) if row["release_year"].isdigit() else YEAR_UNKNOWN
    genres = tuple(row["genres"].casefold().split())
    return row["item_id"], _rated_film(row["item_id"], row["title"], year, genres, by_genre)


def _film_small(row: dict[str, str], by_genre: bool) -> tuple[str, Rated]:
    found = _YEAR.search(row["title"])
    year = int(found.group(1)) if found else YEAR_UNKNOWN
    genres = tuple(g.casefold() for g in row["genres"].split("|") if not g.startswith("("))
    return row["movieId"], _rated_film(row["movieId"], row["title"], year, genres, by_genre)


def _rated_film(item: str, title: str, year: int, genres: tuple[str, ...], by_genre: bool) -> Rated:
    number = bisect_right(PERIODS, year)
    genres = genres or ("unknown",)
    topics: tuple[str, ...]
    if by_genre:
        topics, source = PERIOD_NAMES[number : number + 1], f"genre-{genres[0]}"
    else:
        topics, source = genres, f"period-{number:02d}"
    # Commas keep neighbouring topics apart: a phrase never runs across one.
    return Rated(f"https://films.example/{item}", f"{title}: {', '.join(topics)}", source, topics, True)


def _tags(path: Path) -> dict[str, list[tuple[int, str]]]:
    """(when, tag) by film, of the tags that are on a handful of films at least, in one spelling."""
    rows = [(row["movieId"], int(row["timestamp"]), category_key(row["tag"])) for row in csv_rows(path)]
    films = Counter(tag for _, tag in {(film, tag) for film, _, tag in rows if tag})
    found: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for film, at, tag in rows:
        if films[tag] >= TAG_FILMS_MIN:
            found[film].append((at, tag))
    return found


def _given(tags: Iterable[tuple[int, str]], before: int) -> tuple[str, ...]:
    return tuple(sorted({tag for at, tag in tags if at < before}))


def nemig(folder: Path, language: str) -> list[History]:
    """Readers of NeMig: articles chosen from a list were liked, the others of the list were not."""
    articles = {row["news_id"]: row for row in csv_rows(folder / f"{NEMIG}-{language}" / "articles.csv.gz")}
    seen: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for row in csv_rows(folder / f"{NEMIG}-{language}" / "behaviors.csv.gz"):
        for one in row["impressions"].split():
            news, _, chosen = one.rpartition("-")
            seen[row["user_id"]][news] = chosen == "1"
    return [
        History(
            user, tuple(_article(articles[news], liked) for news, liked in shown.items() if news in articles)
        )
        for user, shown in sorted(seen.items())
    ]


def _article(row: dict[str, str], liked: bool) -> Rated:
    source = row["publisher"].strip() or "unknown"
    return Rated(f"https://news.example/{row['news_id']}", row["title"], source, (), liked)


def csv_rows(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a gzipped CSV file, by column name."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
