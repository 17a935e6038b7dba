"""The faults as data: each row of the table, its stages, and the conditions that must hold."""

from dataclasses import dataclass

from tests.lab.bench.registry import Aim

EMBEDDED, DISTRIBUTED = "sqlite", "services"
BOTH = (EMBEDDED, DISTRIBUTED)


@dataclass(frozen=True, slots=True)
class Fault:
    """One row. `work` describes the fault; `run(name, full)` of `module` makes it and returns figures."""

    name: str
    work: str
    module: str
    aims: tuple[Aim, ...]
    stages: tuple[str, ...] = BOTH
    # More than this many seconds mean that something hangs.
    longest_s: int = 2700


def _none(metric: str, figure: str) -> Aim:
    return Aim(metric, figure, False, 0)


def _some(metric: str, figure: str, least: float = 1) -> Aim:
    return Aim(metric, figure, True, least)


CRASHED = (
    _some("points", "points", 20),
    _none("points after which something was lost or doubled", "broken"),
    _none("points after which the ledger was short of the bill", "short"),
    _none("half a transaction seen", "torn"),
    _some("before anybody mends: points at which something is missing", "control_found"),
)
KILLED = (
    _some("kills", "kills", 5),
    _none("runs without an end", "unended"),
    _none("suggestions doubled", "doubled"),
    _none("suggestions lost", "lost"),
    _none("items doubled or lost", "items_off"),
    _none("ledger short of the bill, USD", "short_usd"),
    Aim("seconds until a killed run is taken up, worst", "recovery_s", False, 60),
)
FAULTS = (
    Fault(
        "generates",
        "64 requests for suggestions at once, for one reader, again and again",
        "tests.lab.faults.races",
        (
            _none("rounds with other than one run", "rounds_off"),
            _none("rounds with other than one conversation with the model", "conversations_off"),
            _none("errors", "errors"),
            _some("without the constraint: rounds with more than one run", "control_found"),
        ),
    ),
    Fault(
        "accepts",
        "64 accepts of one suggestion at once, again and again; then 32 accepts against 32 rejects",
        "tests.lab.faults.races",
        (
            _none("rounds with other than one version and one outcome", "rounds_off"),
            _none("losers told other than already_resolved", "strange_answers"),
            _none("errors", "errors"),
            _some("without the claim: rounds that go wrong", "control_found"),
        ),
    ),
    Fault(
        "replays",
        "an accept under one `Idempotency-Key` from 32 at once, then repeated, then with other bodies",
        "tests.lab.faults.replays",
        (
            _some("replays", "replays", 100),
            _none("replays that are not the first answer, byte by byte", "differing"),
            _none("rounds of 32 at once with other than one decision and one answer", "rounds_off"),
            _none("other bodies not refused", "taken"),
            _none("decided again", "decided_again"),
            _none("errors", "errors"),
            _some("without a key: second answers that differ", "control_found"),
        ),
    ),
    Fault(
        "budget",
        "32 runs at once, with money for five",
        "tests.lab.faults.races",
        (
            _none("rounds in which the cap was passed", "over"),
            _none("rounds in which the bill passed the cap", "billed_over"),
            _some("runs that the money turned away", "refused"),
            _none("errors", "errors"),
            _some("without the lock: rounds in which the cap was passed", "control_found"),
        ),
    ),
    Fault("crash_generate", "a run killed at each boundary", "tests.lab.faults.crash_points", CRASHED),
    Fault("crash_accept", "an accept killed at each boundary", "tests.lab.faults.crash_points", CRASHED),
    Fault(
        "crash_nightly",
        "a night killed at each boundary",
        "tests.lab.faults.crash_points",
        (*CRASHED, _none("mails sent twice", "mails_doubled")),
    ),
    Fault(
        "kills", "random kill -9 of a worker with runs and fetches queued", "tests.lab.faults.kills", KILLED
    ),
    Fault(
        "flush",
        "Redis flushed, then restarted empty, with 100 runs queued and no worker",
        "tests.lab.faults.brokers",
        (
            _some("runs queued", "queued", 100),
            _none("runs not done", "undone"),
            _none("runs begun more than once", "again"),
        ),
        (DISTRIBUTED,),
    ),
    Fault(
        "database",
        "PostgreSQL stopped as in a crash, and started, in mid-run",
        "tests.lab.faults.brokers",
        (
            _some("stops", "stops", 2),
            _none("runs not done", "undone"),
            _none("suggestions doubled", "doubled"),
            _none("workers that had to be started again", "restarts"),
            Aim("seconds until an interrupted run is taken up, worst", "recovery_s", False, 60),
        ),
        (DISTRIBUTED,),
    ),
    Fault(
        "deliveries",
        "every task delivered ten times",
        "tests.lab.faults.deliveries",
        (
            _some("tasks", "tasks", 10),
            _none("tasks after which the state differs", "differing"),
            _none("deliveries that failed", "failed"),
        ),
    ),
    Fault(
        "shutdown",
        "a worker told to stop in mid-run",
        "tests.lab.faults.shutdowns",
        (
            _none("runs cut short", "cut"),
            _none("workers that left other than in good order", "disorderly"),
            _none("queued runs lost", "lost"),
            Aim("seconds until it has left, worst", "leaving_s", False, 30),
        ),
    ),
    Fault(
        "poison",
        "one hostile row in each loop over strangers' material, in the first, the middle and the last place",
        "tests.lab.faults.poison",
        (
            _some("loops", "loops", 20),
            _none("hostile rows after which another row was not served", "refused"),
            _none("hostile rows that the operator does not see", "unseen"),
            _some("without the helper: loops that end", "control_found", 15),
        ),
    ),
    Fault(
        "fairness",
        "one reader does the worst in every place that readers share, while another reads on",
        "tests.lab.faults.fairness",
        (
            _some("what the one asks for", "hers", 50),
            _none("what the other asks for and does not get", "refused"),
            _none("what the one does not get even alone, so that it cannot weigh on the other", "not_done"),
            Aim("the other's time, divided by a quiet one, worst of seven deeds", "ratio", False, 2),
            Aim("the same in processor time, worst of four that ask no site", "processor_ratio", False, 2),
            _some("without a reader's share: what the other does not get", "control_found"),
        ),
    ),
    Fault(
        "freeze",
        "strings made to be slow, at every door of `serve` and gunicorn, while `/healthz` is asked",
        "tests.lab.faults.freezes",
        (
            _some("requests", "requests", 50),
            _some("times that /healthz was asked", "asked", 50),
            _none("of those without an answer", "unanswered"),
            _none("answers of 5xx", "errors"),
            Aim("seconds until /healthz answered, worst", "worst_s", False, 1),
        ),
        (EMBEDDED,),
    ),
)
BY_NAME = {fault.name: fault for fault in FAULTS}
