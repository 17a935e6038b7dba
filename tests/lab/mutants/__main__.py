"""`python -m tests.lab mutants [PART ...] [--json FILE] [--sample N] [--minutes N] [--list]`: tested tests.

Each part is a few modules and the tests beside them. mutmut, in a throwaway environment, makes mutants of the
modules in a copy of this folder. The tests of the part then run against each mutant, in a fork of one warm
process with its own SQLite in memory (`tests.lab.mutants.plugin`). A mutant is killed if a test fails or
hangs. The score is killed over all. Exit 1 if a part stays below 85 %.

Mutants that only spell a sentence differently are left out: words are reviewed, not tested.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shutil import copy2
from typing import Any

from tests.lab.bench.book import book_text
from tests.lab.bench.peers import ROOT, environment
from tests.lab.bench.running import machine

Json = dict[str, Any]
TOOL = "mutmut==3.8.1"
SCORE_MIN = 0.85
SEED = 20260318
ASKING = "tests/advisor/agent/test_model_caller.py::test_"


@dataclass(frozen=True)
class Part:
    """Modules to mutate, and the tests that have to notice."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


PARTS = {
    "rules": Part(
        ("suggestions/rules.py",),
        ("tests/suggestions/test_rules.py", "tests/suggestions/test_values.py"),
    ),
    "budget": Part(
        ("digest/llm/ledger.py", "digest/llm/prices.py", "digest/llm/caller.py"),
        (
            "tests/digest/llm/test_ledger.py",
            "tests/digest/llm/test_settings.py",
            "tests/digest/web/pages/test_costs.py",
            "tests/advisor/agent/test_model_caller.py",
            # By the clock, and so at the mercy of other work.
            f"--deselect={ASKING}a_model_that_drips_takes_its_share_of_the_time_and_the_next_one_the_rest",
            f"--deselect={ASKING}the_last_model_of_a_chain_has_all_the_time_that_is_left",
        ),
    ),
    "accept": Part(
        ("suggestions/services/resolve.py",),
        (
            "tests/suggestions/services/test_resolve.py",
            "tests/suggestions/services/test_resolve_own.py",
        ),
    ),
    "merge": Part(
        (
            "ranking/services.py",
            "ranking/config_body.py",
            "ranking/views.py",
        ),
        (
            "tests/ranking/test_services.py",
            "tests/ranking/test_config_body.py",
            "tests/ranking/test_views.py",
            "tests/digest/feeds/test_source_aliases.py",
        ),
    ),
}


def main() -> int:
    """Measure the given parts, print a line each and keep the record. Return 1 if a score is too low."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART")
    parser.add_argument("--json", type=Path, help="the record, in which other parts keep what they had")
    parser.add_argument("--sample", type=int, default=0, help="so many mutants a part; 0: all")
    parser.add_argument(
        "--minutes", type=float, default=0, help="stop trying after so many, a part; 0: never"
    )
    parser.add_argument("--seed", type=int, default=SEED, help="of the order in which mutants are tried")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mutants tried at a time")
    parser.add_argument("--list", action="store_true", help="print the mutants that nothing noticed")
    options = parser.parse_args()
    limits = {name: getattr(options, name) for name in ("sample", "minutes", "seed", "jobs")}
    rows: dict[str, Json] = {}
    with environment([TOOL]) as tool:
        for name in options.parts or PARTS:
            rows[name] = row = measured(PARTS[name], tool, **limits)
            print(line(name, row), flush=True)
            if options.list:
                print(*map(told, row["survivors"]), sep="\n", flush=True)
            if options.json:
                keep(options.json, name, row)
    return 0 if all(row["score"] >= SCORE_MIN for row in rows.values()) else 1


def measured(part: Part, tool: Path, **limits: float) -> Json:
    """Return the results for the part's mutants. `limits` are the options that bound it."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tidings-mutants-") as name:
        copy = Path(name)
        for path in tracked():
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            copy2(ROOT / path, copy / path)
        making = [tool, "-m", "tests.lab.mutants.source", *part.modules]
        made = json.loads(said(making, copy).splitlines()[-1])
        plan = {**limits, "mutants": made["mutants"]}
        (copy / "mutants.json").write_text(json.dumps(plan), encoding="utf-8")
        testing = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "tests.lab.mutants.plugin"]
        said([*testing, "-p", "no:xdist", *part.tests], copy)
        found = json.loads((copy / "mutants.json").read_text(encoding="utf-8"))
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "modules": part.modules,
        "tests": part.tests,
        "made": len(made["mutants"]),
        **limits,
        "wording": made["wording"],
        **found,
        "seconds": round(time.monotonic() - began),
        "tool": TOOL,
        "machine": machine(),
    }


def tracked() -> list[str]:
    """Return the files of this folder that belong to it, new ones included."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for path in listed.splitlines() if (ROOT / path).is_file()]


def said(command: list[Any], folder: Path) -> str:
    """Return the output of `command` in `folder`, on SQLite and without services. Raises `RuntimeError`."""
    own = {"DATABASE_URL": "", "REDIS_URL": "", "TIDINGS_SERVICES": "", "PYTHONPATH": str(folder)}
    kept = {key: value for key, value in os.environ.items() if key not in ("LOG_LEVEL", "TIDINGS_VAR_DIR")}
    done = subprocess.run(
        command, cwd=folder, env={**kept, **own}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{command[2]} left with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def line(name: str, row: Json) -> str:
    """Return a part in one line."""
    counts = ", ".join(f"{row[key]} {key}" for key in ("mutants", "killed", "timeouts", "survived"))
    return f"{name}: {row['score']:.1%} of {counts}; {row['seconds']} s"


def told(survivor: Json) -> str:
    """Return a mutant that nothing noticed, as a small diff."""
    removed = [f"  - {text}" for text in survivor["before"]]
    return "\n".join(
        [f"{survivor['module']}:{survivor['function']}", *removed, *(f"  + {t}" for t in survivor["after"])]
    )


def keep(path: Path, name: str, row: Json) -> None:
    """Put the part's row into the record."""
    record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(book_text({**record, name: row}), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
