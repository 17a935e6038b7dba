"""`python -m tests.lab size [--json]`: the product's size beside its targets.

Product means the Python files of the five rooms. Shares are of modules: files without migrations. Exit code 1
where a target is missed.
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

from tests.lab.size import source

ROOT = Path(__file__).resolve().parents[3]
TRACER = Path(__file__).with_name("tracer.py")


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number. `most`: the target, `None` where there is none; `percent`: how it is printed."""

    name: str
    value: float
    most: float | None = None
    percent: bool = False
    note: str = ""

    @property
    def met(self) -> bool:
        """Return whether the target is met, if there is one."""
        return self.most is None or self.value <= self.most

    def words(self, number: float | None) -> str:
        """Return `number` as this figure is printed."""
        if number is None:
            return "–"
        return f"{number:.1%}" if self.percent else f"{number:,.0f}"


def main() -> int:
    """Print the table, or JSON; return 1 where a target is missed."""
    parser = argparse.ArgumentParser(description="Measure the size of the product beside its targets.")
    parser.add_argument("--json", action="store_true", help="print JSON, with the files of each trace")
    options = parser.parse_args()
    traces = {deed: trace(deed) for deed in ("button", "thumb")}
    figures = measure(ROOT, traces)
    if options.json:
        rows = [asdict(figure) | {"met": figure.met} for figure in figures]
        print(json.dumps({"rows": rows, "traces": traces}, indent=1))
    else:
        print(table(figures))
    return int(any(not figure.met for figure in figures))


def trace(deed: str) -> list[str]:
    """Return the product's files that run while a reader does `deed`, on a new database."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")},
            "PYTHONPATH": str(ROOT),
            "TIDINGS_VAR_DIR": folder,
            "DATABASE_URL": f"sqlite:///{folder}/tidings.sqlite3",
            "REDIS_URL": "",
            "LOCAL_LLM_BASE_URL": "",
            "LOG_LEVEL": "ERROR",
        }
        # -P: the tracer's folder is no place to import from.
        command = [sys.executable, "-P", str(TRACER), deed]
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    files: list[str] = json.loads(done.stdout)
    return files


def measure(root: Path, traces: Mapping[str, list[str]]) -> list[Figure]:
    """Return every figure of the tree at `root`."""
    files, modules = source.files_of(root), source.modules_of(root)
    small, single = source.small_modules(root), source.one_importer(root)
    called = source.private_calls(root)
    pages = source.page_words(root)
    longest = max(pages, key=lambda page: pages[page])
    markers = sum(path.name == source.MARKER for path in modules)
    return [
        Figure("product files", len(files), 330, note="migrations included"),
        Figure("product lines", sum(map(source.lines_of, files)), 46_000, note="migrations included"),
        Figure("modules", len(modules), note=f"without migrations; {markers} of them __init__.py"),
        Figure("lines of modules", sum(map(source.lines_of, modules))),
        Figure("modules of at most 30 lines", len(small), 19, note="without __init__.py"),
        Figure("modules with one importer", len(single) / len(modules), 0.1499, True, f"{len(single)}"),
        Figure(
            "private functions called once",
            sum(times == 1 for times in called.values()) / len(called),
            percent=True,
            note=f"{sum(times == 1 for times in called.values())} of {len(called)}",
        ),
        Figure("longest file, lines", max(map(source.lines_of, modules)), 500),
        Figure("identifiers of a banned word", len(source.banned_names(root)), 0),
        Figure("lines of guidance and memory", source.guidance_lines(root), 3_500),
        Figure("tunables of guidance", source.tunables(root), 12),
        Figure("glossary entries", source.glossary_entries(root), 50),
        Figure("words in docs", sum(pages.values()), 30_000),
        Figure("words of the longest page", pages[longest], 3_000, note=longest),
        Figure("screenshots", source.screenshots(root), 15),
        Figure("files touched: button to stored suggestion", len(traces["button"]), 75, note="planner"),
        Figure("files touched: thumb to changed digest", len(traces["thumb"]), 35),
    ]


def table(figures: list[Figure]) -> str:
    """Return the figures in aligned lines, those that miss their target marked."""
    lines = [f"{'':44} {'now':>9} {'at most':>9}"]
    for one in figures:
        note = "  ".join(filter(None, ["" if one.met else "MISSED", one.note]))
        lines.append(f"{one.name:44} {one.words(one.value):>9} {one.words(one.most):>9}  {note}".rstrip())
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
