"""Whether guidance does its work: checks of seven days that are fine, to be looked at, or broken; and a note.

The note has the figures of guidance in Markdown with front matter, `guidance.md`, and nothing that a reader
wrote. It is off unless the tunable `export` is set, written whole or not at all, and replaces only a file of
ours.
"""

import os
import tempfile
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from advisor.guidance.admission import predicate_check
from advisor.guidance.events import Observed, guidance_observed
from advisor.guidance.situations import Level, Tunables
from advisor.guidance.tunables import tunables
from advisor.models import GuidanceEvent, Memory

WINDOW_DAYS, EXPIRED_DAYS, NAMED_MAX = 7, 2, 10
# With fewer, a share shows nothing: one failure in ten calls is one failure.
CALLS_MIN, EMISSIONS_MIN, FAILURES_MAX = 100, 200, 0.01
# How far the share of control calls may be off, in standard errors; the part of the budget p95 may take.
Z, SLOW_SHARE = 4.0, 0.25
MARK = "---\nmade_by: tidings-guidance\n"
DASHBOARD = "guidance.md"


class State(IntEnum):
    """How a check came out, also the command's exit code: the worst of all checks."""

    FINE = 0
    LOOK = 1
    BROKEN = 2


class Check(NamedTuple):
    """The result of one check: a stable code, its level, and words that say what to do."""

    code: str
    state: State
    found: str
    todo: str = ""


def guidance_checks(*, now: datetime) -> list[Check]:
    """Return every check, in a fixed order; tunables that cannot be read are the only finding then."""
    try:
        wanted = tunables()
    except ValueError as error:
        return [Check("tunables", State.BROKEN, str(error), "Correct GUIDANCE in the environment.")]
    seen = guidance_observed(now=now, days=WINDOW_DAYS)
    note = export_folder() / DASHBOARD
    missing = wanted.export and not note.exists()
    found = f"There is no {note}." if missing else "Written, or switched off."
    export = _check("export", missing, found, "Run manage.py export_guidance.", State.BROKEN)
    return [*_calls(seen, wanted), *_memories(now), export]


def worst(checks: Sequence[Check]) -> State:
    """Return the worst state of all checks."""
    return max((check.state for check in checks), default=State.FINE)


def _check(code: str, bad: object, found: str, todo: str, state: State = State.LOOK) -> Check:
    return Check(code, state if bad else State.FINE, found, todo if bad else "")


def _calls(seen: Observed, wanted: Tunables) -> list[Check]:
    """Return the checks of seven days of events: the engine, failures, time and the control calls."""
    on = settings.ADVISOR_GUIDANCE
    stopped = not on or (not seen.calls and GuidanceEvent.objects.filter(n__gt=0).exists())
    words = f"It is {'on' if on else 'off'}; {seen.calls} calls were looked at in seven days."
    todo = "Fine if no run was due; else see whether runs are made, and ADVISOR_GUIDANCE is true."
    engine = _check("engine", stopped, words, todo)
    share = seen.failed / max(1, seen.calls)
    words = f"{seen.failed} of {seen.calls} calls failed inside guidance ({share:.1%}); 1 % is the most."
    todo = "Look at the errors by code on the page of figures; the runs themselves went on without guidance."
    state = State.BROKEN if seen.calls >= CALLS_MIN else State.LOOK
    failures = _check("failures", share > FAILURES_MAX, words, todo, state)
    p95 = seen.p95_ms or 0.0
    words = f"The 95th percentile is {p95:.0f} ms, of {wanted.budget_ms:.0f} ms a call may take."
    state = State.BROKEN if p95 > wanted.budget_ms else State.LOOK
    slow = p95 > SLOW_SHARE * wanted.budget_ms
    todo = "Look at the slow calls among the events."
    timing = _check("time", slow, words, todo, state)
    tries = seen.holdout + sum(sum(seen.levels[level]) for level in (Level.WARNING, Level.NOTE))
    words = f"{seen.holdout} of {tries} were control calls; {wanted.holdout:.0%} are wanted."
    error = (wanted.holdout * (1 - wanted.holdout) / max(1, tries)) ** 0.5
    off = tries >= EMISSIONS_MIN and abs(seen.holdout / tries - wanted.holdout) > Z * error
    todo = "The share by which guidance is measured is off; if `holdout` was changed lately, wait a week."
    return [engine, failures, timing, _check("holdout", off, words, todo)]


def _memories(now: datetime) -> list[Check]:
    rows = Memory.objects.filter(retired_at=None, superseded_by=None)
    expired = rows.filter(expires_at__lte=now - timedelta(days=EXPIRED_DAYS)).count()
    rules = rows.filter(kind=Memory.Kind.RULE).only("title", "data")
    bad = [rule.title for rule in rules if predicate_check(rule.predicate, whole=True)][:NAMED_MAX]
    idle = "None of them is used, but nothing tidies up: see whether the nightly jobs run."
    unread = f"Conditions that cannot be read: {', '.join(bad) or 'none'}."
    mend = "Open them in the admin, mend the condition and save."
    return [
        _check("expired", expired, f"{expired} memories expired two days ago and are not retired.", idle),
        _check("rules", bad, unread, mend, State.BROKEN),
    ]


def export_folder() -> Path:
    """Return the folder for notes: the tunable `export_dir`, else `guidance` in the data folder."""
    named = tunables().export_dir
    return Path(named).expanduser() if named else Path(settings.VAR_DIR) / "guidance"


def guidance_export(*, now: datetime) -> Path:
    """Write the dashboard again and return its path. Raises `OSError` if it cannot or must not be written."""
    folder = export_folder()
    # A folder we make belongs to its owner only, like the note. An existing one keeps its rights.
    if not folder.exists():
        folder.mkdir(parents=True)
        folder.chmod(0o700)
    _write(folder / DASHBOARD, _dashboard(guidance_observed(now=now), now))
    return folder / DASHBOARD


def _write(path: Path, text: str) -> None:
    """Write a file of ours atomically. Raises `OSError`."""
    if path.exists() and not path.read_bytes().startswith(MARK.encode()):
        raise FileExistsError(
            f"{path.name} is not a note of ours, so it is left alone. Choose another folder."
        )
    handle, temporary = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _dashboard(seen: Observed, now: datetime) -> str:
    """Return the dashboard: summary, and silence by its reasons."""
    reasons = {why: sum(days) for why, days in seen.reasons.items()}
    front = f"{MARK}type: dashboard\nexported_at: {now:%Y-%m-%d %H:%M:%S} UTC\n---"
    lines = [front, "", "# Guidance", ""]
    lines += [f"{len(seen.days)} days to {now:%Y-%m-%d %H:%M} UTC.", ""]
    for title, head, rows in (
        ("Summary", "| Figure | Value |", seen.summary),
        ("Silence", "| Why | Calls |", reasons.items()),
    ):
        body = [f"| {name} | {value} |" for name, value in rows]
        lines += [f"## {title}", "", *([head, "| --- | --- |", *body] if body else ["None yet."]), ""]
    return "\n".join(lines)
