"""Whether guidance does its work: checks of seven days that are fine, to be looked at, or broken."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import IntEnum
from typing import NamedTuple

from django.conf import settings

from advisor.guidance.conditions import predicate_check
from advisor.guidance.entities import Level, Tunables
from advisor.guidance.figures import EXPORT_FAILED, Observed, guidance_observed
from advisor.guidance.notes import DASHBOARD, INDEX, PACKETS, export_folder, exported_states
from advisor.guidance.packets import PACKETS_MAX
from advisor.guidance.tunables import tunables
from advisor.models import GuidanceEvent, GuidancePacket, Memory

WINDOW_DAYS, EXPIRED_DAYS, NAMED_MAX = 7, 2, 10
# With fewer, a share shows nothing: one failure in ten calls is one failure.
CALLS_MIN, EMISSIONS_MIN, FAILURES_MAX = 100, 200, 0.01
# How far the share of control calls may be off, in standard errors; the part of the budget p95 may take.
Z, SLOW_SHARE = 4.0, 0.25
# A packet that was made or changed while its note was being written is not out of step yet.
GRACE = timedelta(minutes=5)


class State(IntEnum):
    """How a check came out, also the command's exit code: the worst of all checks."""

    FINE = 0
    LOOK = 1
    BROKEN = 2


class Check(NamedTuple):
    """One check: a stable code, how it came out, and in words what was found and what to do."""

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
    packets = "{ready} packets are ready, {stale} stale, {invalid} invalid.".format(**seen.packets)
    found = [*_calls(seen, wanted), Check("packets", State.FINE, packets), *_memories(now)]
    return [
        *found,
        *(_export(now) if wanted.export else [Check("export", State.FINE, "It is switched off.")]),
    ]


def worst(checks: Sequence[Check]) -> State:
    """Return the worst state of all checks."""
    return max((check.state for check in checks), default=State.FINE)


def _check(code: str, bad: object, found: str, todo: str, state: State = State.LOOK) -> Check:
    return Check(code, state if bad else State.FINE, found, todo if bad else "")


def _calls(seen: Observed, wanted: Tunables) -> list[Check]:
    """Return what the events of seven days show: the engine, failures, time and the control calls."""
    if settings.ADVISOR_GUIDANCE:
        stopped = not seen.calls and GuidanceEvent.objects.filter(n__gt=0).exists()
        words = f"It is on; {seen.calls} calls were looked at in seven days."
        engine = _check("engine", stopped, words, "Fine if no run was due; else see whether runs are made.")
    else:
        engine = Check(
            "engine", State.LOOK, "Guidance is off.", "Set ADVISOR_GUIDANCE=true unless that is meant."
        )
    enough, share = seen.calls >= CALLS_MIN, seen.failed / max(1, seen.calls)
    words = f"{seen.failed} of {seen.calls} calls failed inside guidance ({share:.1%}); 1 % is the most."
    todo = "Look at the errors by code on the page of figures; the runs themselves went on without guidance."
    state = State.BROKEN if enough else State.LOOK
    failures = _check("failures", share > FAILURES_MAX, words, todo, state)
    p95 = seen.p95_ms or 0.0
    words = f"The 95th percentile is {p95:.0f} ms, of {wanted.budget_ms:.0f} ms a call may take."
    state = State.BROKEN if p95 > wanted.budget_ms else State.LOOK
    slow = p95 > SLOW_SHARE * wanted.budget_ms
    timing = _check("time", slow, words, "See which stage is slow on the page of figures.", state)
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


def _export(now: datetime) -> list[Check]:
    folder, todo = export_folder(), "Run manage.py export_guidance."
    try:
        noted = exported_states(folder)
        missing = [path.name for path in (folder / DASHBOARD, folder / PACKETS / INDEX) if not path.exists()]
    except OSError as error:
        found = f"The folder of notes cannot be read: {error.strerror or error}."
        return [Check("export_folder", State.BROKEN, found, "See whether it exists and may be read.")]
    newest = GuidancePacket.objects.order_by("-made_at", "-id")[:PACKETS_MAX]
    rows = [row for row in newest if max(row.made_at, row.invalid_at or row.made_at) <= now - GRACE]
    absent = sum(row.key not in noted for row in rows)
    unmarked = sum(noted.get(row.key, "invalid") != "invalid" for row in rows if row.invalid_at)
    failed = GuidanceEvent.objects.filter(error_code__startswith=EXPORT_FAILED)
    failures = failed.filter(at__gt=now - timedelta(days=WINDOW_DAYS)).count()
    room = "See whether the folder exists, may be written and has room; then run export_guidance."
    step = f"{absent} packets have no note, {unmarked} notes call an invalid packet ready."
    checks = [
        _check("export_missing", missing, f"There is no {' and no '.join(missing)}.", todo, State.BROKEN),
        _check("export_sync", absent or unmarked, step, todo, State.BROKEN),
        _check("export_failures", failures, f"{failures} notes could not be written in seven days.", room),
    ]
    bad = [check for check in checks if check.state is not State.FINE]
    return bad or [Check("export", State.FINE, "The folder, its notes and the dashboard are in step.")]
