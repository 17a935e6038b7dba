"""A pytest plugin that runs the collected tests against each mutant of `mutants.json`, and writes the results
there.

The first test runs in this process, which makes the database. The rest runs in forks: each test once on the
original code, to see which functions it calls and how long it takes; then, for each mutant, the tests that
call its function, until one fails. A fork has a copy of the process and of its SQLite in memory, so no effect
of a mutant reaches the next.
"""

import json
import math
import os
import random
import resource
import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

Mutant = dict[str, Any]
MutantDict = dict[str, Callable[..., Any]]
PLAN = Path("mutants.json").resolve()
# A mutant hangs after this multiple of its tests' processor time plus some seconds, or after the last limit
# by the clock, because other work slows tests down.
PATIENCE, PATIENCE_S, LONGEST_S = 10, 10.0, 900.0
HANGS = (signal.SIGPROF, signal.SIGALRM)
MEMORY_BYTES = 4 << 30
# The mutant in force, if any, and the functions called so far.
active = ""
called: set[str] = set()


def switched(mutants: MutantDict, is_classmethod: bool = False) -> Callable[..., Callable[..., Any]]:
    """Decorate a function so that it runs as the mutant in force says; `mutants` is filled later."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        module = function.__module__

        def run(*args: Any, **kwargs: Any) -> Any:
            original = mutants["_mutmut_orig"]
            called.add(f"{module}.{original.__name__.partition('__mutmut_')[0]}")
            where, _, name = active.rpartition(".")
            chosen = mutants.get(name, original) if where == module else original
            if is_classmethod:
                return getattr(args[0], chosen.__name__)(*args[1:], **kwargs)
            return chosen(*args, **kwargs)

        return wraps(function)(run)

    return decorate


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Try every mutant, instead of running the tests once."""
    plan = json.loads(PLAN.read_text(encoding="utf-8"))
    mutants = random.Random(plan["seed"]).sample(plan["mutants"], len(plan["mutants"]))
    assert not session.testsfailed and fails(session, session.items[0]) is False, "the tests fail as it is"
    callers, took = baseline(session, plan["jobs"])
    ends, survivors = Counter[str](), list[dict[str, Any]]()
    for mutant, end, tests in tried(session, mutants[: plan["sample"] or None], plan, callers, took):
        ends[end] += 1
        if end == "survived":
            told = {key: mutant[key] for key in ("module", "function", "before", "after")}
            survivors.append({**told, "tests": tests})
    found: dict[str, Any] = {"mutants": ends.total()}
    found |= {end: ends[end] for end in ("killed", "timeouts", "survived")}
    survivors.sort(key=lambda one: (one["module"], one["function"], one["before"], one["after"]))
    found |= {"score": round(1 - ends["survived"] / max(1, ends.total()), 4), "survivors": survivors}
    PLAN.write_text(json.dumps(found), encoding="utf-8")
    return True


def fails(session: pytest.Session, item: pytest.Item) -> bool:
    """Run one test. Tear down all its fixtures except session-wide ones, such as the database."""
    before = session.testsfailed
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=session)
    return session.testsfailed > before


def baseline(session: pytest.Session, jobs: int) -> tuple[dict[str, list[int]], list[float]]:
    """Return the tests by the functions that they call, and the seconds of processor each takes. All must
    pass."""
    callers: dict[str, list[int]] = {}
    took = [0.0] * len(session.items)
    waiting, running = deque(range(len(session.items))), dict[int, tuple[int, int]]()
    while waiting or running:
        if waiting and len(running) < jobs:
            number = waiting.popleft()
            read, write = os.pipe()
            if not (child := os.fork()):
                called.clear()
                code = int(fails(session, session.items[number]))
                with os.fdopen(write, "w") as pipe:
                    pipe.write("\n".join(called))
                os._exit(code)
            os.close(write)
            running[child] = number, read
            continue
        child, status, used = os.wait3(0)
        number, read = running.pop(child)
        assert status == 0, f"{session.items[number].nodeid} fails as it is"
        took[number] = used.ru_utime + used.ru_stime
        with os.fdopen(read) as pipe:
            for function in pipe.read().split():
                callers.setdefault(function, []).append(number)
    return callers, took


def tried(
    session: pytest.Session,
    mutants: list[Mutant],
    plan: dict[str, Any],
    callers: dict[str, list[int]],
    took: list[float],
) -> Iterator[tuple[Mutant, str, int]]:
    """Yield the result of each mutant (`killed`, `timeouts` or `survived`) and the number of tests that call
    it.

    The plan's `jobs` mutants run at a time. Quick tests that have killed before go first.
    """
    running: dict[int, tuple[Mutant, int, int]] = {}
    kills, waiting = Counter[int](), deque(mutants)
    ends_at = time.monotonic() + 60 * (plan["minutes"] or math.inf)
    while waiting or running:
        if waiting and time.monotonic() > ends_at:
            waiting.clear()
        elif waiting and len(running) < plan["jobs"]:
            mutant = waiting.popleft()
            function = mutant["name"].partition("__mutmut_")[0]
            order = sorted(callers.get(function, ()), key=lambda n: took[n] / (1 + kills[n]))
            child, read = begun(session, mutant["name"], order, sum(took[n] for n in order))
            running[child] = (mutant, read, len(order))
        else:
            child, status = os.wait()
            mutant, read, tests = running.pop(child)
            with os.fdopen(read) as pipe:
                kills.update(map(int, pipe.read().split()))
            code = os.waitstatus_to_exitcode(status)
            yield mutant, "timeouts" if -code in HANGS else "killed" if code else "survived", tests


def begun(session: pytest.Session, name: str, order: list[int], took: float) -> tuple[int, int]:
    """Start the tests of a mutant: the fork's id, and a pipe that will name the test that failed."""
    read, write = os.pipe()
    if not (child := os.fork()):
        globals()["active"] = name
        for ends in HANGS:
            signal.signal(ends, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, PATIENCE * took + PATIENCE_S)
        signal.setitimer(signal.ITIMER_REAL, LONGEST_S)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        for number in order:
            if fails(session, session.items[number]):
                os.write(write, str(number).encode())
                os._exit(1)
        os._exit(0)
    os.close(write)
    return child, read
