"""Read what changed the order of a reader's page: answers, settings, learning steps and interviews.

Each change stands once. What a yes to a suggestion wrote is told with the suggestion, and so is its undo.
Pins and an operator's renaming of a source change no order.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import NamedTuple
from uuid import UUID

from digest.days import day_of
from digest.feedback.selectors import interview_answers
from digest.models import Reader
from ranking.config_body import body_of, changes_in_force
from ranking.config_words import steps_in_force
from ranking.entities import EffectiveConfig
from ranking.selectors import (
    SnapshotRow,
    VersionRow,
    config_bodies_before,
    config_versions_by_number,
    config_versions_of_order,
    weight_snapshots,
)
from suggestions.models import Suggestion
from suggestions.selectors import suggestions_settled

SUGGESTION, VERSION, LEARNED, ANSWERS = "suggestion", "version", "learned", "answers"
# Learning steps that a history goes back to: years of them for most readers.
STEPS_MAX = 1_000
# A snoozed suggestion has no moment of its answer and stands first.
LAST = datetime.max.replace(tzinfo=UTC)


class Past(NamedTuple):
    """One change: when, what made it, and its number or day. `answers` counts those of an interview."""

    at: datetime
    what: str
    ref: str
    answers: int = 0


class PastPage(NamedTuple):
    """The rows behind some changes, by number or day.

    `in_force` are the versions of which something is in force, `learned` the days of learning steps of which
    something is.
    """

    suggestions: Mapping[int, Suggestion]
    versions: Mapping[int, VersionRow]
    steps: Mapping[str, Sequence[SnapshotRow]]
    in_force: frozenset[int]
    learned: frozenset[str]


def past_changes(*, reader: Reader) -> list[Past]:
    """Return every change of the reader's order, newest first; four queries."""
    settled = suggestions_settled(reader_id=reader.pk).values_list("pk", "resolved_at")
    found = [Past(at or LAST, SUGGESTION, f"{pk:012}") for pk, at in settled]
    found += [
        Past(at, VERSION, f"{version:012}") for version, at in config_versions_of_order(reader_id=reader.pk)
    ]
    found += [Past(_morning(day), LEARNED, f"{day:%F}") for day in _steps(reader.pk)]
    answers: defaultdict[date, list[datetime]] = defaultdict(list)
    for _item_id, at in interview_answers(reader_id=reader.pk):
        answers[day_of(at, reader.zone)].append(at)
    found += [Past(max(some), ANSWERS, f"{day:%F}", len(some)) for day, some in answers.items()]
    return sorted(found, reverse=True)


def past_page(*, reader_id: UUID, keys: Iterable[Past], effective: EffectiveConfig) -> PastPage:
    """Return the rows behind `keys`. A constant number of queries."""
    refs: defaultdict[str, list[str]] = defaultdict(list)
    for key in keys:
        refs[key.what].append(key.ref)
    settled = suggestions_settled(reader_id=reader_id).filter(pk__in=map(int, refs[SUGGESTION]))
    numbers = [int(ref) for ref in refs[VERSION]]
    versions = config_versions_by_number(reader_id=reader_id, versions=numbers)
    before = config_bodies_before(reader_id=reader_id, rows=versions)
    body = body_of(effective.config, effective.deltas)
    in_force = {
        number for number, row in versions.items() if changes_in_force(body, before[number], row.changes)
    }
    by_day = _steps(reader_id) if refs[LEARNED] else {}
    steps = [step for some in by_day.values() for step in some]
    moves = [(step.source, step.before, step.after) for step in steps]
    flags = steps_in_force(moves, effective.weights(), effective.deltas)
    learned = {f"{step.cycle:%F}" for step, flag in zip(steps, flags, strict=True) if flag}
    days = {f"{day:%F}": some for day, some in by_day.items()}
    return PastPage({row.pk: row for row in settled}, versions, days, frozenset(in_force), frozenset(learned))


def _steps(reader_id: UUID) -> dict[date, list[SnapshotRow]]:
    """Return the learning steps by UTC day, newest first."""
    found: defaultdict[date, list[SnapshotRow]] = defaultdict(list)
    for step in weight_snapshots(reader_id=reader_id, limit=STEPS_MAX):
        found[step.cycle].append(step)
    return found


def _morning(day: date) -> datetime:
    """Return the beginning of a UTC day: steps are learned at night, before what the reader does then."""
    return datetime.combine(day, time.min, UTC)
