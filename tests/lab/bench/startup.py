"""Starting up and standing by: `python -m tests.lab bench.startup [--json] [--rounds N]`.

Import: `django.setup()`, which begins every `manage.py` command, in a fresh interpreter; then the same with
all addresses of the site and with the model SDK. Compared: the imports of a program on openai-agents or
pydantic-ai before its first run. The best of the rounds counts, by the clock; bytecode is cached before the
first one. Memory: the processes of `manage.py serve`, the site after a page and the worker after its first
jobs, beside the figures of `tests.lab.bench.turn` for a worker and the frameworks after runs.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

from tests.lab.bench.engine import engine, resident_mb, where

SETUP = "import django; django.setup()"
IMPORTS = {
    "Tidings, manage.py": SETUP,
    "Tidings, with all addresses": f"{SETUP}; import config.urls",
    "Tidings, with the model SDK": f"{SETUP}; import config.urls, digest.llm.wire",
    "openai-agents": (
        "from openai import AsyncOpenAI; from agents import Agent, OpenAIChatCompletionsModel, Runner"
    ),
    "pydantic-ai-slim": (
        "from pydantic_ai import Agent; from pydantic_ai.models.openai import OpenAIChatModel; "
        "from pydantic_ai.providers.openai import OpenAIProvider"
    ),
}
OWN, PEERS = "Tidings, manage.py", ("openai-agents", "pydantic-ai-slim")
READ = """
import json, sys, time
began, worked = time.perf_counter(), time.process_time()
{imports}
wall, cpu = time.perf_counter() - began, time.process_time() - worked
from tests.lab.bench.engine import peak_mb
print(json.dumps({{"wall_s": wall, "cpu_s": cpu, "peak_mb": peak_mb(), "modules": len(sys.modules)}}))
"""
STAND_S, START_S = 8.0, 60.0
Row = dict[str, object]


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with engine() as folder:
        rows = imported(options.rounds)
        standing = served(folder)
    times = {str(row["name"]): float(str(row["wall_s"])) for row in rows}
    report = {
        "command": "python -m tests.lab bench.startup",
        **where(),
        "rows": rows,
        "standing": standing,
        "times_lighter_peer": round(times[OWN] / min(times[name] for name in PEERS), 2),
    }
    print(json.dumps(report) if options.json else "\n".join(map(str, [*rows, standing])))


def imported(rounds: int) -> list[Row]:
    """For each set of imports the fastest of fresh interpreters, all taking turns."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in IMPORTS}
    for _ in range(rounds + 1):
        for name, code in IMPORTS.items():
            command = [sys.executable, "-c", READ.format(imports=code)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found[name].append(json.loads(done.stdout))
    best = {name: min(runs[1:], key=lambda run: run["wall_s"]) for name, runs in found.items()}
    return [
        {"name": name, **run, "wall_s": round(run["wall_s"], 3), "cpu_s": round(run["cpu_s"], 3)}
        for name, run in best.items()
    ]


def served(folder: Path) -> Row:
    """Return the megabytes of the site and of its worker, a while after their first work."""
    command = [sys.executable, "manage.py", "serve", "--port", "0"]
    log = folder / "serve.log"
    with log.open("wb") as output:
        site = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=unbuffered())
        try:
            page = urlopen(f"{address(log)}accounts/login/").read()
            time.sleep(STAND_S)
            worker = int(Path(f"/proc/{site.pid}/task/{site.pid}/children").read_text().split()[0])
            return {
                "web_mb": resident_mb(site.pid),
                "worker_mb": resident_mb(worker),
                "page_bytes": len(page),
            }
        finally:
            site.send_signal(signal.SIGTERM)
            site.wait(30)


def address(log: Path) -> str:
    """Return the address of the site from its log."""
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        if found := re.search(r"http://127\.0\.0\.1:\d+/", log.read_text(encoding="utf-8")):
            return found.group()
        time.sleep(0.1)
    raise TimeoutError(f"the site did not start: {log.read_text(encoding='utf-8')[-300:]}")


def unbuffered() -> dict[str, str]:
    """Return the environment with unbuffered output."""
    return {**os.environ, "PYTHONUNBUFFERED": "1"}


if __name__ == "__main__":
    main()
