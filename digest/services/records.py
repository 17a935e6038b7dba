"""Readers' histories as preference records: written one question at a time, read back as thumbs."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from digest.history import BadLine
from digest.records import Record, Said, record_parse, record_render, record_times, said_at
from digest.selectors import feedback_recent
from digest.services.importing import REJECTS_LISTED_MAX, ImportReport, Rejects, feedback_import

HISTORY_ROWS = 10
QUESTIONS_MAX = 5
# The candidate of a record counts as what came next.
NEXT = timedelta(hours=1)


@dataclass(slots=True)
class RecordsReport:
    """What an import of records did. Of `rejects`, the first 20 are listed as (line number, code, reason)."""

    lines: int = 0
    records: int = 0
    rejected: int = 0
    rejects: list[tuple[int, str, str]] = field(default_factory=list)
    thumbs: ImportReport = field(default_factory=ImportReport)


def records_export(
    *, reader_id: UUID, history: int = HISTORY_ROWS, questions: int = QUESTIONS_MAX
) -> Iterator[str]:
    """The reader's newest `questions` thumbs as records, oldest first: each asks about one thumb by the
    `history` thumbs before it. Nothing for a reader with too few. Two queries.
    """
    rated = feedback_recent(reader_id=reader_id, limit=history + questions)[::-1]
    rows = [said_at(item.at, item.source, item.title, liked=item.useful) for item in rated]
    for n in range(history, len(rated)):
        asked = rated[n]
        yield record_render(
            Record(tuple(rows[n - history : n]), asked.title, asked.source, liked=asked.useful)
        )


def records_import(*, lines: Iterable[str], now: datetime, rejects: Rejects | None = None) -> RecordsReport:
    """Import the histories of records, and their candidates where the answer is known.

    A reader is named after the hash of the history. Rows without a date get the latest times before `now`
    that fit; a bad line is counted and written to `rejects` with its reason, the rest goes in.
    """
    report = RecordsReport()
    thumbs = feedback_import(lines=_thumbs(lines, now, report, rejects), now=now, rejects=rejects)
    report.thumbs = thumbs
    return report


def _thumbs(
    lines: Iterable[str], now: datetime, report: RecordsReport, rejects: Rejects | None
) -> Iterator[str]:
    """Each record as the lines of a history file."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        report.lines += 1
        try:
            record = record_parse(line)
        except BadLine as bad:
            report.rejected += 1
            if len(report.rejects) < REJECTS_LISTED_MAX:
                report.rejects.append((number, bad.code, bad.reason))
            if rejects is not None:
                rejects.write(f"{number}\t{bad.code}\t{bad.reason}\t{line.rstrip()[:2000]}\n")
            continue
        report.records += 1
        times = record_times(record.rows, now - NEXT)
        for n, (row, at) in enumerate(zip(record.rows, times, strict=True), start=1):
            yield _thumb(record.reader, row, at, row.title or f"{row.source}, {n}")
        if record.liked is not None:
            asked = Said("", 0, record.source, liked=record.liked)
            yield _thumb(record.reader, asked, (times[-1] + NEXT) if times else now - NEXT, record.title)


def _thumb(reader: str, row: Said, at: datetime, title: str) -> str:
    """One line of a history. Records know no addresses, so an item is told from others by its title."""
    thumb = {"reader": reader, "title": title, "source": row.source, "at": at.isoformat()}
    return json.dumps(thumb | {"useful": int(row.liked)})
