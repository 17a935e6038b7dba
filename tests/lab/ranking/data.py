"""Open histories in the form that ranking needs: earlier ratings, offered items and choices of each reader.

Item ids are dealt at random, so that no order hides in them. If a data set has no publication times, all
items are equally old. A hash of their name puts each reader into one half: numbers are tuned on the
development half and reported on the other.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ranking.entities import Candidate
from tests.lab.histories.data import csv_rows

NOW = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
MOVIELENS, MOVIELENS_CUT, MIND = "movielens", "movielens-cut", "mind"
NEMIG_EN, NEMIG_DE = "nemig-en", "nemig-de"
NAMES = (MOVIELENS, MOVIELENS_CUT, MIND, NEMIG_EN, NEMIG_DE)
TRAINED = 0.7
# Fewer offered items, or fewer of a kind among them, say nothing about an order.
OFFERED_MIN, EITHER_MIN = 10, 2
# Items offered together in a digest came within a week.
WINDOW_HOURS = 168.0
# Items shown with each click of a history without recorded pages.
BESIDE = 9
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Case:
    """One reader: thumbs so far (item, useful), then the items offered and which of them they liked.

    `pages` are lists shown before, from the top, as (item, opened).
    """

    reader: str
    thumbs: tuple[tuple[int, bool], ...]
    offered: tuple[int, ...]
    liked: tuple[bool, ...]
    now: datetime = NOW
    pages: tuple[tuple[tuple[int, bool], ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Data:
    """A data set: items by their place, the words a reader might choose as topics, everybody's thumbs so far.

    `fresh` orders the items for the baseline by recency. `said` holds the thumbs of each other reader at the
    moment of the cases. `cases` are the ones to measure.
    """

    name: str
    items: Sequence[Candidate]
    topics: Sequence[tuple[str, ...]]
    fresh: Floats
    said: dict[str, tuple[tuple[int, bool], ...]]
    cases: Sequence[Case] = field(default_factory=tuple)


def data_read(name: str, folder: Path, *, seed: int, readers: int, development: bool) -> Data:
    """Return the data set with at most `readers` cases (0: all) of one half, drawn by `seed`."""
    read = {MOVIELENS: _movielens, MOVIELENS_CUT: _movielens_cut, MIND: _mind}.get(name)
    data = read(folder) if read else _nemig(folder, name)
    cases = [c for c in data.cases if (crc32(c.reader.encode()) & 1 == 0) is development and _telling(c)]
    rng = np.random.default_rng(seed)
    if readers and len(cases) > readers:
        cases = [cases[n] for n in sorted(rng.choice(len(cases), readers, replace=False).tolist())]
    return _dealt(data, cases, rng)


def _telling(case: Case) -> bool:
    up = sum(case.liked)
    enough = len(case.offered) >= OFFERED_MIN
    return enough and min(up, len(case.liked) - up) >= (EITHER_MIN if case.reader.startswith("film") else 1)


def _dealt(data: Data, cases: Sequence[Case], rng: np.random.Generator) -> Data:
    """Return the data with item ids that are a random permutation; places stay."""
    ids = rng.permutation(len(data.items)) + 1
    items = [replace(item, item_id=int(pk)) for pk, item in zip(ids, data.items, strict=True)]
    return Data(data.name, items, data.topics, data.fresh, data.said, cases)


def _films(folder: Path) -> tuple[dict[str, int], list[Candidate], list[tuple[str, ...]], Floats]:
    places: dict[str, int] = {}
    items: list[Candidate] = []
    topics: list[tuple[str, ...]] = []
    years: list[float] = []
    for row in csv_rows(folder / "movielens-100k" / "items.csv.gz"):
        year = int(row["release_year"]) if row["release_year"].isdigit() else 1995
        genres = tuple(row["genres"].casefold().split())
        places[row["item_id"]] = len(items)
        # The decade stands in for a source, the genres are words a reader might name.
        title = f"{row['title']}: {', '.join(genres)}"
        items.append(Candidate(len(items), f"{year // 10 * 10}s", title, "", NOW - timedelta(hours=1)))
        topics.append(genres)
        years.append(float(year))
    return places, items, topics, np.array(years)


def _ratings(folder: Path, places: dict[str, int]) -> dict[str, list[tuple[int, int, bool]]]:
    """Reader -> (time, film, liked) by time; 4 and 5 are likes, 1 and 2 are not, 3 is no thumb at all."""
    given: defaultdict[str, list[tuple[int, int, bool]]] = defaultdict(list)
    for row in csv_rows(folder / "movielens-100k" / "ratings.csv.gz"):
        rating = float(row["rating"])
        if rating != 3:
            film = places[row["item_id"]]
            given[f"film-{row['user_id']}"].append((int(row["timestamp"]), film, rating > 3))
    return {reader: sorted(rows) for reader, rows in sorted(given.items())}


def _case(
    reader: str, before: Sequence[tuple[int, int, bool]], after: Sequence[tuple[int, int, bool]]
) -> Case:
    thumbs = tuple((film, liked) for _, film, liked in before)
    return Case(reader, thumbs, tuple(film for _, film, _ in after), tuple(liked for *_, liked in after))


def _movielens(folder: Path) -> Data:
    """Return each reader's later 30 %, known: the first 70 % of everybody's."""
    places, items, topics, years = _films(folder)
    given = _ratings(folder, places)
    cut = {reader: int(len(rows) * TRAINED) for reader, rows in given.items()}
    cases = [_case(reader, rows[: cut[reader]], rows[cut[reader] :]) for reader, rows in given.items()]
    return Data(MOVIELENS, items, topics, years, {c.reader: c.thumbs for c in cases}, cases)


def _movielens_cut(folder: Path) -> Data:
    """Cut all histories at one moment. Thumbs before it are known, and most readers come after it."""
    places, items, topics, years = _films(folder)
    given = _ratings(folder, places)
    times = sorted(time for rows in given.values() for time, *_ in rows)
    moment = times[int(len(times) * TRAINED)]
    cases = [
        _case(reader, [r for r in rows if r[0] < moment], [r for r in rows if r[0] >= moment])
        for reader, rows in given.items()
    ]
    return Data(MOVIELENS_CUT, items, topics, years, {c.reader: c.thumbs for c in cases}, cases)


def _aged(moments: Sequence[float]) -> list[datetime]:
    """Moments spread over the week of a digest in their order: a data set spans years, a digest days."""
    order = np.argsort(np.argsort(np.array(moments), kind="stable"), kind="stable")
    hours = WINDOW_HOURS * (1 - (order + 0.5) / max(1, len(moments)))
    return [NOW - timedelta(hours=float(hour)) for hour in hours]


def _nemig(folder: Path, name: str) -> Data:
    """Load articles chosen from short lists. The reader's earlier clicks and the first three lists are
    known."""
    rows = list(csv_rows(folder / name / "articles.csv.gz"))
    days = [datetime.fromisoformat(row["published"] or "2021-01-01").timestamp() for row in rows]
    items = [
        Candidate(
            n,
            row["publisher"].strip() or "unknown",
            row["title"],
            row["abstract"],
            at,
            categories=tuple(filter(None, row["keywords"].split("; "))),
        )
        for n, (row, at) in enumerate(zip(rows, _aged(days), strict=True))
    ]
    places = {row["news_id"]: n for n, row in enumerate(rows)}
    lists: defaultdict[str, list[list[tuple[int, bool]]]] = defaultdict(list)
    clicked: dict[str, list[int]] = {}
    for row in csv_rows(folder / name / "behaviors.csv.gz"):
        lists[row["user_id"]].append(list(_shown(row["impressions"], places)))
        clicked[row["user_id"]] = [places[n] for n in row["history_clicked"].split() if n in places]
    cases = []
    for reader, shown in sorted(lists.items()):
        known = dict([(item, True) for item in clicked[reader]] + [x for one in shown[:3] for x in one])
        later = {item: liked for one in shown[3:] for item, liked in one if item not in known}
        pages = tuple(map(tuple, shown[:3]))
        cases.append(Case(reader, tuple(known.items()), tuple(later), tuple(later.values()), pages=pages))
    said = {c.reader: c.thumbs for c in cases}
    return Data(name, items, [() for _ in items], np.array(days), said, cases)


def _shown(listed: str, places: dict[str, int]) -> Iterator[tuple[int, bool]]:
    for one in listed.split():
        news, _, chosen = one.rpartition("-")
        if news in places:
            yield places[news], chosen == "1"


def _mind(folder: Path) -> Data:
    """Load one list per reader, by time. The first 60 % of the lists are the crowd; the others are measured.

    An item is as old as its first showing, and most have no words. A click is a like among the offered items
    and, for the crowd, a thumb; a skipped item is no thumb. The pages of clicks in a history were not
    recorded, so each click gets a page of nine other items above it, drawn from the crowd's.
    """
    news = {row["news_id"]: row for row in csv_rows(folder / "mind-small-sample" / "news.csv.gz")}
    lists = []
    for row in csv_rows(folder / "mind-small-sample" / "behaviors.csv.gz"):
        at = datetime.strptime(row["time"], "%m/%d/%Y %I:%M:%S %p").replace(tzinfo=UTC)
        lists.append((at, row))
    lists.sort(key=lambda pair: pair[0])
    first: dict[str, datetime] = {}
    for at, row in lists:
        for one in (*row["history"].split(), *(x.rpartition("-")[0] for x in row["impressions"].split())):
            first.setdefault(one, at)
    places = {one: n for n, one in enumerate(first)}
    items = [_news(n, news.get(one, {}), at) for n, (one, at) in enumerate(first.items())]
    cut, said, cases, often = int(len(lists) * 0.6), {}, [], Counter[str]()
    crowd = (one for _, row in lists[:cut] for one, _ in _shown(row["impressions"], places))
    beside, rng = [place for place in crowd if items[place].title], np.random.default_rng(0)
    for number, (at, row) in enumerate(lists):
        often[row["user_id"]] += 1
        reader = f"{row['user_id']}-{often[row['user_id']]}"
        shown = tuple(_shown(row["impressions"], places))
        if number < cut:
            said[reader] = tuple((place, True) for place, clicked in shown if clicked)
            continue
        thumbs = tuple((places[one], True) for one in row["history"].split() if one in news)
        drawn = rng.choice(beside, (len(thumbs), BESIDE)).tolist()
        pages = tuple(
            (*((other, False) for other in others if other != place), (place, True))
            for (place, _), others in zip(thumbs, drawn, strict=True)
        )
        cases.append(Case(reader, thumbs, tuple(i for i, _ in shown), tuple(y for _, y in shown), at, pages))
    fresh = np.array([at.timestamp() for at in first.values()])
    return Data(MIND, items, [() for _ in items], fresh, said, cases)


def _news(place: int, row: dict[str, str], at: datetime) -> Candidate:
    categories = (row["subcategory"],) if row else ()
    return Candidate(
        place,
        row.get("category", "unknown"),
        row.get("title", ""),
        row.get("abstract", ""),
        at,
        categories=categories,
    )
