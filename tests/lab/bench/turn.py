"""An agent's turn without the model's time: `python -m tests.lab bench.turn [--json] [--turns N] [--runs N]`.

A stub server in another process answers at once (`tests.lab.bench.stub`), and each run is N turns of one tool
call. Ours is `run_execute` as in a worker: the claim, the prompt, the real tools on a reader with 200 thumbs,
the ledger's reservation and booking, a stored row for each step, the end. Compared in the same run, each in
its own process: openai-agents and pydantic-ai with the same prompt, the same nine schemas and a tool that
gives the same answer from memory; they store nothing. The floor is the bare wire: requests of our mean size
through `http.client`. The best of the runs counts, by the clock.
"""

import argparse
import http.client
import json
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

from tests.lab.bench.engine import engine, where
from tests.lab.bench.stub import TOOL, reset, stats, stub

PEERS = ("openai-agents", "pydantic-ai-slim")
THUMBS = 200
Row = dict[str, object]


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--turns", type=int, default=21)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with engine() as folder, stub() as port:
        own, case = ours(port, options.turns, options.runs)
        path = folder / "case.json"
        path.write_text(json.dumps(case), encoding="utf-8")
        rows = [own, *(peer(name, path) for name in PEERS), wire(port, case)]
    report = {
        "command": "python -m tests.lab bench.turn",
        **where(),
        "turns": options.turns,
        "runs": options.runs,
        "rows": rows,
    }
    for name, unit in (("times_faster_peer", "ms_a_turn"), ("times_faster_peer_cpu", "cpu_ms_a_turn")):
        faster = min(float(str(row[unit])) for row in rows[1:-1])
        report[name] = round(float(str(own[unit])) / faster, 3)
    print(json.dumps(report) if options.json else words(report, rows))


def ours(port: int, turns: int, runs: int) -> tuple[Row, Row]:
    """Our row, and the case that the peers get."""
    from django.conf import settings  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from advisor.models import Run, Step  # noqa: PLC0415
    from advisor.run.execute import run_execute  # noqa: PLC0415
    from tests.lab.bench.turn_peers import measured  # noqa: PLC0415
    from tests.support.factories import ReaderFactory  # noqa: PLC0415
    from tests.support.histories import opinionated  # noqa: PLC0415

    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "none", f"http://127.0.0.1:{port}/v1"
    settings.LLM_CHAIN = ["openai:gpt-6-luna"]
    now = timezone.now()
    readers = [ReaderFactory(username=f"reader-{n}") for n in range(runs + 1)]
    for reader in readers:
        opinionated(reader, now=now)
    waiting = iter(readers)

    def run() -> None:
        row = Run.objects.create(reader=next(waiting), day=now.date(), trigger="scheduled", created_at=now)
        assert run_execute(run_id=row.pk, now=timezone.now())
        row.refresh_from_db()
        assert (row.status, row.turns) == ("completed", turns), f"{row.status}: {row.message}"

    case: Row = {"port": port, "turns": turns, "runs": runs}
    figures: Row = {"name": "Tidings", **measured(run, case)}
    seen = stats(port)
    case |= told(readers[0], now) | {"bytes": seen["bytes"] // seen["requests"]}
    return figures | {"steps_stored": Step.objects.count() // len(readers)}, case


def told(reader: object, now: datetime) -> Row:
    """Return the messages of the model and the tool in our run, so that the peers use the same."""
    from advisor.prompts import ADVISOR_PROMPT, prompt_load  # noqa: PLC0415
    from advisor.tools.registry import dispatch, schemas  # noqa: PLC0415
    from digest.llm.entities import ToolCall  # noqa: PLC0415
    from tests.support.histories import context_for  # noqa: PLC0415

    answer = dispatch(context_for(reader, now=now), ToolCall("call", TOOL, "{}")).content  # type: ignore[arg-type]
    return {"prompt": str(prompt_load(ADVISOR_PROMPT)), "schemas": schemas(), "answer": answer}


def peer(name: str, case: Path) -> Row:
    """Return a framework's row, from its own process."""
    command = [sys.executable, "-m", "tests.lab.bench.turn_peers", name, str(case)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def wire(port: int, case: Row) -> Row:
    """Return the floor: bodies of our mean size, one after another, with the answers ignored."""
    body, times = b"x" * int(str(case["bytes"])), []
    for _ in range(int(str(case["runs"])) + 1):
        reset(port, int(str(case["turns"])))
        connection = http.client.HTTPConnection("127.0.0.1", port)
        began = time.perf_counter()
        for _ in range(int(str(case["turns"]))):
            connection.request("POST", "/v1/chat/completions", body)
            connection.getresponse().read()
        times.append(time.perf_counter() - began)
        connection.close()
    milliseconds = 1000 * min(times[1:]) / int(str(case["turns"]))
    return {"name": "the wire alone", "ms_a_turn": round(milliseconds, 2), "bytes": len(body)}


def words(report: Row, rows: list[Row]) -> str:
    """Return the report as a table."""
    head = "{at}, Python {python}, {cpus} CPUs, load {load}, best of {runs} runs of {turns} turns".format(
        **report
    )
    lines = ["  ".join(f"{key} {value}" for key, value in row.items()) for row in rows]
    return "\n".join(
        [
            head,
            *lines,
            "ours: {times_faster_peer} of the faster peer, {times_faster_peer_cpu} by processor".format(
                **report
            ),
        ]
    )


if __name__ == "__main__":
    main()
