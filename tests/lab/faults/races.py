"""Many at the same moment: requests for suggestions, answers to one of them, runs on little money.

Each race is run as it is, then with the guard taken away that decides it: that must go wrong, or the race
would prove nothing.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from unittest import mock

from django.conf import settings
from django.db import connection, connections
from django.utils import timezone

from advisor.models import Run
from advisor.run.execute import run_execute
from advisor.run.request import run_request
from digest.llm import ledger
from digest.llm.entities import BudgetRefusal
from digest.models import Reader, Spend
from ranking.models import ConfigVersion
from suggestions.models import Evidence, Outcome, Suggestion
from suggestions.proposals import Refusal, Resolved
from suggestions.services import resolve
from tests.lab.faults.boundaries import Json
from tests.lab.faults.crash_points import booked_usd
from tests.lab.faults.crowd import nights_over, reader_new, runs_over
from tests.lab.faults.model_server import MODEL, asked, call_usd, model_server, settings_of
from tests.lab.faults.workers import until, worker, working
from tests.support.concurrency import at_once
from tests.support.factories import ReaderFactory
from tests.support.suggestion_worlds import proposed, tastes

WRITERS, CONTROLS = 64, 3
RUNS, MONEY_FOR = 32, 5
ROUNDS = {"generates": (6, 50), "accepts": (20, 100), "budget": (2, 10)}
RUN_ENDS_S = 300.0


def run(name: str, full: bool) -> Json:
    """Return the figures of one race."""
    race = {"generates": generates, "accepts": accepts, "budget": budget}[name]
    began = time.monotonic()
    with model_server() as port:
        settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = f"http://127.0.0.1:{port}/v1", "plain"
        settings.LLM_CHAIN = [MODEL]
        settings.ADVISOR_DAILY_CAP_USD = 500.0
        found = race(port, ROUNDS[name][full])
    return {**found, "rounds": ROUNDS[name][full], "seconds": round(time.monotonic() - began, 1)}


def told(write: Callable[[int], Any], writers: int = WRITERS) -> tuple[list[Any], list[str]]:
    """Run all writers. Return their results, and the errors."""

    def one(number: int) -> Any:
        try:
            return write(number)
        except Exception as error:
            return error

    answers = at_once(one, writers)
    broken = [f"{type(a).__name__}: {a}"[:200] for a in answers if isinstance(a, Exception)]
    return [a for a in answers if not isinstance(a, Exception)], broken


def generates(port: int, rounds: int) -> Json:
    """Press one reader's button 64 times at once."""
    runs_off = talks_off = 0
    errors: list[str] = []
    statuses: set[str] = set()
    nights_over()
    environment = {**settings_of(port), "ADVISOR_DAILY_CAP_USD": "500"}
    with working(*([worker(environment)] if settings.REDIS_URL else [])):
        for _ in range(rounds):
            before = asked(port)["conversations"]
            made, answers, broken = _pressed(WRITERS)
            errors += broken
            statuses |= {answer.status for answer in answers}
            runs_off += made != 1
            talks_off += asked(port)["conversations"] - before != 1
        with unguarded_day():
            found = sum(_pressed(WRITERS // 2)[0] > 1 for _ in range(CONTROLS))
    return {
        "writers": WRITERS,
        "rounds_off": runs_off,
        "conversations_off": talks_off,
        "errors": len(errors),
        "said": errors[:3],
        "statuses": sorted(statuses),
        "control_found": found,
    }


def _pressed(writers: int) -> tuple[int, list[Any], list[str]]:
    """Return the number of runs after that many requests at once, with the answers and the errors."""
    reader, now = reader_new(), timezone.now()
    answers, broken = told(lambda _: run_request(reader=reader, trigger=Run.Trigger.UI, now=now), writers)
    until(runs_over, RUN_ENDS_S)
    return Run.objects.filter(reader=reader).count(), answers, broken


@contextmanager
def unguarded_day() -> Iterator[None]:
    """Without the constraint that lets one run a day through."""
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX one_run_per_day")
    yield


def accepts(port: int, rounds: int) -> Json:
    """Accept one suggestion 64 times at once, then accept and reject one, 32 times each."""
    model = _suggestion_made()
    off = strange = mixed_off = 0
    errors: list[str] = []
    for n in range(rounds):
        verbs = [resolve.suggestion_accept, resolve.suggestion_reject]
        fine, codes, broken = _answered(model, verbs if n % 5 == 4 else verbs[:1])
        off += not fine and n % 5 != 4
        mixed_off += not fine and n % 5 == 4
        strange += len(codes - {"already_resolved"})
        errors += broken
    with mock.patch.object(resolve, "_claim", lambda *args, **kwargs: None):
        found = sum(_went_wrong(*_answered(model, [resolve.suggestion_accept])) for _ in range(CONTROLS))
    return {
        "writers": WRITERS,
        "rounds_off": off + mixed_off,
        "rounds_of_both_answers": rounds // 5,
        "strange_answers": strange,
        "errors": len(errors),
        "said": errors[:3],
        "control_found": found,
    }


def _suggestion_made() -> Suggestion:
    """Return a suggestion as the advisor writes it, to be copied for readers who have nothing else."""
    reader = ReaderFactory(username="first", time_zone="UTC")
    tastes(reader)
    proposed(reader)
    Suggestion.objects.update(created_at=timezone.now())
    return Suggestion.objects.get()


def _answered(model: Suggestion, verbs: list[Callable[..., Any]]) -> tuple[bool, set[str], list[str]]:
    """Return whether exactly one of many answers won and left one trace, the answers of the others, and the
    errors."""
    reader, now = ReaderFactory(), timezone.now()
    evidence = list(model.evidence.all())
    copy = Suggestion.objects.get(pk=model.pk)
    copy.pk, copy.reader = None, reader
    copy.save(force_insert=True)
    for row in evidence:
        row.pk, row.suggestion = None, copy
    Evidence.objects.bulk_create(evidence)
    answers, broken = told(
        lambda n: verbs[n % len(verbs)](reader_id=reader.pk, suggestion_id=copy.pk, now=now)
    )
    won = [answer for answer in answers if isinstance(answer, Resolved)]
    outcomes = list(Outcome.objects.filter(reader=reader).values_list("outcome", flat=True))
    versions = ConfigVersion.objects.filter(reader=reader).count()
    fine = len(won) == 1 and outcomes == [won[0].status] and versions == (won[0].status == "accepted")
    return fine, {answer.code for answer in answers if isinstance(answer, Refusal)}, broken


def _went_wrong(fine: bool, codes: set[str], broken: list[str]) -> bool:
    return not fine or bool(broken)


def budget(port: int, rounds: int) -> Json:
    """Run 32 readers at once with money for five. Each round has its own day."""
    settings.ADVISOR_READER_DAILY_CAP_USD = settings.ADVISOR_RUN_CAP_USD = 50.0
    readers = [reader_new() for _ in range(RUNS)]
    now = timezone.now()
    cost = _one_run_usd(now)
    settings.ADVISOR_DAILY_CAP_USD = cap = round(cost * MONEY_FOR, 6)
    seen = [_round(readers, now + timedelta(days=n + 1), cap, port) for n in range(rounds)]
    with mock.patch.object(ledger, "spend_reserve", reserve_unguarded):
        loose = [
            _round(readers, now + timedelta(days=rounds + n + 1), cap, port) for n in range(CONTROLS - 1)
        ]
    return {
        "runs": RUNS,
        "cap_usd": cap,
        "most_booked_usd": max(row["most"] for row in seen),
        "most_billed_usd": max(row["bill"] for row in seen),
        "over": sum(row["most"] > cap + 1e-9 for row in seen),
        "billed_over": sum(row["bill"] > cap + 1e-9 for row in seen),
        "completed": [row["completed"] for row in seen],
        "refused": min(row["refused"] for row in seen),
        "errors": sum(len(row["errors"]) for row in seen),
        "said": [said for row in seen for said in row["errors"]][:3],
        "control_booked_usd": max(row["most"] for row in loose),
        "control_found": sum(row["most"] > cap + 1e-9 for row in loose),
    }


def _one_run_usd(now: datetime) -> float:
    """Return the settled cost of one reader's run."""
    row = Run.objects.create(reader=reader_new(), day=now.date(), trigger="scheduled", created_at=now)
    run_execute(run_id=row.pk, now=now)
    return booked_usd()


def _round(readers: list[Reader], now: datetime, cap: float, port: int) -> Json:
    """Run all runs of one day at once, and watch the day's ledger."""
    settings.OPENAI_API_KEY = key = f"day-{now:%Y-%m-%d}"
    Suggestion.objects.all().delete()
    rows = [
        Run.objects.create(reader=r, day=now.date(), trigger="scheduled", created_at=now) for r in readers
    ]
    ended, most = threading.Event(), [0.0]
    watch = threading.Thread(target=_watch, args=(now, ended, most))
    watch.start()
    _, broken = told(lambda n: run_execute(run_id=rows[n].pk, now=now), len(rows))
    ended.set()
    watch.join()
    of_day = Run.objects.filter(pk__in=[row.pk for row in rows])
    return {
        "most": round(most[0], 6),
        "bill": round(float(call_usd()) * asked(port, key)["requests"], 6),
        "completed": of_day.filter(status=Run.Status.COMPLETED).count(),
        "refused": of_day.filter(status=Run.Status.BUDGET_EXCEEDED).count(),
        "errors": broken,
    }


def _watch(now: datetime, ended: threading.Event, most: list[float]) -> None:
    try:
        while True:
            last = ended.wait(0.05)
            most[0] = max(most[0], booked_usd(day=now.date()))
            if last:
                return
    finally:
        connections.close_all()


def reserve_unguarded(
    *, account: ledger.SpendAccount, model: str, worst_case: Decimal
) -> Spend | BudgetRefusal:
    """Try a naive ledger: look whether there is money, then take it."""
    day, reserved = account.now.date(), worst_case.quantize(ledger.MICRO_USD)
    if refusal := ledger._refusal(account, day, reserved):
        return refusal
    time.sleep(0.05)
    names = ("surface", "reader_id", "run_id", "purpose")
    call = {name: getattr(account, name) for name in names} | {"model": model}
    return Spend.objects.create(**call, day=day, created_at=account.now, reserved_usd=reserved)
