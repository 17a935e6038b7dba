"""The result of the day: seconds and counts, each beside its target."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tests.lab.load.day.browser import Answer
from tests.lab.load.day.events import Day
from tests.lab.load.day.people import runs_state, thumbs_missing
from tests.lab.load.day.release import NEXT
from tests.lab.load.day.traffic import Trickle, Watch, counted
from tests.lab.load.day.worst import Worst

Figures = dict[str, Any]


def answers_of(day: Day, trickle: Trickle, others: Sequence[Answer]) -> list[Answer]:
    """Return every request of the day, in order."""
    browsers = [*trickle.browsers, *day.browsers, day.watch.browser]
    every = [answer for browser in browsers for answer in browser.answers]
    return sorted([*every, *others], key=lambda answer: answer.at)


def latency(answers: Sequence[Answer], spans: dict[str, tuple[float, float]]) -> list[Figures]:
    """Milliseconds of pages and thumbs, event by event."""
    rows = []
    for name, (begin, end) in spans.items():
        took = sorted(
            a.ms for a in answers if begin <= a.at < end and (a.name[0] == "/" or a.name == "thumb")
        )
        if took:
            at = {p: round(took[min(len(took) - 1, len(took) * p // 100)], 1) for p in (50, 95, 99)}
            rows.append({"event": name, "seconds": round(end - begin, 1), "requests": len(took)})
            rows[-1] |= {
                "p50_ms": at[50],
                "p95_ms": at[95],
                "p99_ms": at[99],
                "longest_ms": round(took[-1], 1),
            }
    return rows


def targets_of(
    day: Day, trickle: Trickle, answers: Sequence[Answer], worst: Worst | None, readers: Sequence[str]
) -> list[Figures]:
    """Return all targets with their measured values. `worst` is what hostile readers and rows did, if any."""
    runs, watch = runs_state(day.asked), day.watch
    last = {key: value for key, value in watch.seen[-1][1].items()}
    lost = [answer for answer in answers if answer.status == 0]
    broken = [answer for answer in answers if answer.status >= 500]
    rows = [
        _row("requests answered with 5xx", len(broken), 0),
        _row("requests refused, cut off or without an answer", len(lost), 0),
        _row("thumbs answered with 200 and not stored", thumbs_missing(trickle.thumbs), 0),
        _row("readers who asked and got exactly one whole run", runs["once"], len(day.asked)),
        _row("suggestions written twice", runs["doubled"], 0),
        _row("processes that ended unasked, but for the killed worker", len(day.site.unasked) - 1, 0),
        *_dashboard(watch, answers, runs, worst),
    ]
    if worst:
        feeds = worst.feeds()
        rows.append(_least("requests of the reader who did the worst", worst.counted(), 100))
        rows.append(_row("good feeds that were not fetched beside hostile ones", feeds["unfetched"], 0))
        rows.append(_row("hostile feeds that nobody asked", feeds["unasked"], 0))
        rows += _poisoned(worst.poisoned.report(readers))
    late = max(
        last[key] for key in last if key[0] == "tidings_job_age_seconds" and ("job", "reconcile") in key[1]
    )
    rows.append(_most("dashboard: seconds since the reconciler began, at the end", late, 90))
    for event in ("worker_killed", "redis_killed", "deployed"):
        rows.append(
            _most(f"seconds until all is done again: {event}", day.told[event]["until_all_done_s"], 60)
        )
    return rows


def _poisoned(found: Figures) -> list[Figures]:
    """Return whether each loop met its hostile row, served the others, and told the operator."""
    return [
        _row("loops that met a hostile row", len(found["met"]), found["loops"]),
        _row("of these: loops of which no log tells", len(found["untold"]), 0),
        _row("commands that met one and did not end with 1", len(found["hidden"]), 0),
        _row("other readers without a digest of the day", found["unserved"]["readers"], 0),
        _row("other posts without a story", found["unserved"]["items"], 0),
    ]


def _dashboard(watch: Watch, answers: Sequence[Answer], runs: Figures, worst: Worst | None) -> list[Figures]:
    """Compare the metrics behind panels and alerts with the known events."""
    up = watch.series("tidings_broker_up")
    told = [
        set(dict(key[1])["version"] for key in found if key[0] == "tidings_build_info")
        for _, found in watch.seen
    ]
    seen = [next(iter(one)) for one in told if one]
    # The last look does not count itself.
    requests = watch.series("tidings_requests_total")[-1] + 1
    errors = [sum(v for (n, labels), v in found.items() if _is_error(n, labels)) for _, found in watch.seen]
    answered = counted(answers) + (worst.counted() if worst else 0)
    asked = answered + (worst.unanswered() if worst else 0)
    return [
        _row("dashboard: requests counted", requests, min(max(requests, answered), asked)),
        _row("dashboard: requests with 5xx", max(errors), worst.busy() if worst else 0),
        _row("dashboard: the broker went down and came back", [min(up), up[-1]], [0.0, 1.0]),
        _row("dashboard: the version changed once, to the new", [len(set(seen)), seen[-1]], [2, NEXT]),
        _row(
            "dashboard: runs taken up again",
            watch.series("tidings_runs_taken_up_again")[-1],
            runs["taken_up_again"],
        ),
        _least("runs taken up again", runs["taken_up_again"], 1),
        _row("dashboard: runs still open at the end", watch.series("tidings_runs_open")[-1], 0),
        _most(
            "dashboard: longest a lease was over, seconds",
            max(watch.series("tidings_run_lease_expired_seconds")),
            60,
        ),
        _least(
            "dashboard: memory of all web processes, MB",
            watch.series("process_resident_memory_bytes")[-1] / 1e6,
            1,
        ),
        _row("dashboard: processor time never fell", _falls(watch.series("process_cpu_seconds_total")), 0),
        _row("dashboard: requests counted never fell", _falls(watch.series("tidings_requests_total")), 0),
    ]


def _is_error(name: str, labels: tuple[tuple[str, str], ...]) -> bool:
    return name == "tidings_requests_total" and dict(labels)["status"][0] == "5"


def _falls(values: Sequence[float]) -> int:
    return sum(later < earlier for earlier, later in pairwise(values))


def _row(metric: str, value: Any, wanted: Any) -> Figures:
    return {"metric": metric, "target": str(wanted), "value": value, "met": value == wanted}


def _most(metric: str, value: float, wanted: float) -> Figures:
    return {"metric": metric, "target": f"≤ {wanted:g}", "value": round(value, 1), "met": value <= wanted}


def _least(metric: str, value: float, wanted: float) -> Figures:
    return {"metric": metric, "target": f"≥ {wanted:g}", "value": round(value, 1), "met": value >= wanted}
