"""What guidance's figures say of its health: checks that are fine, to be looked at, or broken. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum


class State(IntEnum):
    """How a check came out, also the command's exit code: the worst of all checks."""

    FINE = 0
    LOOK = 1
    BROKEN = 2


@dataclass(frozen=True, slots=True)
class Check:
    """One check: a stable code, how it came out, and in words what was found and what to do."""

    code: str
    state: State
    found: str
    todo: str = ""


@dataclass(frozen=True, slots=True)
class Vitals:
    """The figures of the last seven days that checks go by; shares are 0 to 1, `_ms` milliseconds.

    `calls` counts calls that were looked at, `tries` those that something could have been told in, held out
    or not; `ever` says whether any call is on record.
    `export` is `None` where nothing is exported, else what is wrong with it by code, each with words.
    """

    enabled: bool
    tunables_problem: str
    calls: int
    failed: int
    failures_max: float
    p95_ms: float | None
    budget_ms: float
    missing: Sequence[str]
    tries: int
    held_out: int
    holdout: float
    ready: int
    stale: int
    invalid: int
    unsigned: int
    expired: int
    bad_rules: Sequence[str]
    ever: bool
    export_failures: int
    export: Mapping[str, str] | None


# Every call that is looked at goes through it.
FIRST_STAGE = "facts"
# With fewer, a share says nothing: one failure in ten calls is one failure.
CALLS_MIN, TRIES_MIN = 100, 200
# How far the share held out may be from what is wanted, in standard errors.
Z = 4.0
# How long a memory may be expired before its source retires it.
EXPIRED_DAYS = 2
# The share of the budget that the 95th percentile may take.
SLOW_SHARE = 0.25


def checks_of(vitals: Vitals) -> list[Check]:
    """Every check, in a fixed order."""
    if vitals.tunables_problem:
        return [
            Check("tunables", State.BROKEN, vitals.tunables_problem, "Correct GUIDANCE in the environment.")
        ]
    return [
        _engine(vitals),
        _failures(vitals),
        _time(vitals),
        _stages(vitals),
        _holdout(vitals),
        _packets(vitals),
        _memories(vitals),
        _expired(vitals),
        _rules(vitals),
        *_export(vitals),
    ]


def worst(checks: Sequence[Check]) -> State:
    """The worst state of all checks."""
    return max((check.state for check in checks), default=State.FINE)


def _engine(vitals: Vitals) -> Check:
    if not vitals.enabled:
        todo = "Set ADVISOR_GUIDANCE=true unless that is meant."
        return Check("engine", State.LOOK, "Guidance is switched off.", todo)
    if not vitals.calls:
        if not vitals.ever:
            return Check("engine", State.FINE, "It is on; no call is on record, as when new.")
        todo = "Nothing is wrong if no run was due; else see whether runs are made at all."
        return Check("engine", State.LOOK, "It is on; no call was looked at in seven days.", todo)
    return Check("engine", State.FINE, f"It is on; {vitals.calls} calls were looked at in seven days.")


def _failures(vitals: Vitals) -> Check:
    share = vitals.failed / vitals.calls if vitals.calls else 0.0
    found = f"{vitals.failed} of {vitals.calls} calls failed inside guidance ({share:.1%})."
    if share <= vitals.failures_max:
        return Check("failures", State.FINE, found)
    # One failure in a quiet week is worth a look, no more.
    state = State.BROKEN if vitals.calls >= CALLS_MIN else State.LOOK
    todo = "Look at the errors by code on the page of figures; the runs themselves went on without guidance."
    return Check("failures", state, f"{found} At most {vitals.failures_max:.0%} are borne.", todo)


def _time(vitals: Vitals) -> Check:
    if vitals.p95_ms is None:
        return Check("time", State.FINE, "No call to time yet.")
    found = f"The 95th percentile is {vitals.p95_ms:.0f} ms, of {vitals.budget_ms:.0f} ms a call may take."
    if vitals.p95_ms > vitals.budget_ms:
        return Check("time", State.BROKEN, found, "See which stage is slow on the page of figures.")
    if vitals.p95_ms > SLOW_SHARE * vitals.budget_ms:
        return Check("time", State.LOOK, found, "See which stage is slow on the page of figures.")
    return Check("time", State.FINE, found)


def _stages(vitals: Vitals) -> Check:
    if not vitals.missing:
        return Check("stages", State.FINE, "Nothing is missing." if vitals.calls else "No call yet.")
    found = f"Missing, in at least half of the calls they are for: {', '.join(vitals.missing)}."
    if vitals.calls < CALLS_MIN and FIRST_STAGE not in vitals.missing:
        return Check("stages", State.FINE, f"{found} {vitals.calls} calls are too few to judge by.")
    if FIRST_STAGE in vitals.missing:
        return Check("stages", State.BROKEN, found, "Look at the errors by code; an error ends a call early.")
    return Check("stages", State.LOOK, found, "See the events of such calls and the errors by code.")


def _holdout(vitals: Vitals) -> Check:
    if vitals.tries < TRIES_MIN:
        found = f"{vitals.held_out} of {vitals.tries} were held out: too few to judge the share by."
        return Check("holdout", State.FINE, found)
    share, wanted = vitals.held_out / vitals.tries, vitals.holdout
    error = (wanted * (1 - wanted) / vitals.tries) ** 0.5
    found = f"{share:.1%} of {vitals.tries} were held out, {wanted:.0%} are wanted."
    if abs(share - wanted) <= Z * error:
        return Check("holdout", State.FINE, found)
    todo = "The share by which guidance is measured is off; if `holdout` was changed lately, wait a week."
    return Check("holdout", State.LOOK, found, todo)


def _packets(vitals: Vitals) -> Check:
    found = f"{vitals.ready} packets are ready, {vitals.stale} stale, {vitals.invalid} invalid."
    return Check("packets", State.FINE, found)


def _memories(vitals: Vitals) -> Check:
    if not vitals.unsigned:
        return Check("memories", State.FINE, "Every memory in force has its words and its signature.")
    found = f"{vitals.unsigned} memories in force have no words or no signature: they are hardly found."
    return Check("memories", State.LOOK, found, "Run manage.py sync_memories; save rules made by hand anew.")


def _expired(vitals: Vitals) -> Check:
    if not vitals.expired:
        return Check("expired", State.FINE, "What expired is retired.")
    found = f"{vitals.expired} memories expired more than {EXPIRED_DAYS} days ago and are not retired."
    todo = "None of them is told, but nothing tidies up: see whether the nightly jobs run."
    return Check("expired", State.LOOK, found, todo)


def _rules(vitals: Vitals) -> Check:
    if not vitals.bad_rules:
        return Check("rules", State.FINE, "Every rule's condition can be read.")
    names = ", ".join(f"“{name}”" for name in vitals.bad_rules)
    found = f"{len(vitals.bad_rules)} rules have a condition that cannot be read and so never hold: {names}."
    return Check("rules", State.BROKEN, found, "Open them in the admin, mend the condition and save.")


def _export(vitals: Vitals) -> list[Check]:
    if vitals.export is None:
        return [Check("export", State.FINE, "Export is switched off.")]
    found = [Check(f"export_{code}", State.BROKEN, words) for code, words in vitals.export.items()]
    if vitals.export_failures:
        words = f"{vitals.export_failures} notes could not be written in seven days."
        todo = "See whether the folder exists, may be written and has room; then run export_guidance."
        found.append(Check("export_failures", State.LOOK, words, todo))
    return found or [Check("export", State.FINE, "The folder, its notes and the dashboard are in step.")]
