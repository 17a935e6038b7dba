"""Read a reader's taste for its page: rows of bars, and the changes of the last month."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

from digest.daily.tastes import signals_without_items
from digest.days import day_of
from digest.feedback.portrait import TasteRow, leans_all, shown_counts, spark_bars, taste_rows
from digest.feedback.selectors import feedback_weeks
from digest.feedback.trends import WEEKS, weeks_until
from digest.items.selectors import reader_source_titles
from digest.models import Exposure
from ranking.common.charts import Bar
from ranking.config_words import cause_words, change_words, learned_words, sources_named
from ranking.other_names import topic_names
from ranking.selectors import config_effective, config_versions, weight_snapshots
from ranking.taste.entities import SOURCE, TasteLevel

SHOWN_DAYS = 30
MOVES_MAX = 20


@dataclass(frozen=True, slots=True)
class Move:
    """A change of the last month in words, and why it happened. `version` is 0 if it was learned."""

    on: date
    words: str
    why: str
    version: int = 0


@dataclass(frozen=True, slots=True)
class Portrait:
    """A reader's taste: rows by kind, and the latest changes.

    `counts` says whether their thumbs order the page (the setting *taste*).
    """

    rows: Mapping[str, Sequence[TasteRow]]
    moves: Sequence[Move]
    counts: bool


def taste_portrait(*, reader_id: UUID, now: datetime) -> Portrait:
    """Return the reader's taste by source, topic, category and author; 21 queries at most."""
    effective = config_effective(reader_id=reader_id)
    signal = signals_without_items(reader_ids=[reader_id], now=now)[reader_id]
    leans = leans_all(signal, topic_names(effective.config))
    versions = [row for row in config_versions(reader_id=reader_id) if row.created_at >= now - _month()]
    steps = [row for row in weight_snapshots(reader_id=reader_id) if row.cycle >= (now - _month()).date()]
    keys = {one.target.key for one in leans if one.target.kind == SOURCE}
    keys |= sources_named([change for row in versions for change in row.changes])
    keys |= {row.source for row in steps}
    titles = reader_source_titles(reader_id=reader_id, keys=keys)
    rows = taste_rows(
        leans,
        effective=effective,
        titles=titles,
        shown=shown_counts(_shown(reader_id, now), effective.config.topics),
        sparks=source_sparks(reader_id=reader_id, now=now),
    )
    moves = [
        Move(row.created_at.date(), change_words(change, titles), why, row.version)
        for row in versions
        for why in [cause_words(row.cause, row.cause_ref)]
        for change in row.changes
    ]
    moves += [
        Move(
            row.cycle,
            f"{titles.get(row.source, row.source)}: {learned_words(row.before, row.after, row.reason)}",
            "",
        )
        for row in steps
        if row.before != row.after
    ]
    moves.sort(key=lambda move: move.on, reverse=True)
    return Portrait(rows, moves[:MOVES_MAX], effective.config.taste is not TasteLevel.OFF)


def source_sparks(*, reader_id: UUID, now: datetime) -> dict[str, tuple[Bar, ...]]:
    """Return the sparkline of each source that the reader rated in the last twelve weeks. One query."""
    weeks: defaultdict[str, list[tuple[int, int]]] = defaultdict(lambda: [(0, 0)] * WEEKS)
    for tally in feedback_weeks(reader_id=reader_id, starts=weeks_until(day_of(now, UTC))):
        weeks[tally.source][tally.week] = (tally.likes, tally.n)
    return {source: spark_bars(some) for source, some in weeks.items()}


def _month() -> timedelta:
    return timedelta(days=SHOWN_DAYS)


def _shown(reader_id: UUID, now: datetime) -> list[tuple[str, str, Sequence[str], str]]:
    """Return source, title, categories and author of each item that the reader saw in the last month."""
    since = datetime.combine((now - _month()).date(), time.min, UTC)
    seen = Exposure.objects.filter(reader_id=reader_id, shown_at__gte=since)
    columns = ("item__source_id", "item__title", "item__categories", "item__author")
    return [row[1:] for row in seen.values_list("item_id", *columns).distinct()]
