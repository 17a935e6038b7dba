"""`python -m tests.lab size [--json]`: figures of the product's size, for people to look at.

Product means the Python files of the five rooms. Shares are of modules: files without migrations. No figure
has a target: tests/test_architecture.py has the few limits that hold.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.lab.size import source

ROOT = Path(__file__).resolve().parents[3]
Trace = dict[str, Any]
TRACER = Path(__file__).with_name("tracer.py")


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number. `percent`: it is printed as a share."""

    name: str
    value: float
    percent: bool = False
    note: str = ""

    @property
    def text(self) -> str:
        """Return the number as it is printed."""
        return f"{self.value:.1%}" if self.percent else f"{self.value:,.0f}"


def main() -> int:
    """Print the table, or JSON; return 0."""
    parser = argparse.ArgumentParser(description="Measure the size of the product.")
    parser.add_argument("--json", action="store_true", help="print JSON, with each trace")
    options = parser.parse_args()
    traces = {deed: trace(deed) for deed in ("button", "thumb")}
    figures = measure(ROOT, traces)
    if options.json:
        print(json.dumps({"rows": [asdict(figure) for figure in figures], "traces": traces}, indent=1))
    else:
        print(table(figures))
    return 0


def trace(deed: str) -> Trace:
    """Return the product's files, functions, calls and queries while a reader does `deed`, on a new database.

    `tracer.Trace.summary` explains each figure.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")},
            "PYTHONPATH": str(ROOT),
            "TIDINGS_VAR_DIR": folder,
            "DATABASE_URL": f"sqlite:///{folder}/tidings.sqlite3",
            "REDIS_URL": "",
            "LOCAL_LLM_BASE_URL": "",
            "LOG_LEVEL": "ERROR",
            # Tracing slows the run down, and a run cut short would make fewer queries.
            "ADVISOR_TIMEOUT_S": "600",
        }
        # -P: the tracer's folder is no place to import from.
        command = [sys.executable, "-P", str(TRACER), deed]
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    found: Trace = json.loads(done.stdout)
    return found


def measure(root: Path, traces: Mapping[str, Trace]) -> list[Figure]:
    """Return every figure of the tree at `root`."""
    files, modules = source.files_of(root), source.modules_of(root)
    small, single = source.small_modules(root), source.one_importer(root)
    called = source.private_calls(root)
    pages = source.page_words(root)
    longest = max(pages, key=lambda page: pages[page])
    markers = sum(path.name == source.MARKER for path in modules)
    return [
        Figure("product files", len(files), note="migrations included"),
        Figure("product lines", sum(map(source.lines_of, files)), note="migrations included"),
        Figure("modules", len(modules), note=f"without migrations; {markers} of them __init__.py"),
        Figure("lines of modules", sum(map(source.lines_of, modules))),
        Figure("modules of at most 30 lines", len(small), note="without __init__.py"),
        Figure("modules with one importer", len(single) / len(modules), True, f"{len(single)}"),
        Figure(
            "private functions called once",
            sum(times == 1 for times in called.values()) / len(called),
            percent=True,
            note=f"{sum(times == 1 for times in called.values())} of {len(called)}",
        ),
        Figure("longest file, lines", max(map(source.lines_of, modules))),
        Figure("identifiers of a banned word", len(source.banned_names(root))),
        Figure("lines of guidance and memory", source.guidance_lines(root)),
        Figure("comparisons of a change’s type or field", source.kind_comparisons(root)),
        Figure("lines of suggestions", source.room_lines(root, "suggestions"), note="without migrations"),
        Figure("tunables of guidance", source.tunables(root)),
        Figure("glossary entries", source.glossary_entries(root)),
        Figure("words in docs", sum(pages.values())),
        Figure("words of the longest page", pages[longest], note=longest),
        Figure("screenshots", source.screenshots(root)),
        *way("button to stored suggestion", traces["button"]),
        *way("thumb to changed digest", traces["thumb"]),
    ]


def way(deed: str, found: Trace) -> list[Figure]:
    """Return the figures of one trace."""
    mutual = ", ".join(" and ".join(pair) for pair in found["mutual"])
    return [
        Figure(f"{deed}: files", len(found["files"])),
        Figure(f"{deed}: functions", found["functions"]),
        Figure(f"{deed}: call edges between files", found["edges"]),
        Figure(f"{deed}: pairs that call each other", len(found["mutual"]), note=mutual),
        Figure(f"{deed}: depth of calls", found["depth"], note=f"ends in {found['deepest'][-1]}"),
        Figure(f"{deed}: queries", found["queries"]),
    ]


def table(figures: list[Figure]) -> str:
    """Return the figures in aligned lines."""
    return "\n".join(f"{one.name:44} {one.text:>9}  {one.note}".rstrip() for one in figures)


if __name__ == "__main__":
    sys.exit(main())
