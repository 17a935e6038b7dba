"""Helpers for the evaluation's tests: its items as the product sees them, its results made by hand."""

from datetime import UTC, datetime, timedelta

from ranking.entities import Candidate
from tests.lab.world.entities import Asked, Course
from tests.lab.world.words import SOURCES
from tests.lab.world.world import Batch

READ_AT = datetime(2026, 3, 18, 18, 0, tzinfo=UTC)


def candidates_of(batch: Batch) -> tuple[list[Candidate], datetime]:
    """Return a batch's items as candidates at the moment they are read."""
    rows = zip(batch.source, batch.titles, batch.age_s, strict=True)
    return [
        Candidate(n, SOURCES[source], title, "", READ_AT - timedelta(seconds=int(age)))
        for n, (source, title, age) in enumerate(rows)
    ], READ_AT


def asked(gain: float, *, accepted: bool = True, p: float | None = None, week: int = 1, **more) -> Asked:
    """Return one suggestion, made by hand."""
    return Asked(week, "boost_source", "harbour.example", gain, accepted, p, **more)


def course(number: int, uplift: float, *given: Asked, null: bool = False, thumbs: int = 10, **more) -> Course:
    """Twelve weeks of one reader, made by hand."""
    curve = (*[0.0] * 12, uplift)
    return Course(number, null, 0.4, curve, (thumbs,) * 12, given, **more)
