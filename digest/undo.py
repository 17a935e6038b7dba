"""What a reader did last and can undo until their next day, in whichever browser they are.

Kept with the reader and not in a session: who marks on the phone may undo on the desk. Each step has its
moment, `at`, and what its undo needs. Steps of earlier days go when the next one is kept.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from digest.days import day_of
from digest.models import Reader

# Many markings can be undone one after the other; of removals and moves only the last.
STEPS_MAX: Final = {"marked": 5, "removed": 1, "moved": 1}

Step = dict[str, Any]


def steps_of(reader: Reader, kind: str, now: datetime) -> list[Step]:
    """Return the reader's steps of a kind that were taken today and not undone, oldest first. No query."""
    return [step for step in reader.undo_steps.get(kind, []) if _is_today(reader, step, now)]


def step_keep(*, reader: Reader, kind: str, values: Mapping[str, Any], now: datetime) -> None:
    """Keep a step that can be undone until the reader's next day."""

    def keep(steps: list[Step]) -> list[Step]:
        return [*steps, {"at": now.isoformat(), **values}]

    _steps_change(reader, kind, keep, now)


def step_forget(*, reader: Reader, kind: str, at: datetime, now: datetime) -> None:
    """Forget the step of the moment `at`: it was undone."""

    def forget(steps: list[Step]) -> list[Step]:
        return [step for step in steps if datetime.fromisoformat(step["at"]) != at]

    _steps_change(reader, kind, forget, now)


def _steps_change(
    reader: Reader, kind: str, change: Callable[[list[Step]], list[Step]], now: datetime
) -> None:
    """Change the steps of one kind under the lock of the reader's row: another browser may add one, too."""
    with transaction.atomic():
        row = Reader.objects.select_for_update().only("undo_steps", "time_zone").get(pk=reader.pk)
        steps_by_kind = {name: steps_of(row, name, now) for name in STEPS_MAX}
        steps_by_kind[kind] = change(steps_by_kind[kind])[-STEPS_MAX[kind] :]
        reader.undo_steps = {name: steps for name, steps in steps_by_kind.items() if steps}
        Reader.objects.filter(pk=reader.pk).update(undo_steps=reader.undo_steps)


def _is_today(reader: Reader, step: Step, now: datetime) -> bool:
    return day_of(datetime.fromisoformat(step["at"]), reader.zone) == day_of(now, reader.zone)
