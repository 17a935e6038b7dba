"""`python -m tests.lab faults [NAME …] [--stage sqlite|services] [--full] [--json FILE] [--list]`.

Make faults on purpose, one row after another, each with its own database: SQLite with the embedded worker,
then PostgreSQL and Redis with Celery, on throwaway servers on spare ports. Without `--full` there are fewer
rounds, kills and boundaries. With `--json` the records go into FILE, beside those of other rows. Exit 1 if a
row broke or missed a target.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.bench.__main__ import keep, line, lines
from tests.lab.faults.registry import BOTH, BY_NAME, DISTRIBUTED, EMBEDDED, FAULTS, Fault
from tests.lab.faults.running import Stage, fault_run
from tests.lab.faults.servers import servers


def main() -> int:
    """Run, print, record; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help="rows (all)")
    parser.add_argument("--stage", choices=BOTH, help="one of the two ways to run only")
    parser.add_argument("--full", action="store_true", help="every boundary, round and kill")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to record what is found")
    parser.add_argument("--list", action="store_true", help="name the rows and leave")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in BY_NAME]:
        parser.error(f"there is no row {', '.join(unknown)}; --list names them")
    if options.list:
        print("\n".join(f"{fault.name:15} {fault.work} ({', '.join(fault.stages)})" for fault in FAULTS))
        return 0
    chosen = [fault for fault in FAULTS if not options.names or fault.name in options.names]
    stages = [options.stage] if options.stage else list(BOTH)
    return int(not all(list(held(chosen, stages, options.full, options.json))))


def held(faults: list[Fault], stages: list[str], full: bool, path: Path | None) -> Iterator[bool]:
    """Yield for each row on each stage whether it kept its promise. Print and record on the way."""
    print(line("row", "metric", "target", "found"))
    for name in stages:
        mine = [fault for fault in faults if name in fault.stages]
        if not mine:
            continue
        with stage(name) as ground:
            for fault in mine:
                record = fault_run(fault, ground, full=full)
                print("\n".join(lines(record)), flush=True)
                if path:
                    keep(path, record)
                yield not record["error"] and all(target["met"] for target in record["targets"])


@contextmanager
def stage(name: str) -> Iterator[Stage]:
    """Yield a folder, and for the distributed way its servers."""
    with tempfile.TemporaryDirectory(prefix="tidings-faults-", ignore_cleanup_errors=True) as folder:
        if name == EMBEDDED:
            yield Stage(name, Path(folder))
            return
        assert name == DISTRIBUTED
        with servers(Path(folder)) as (postgres, redis):
            yield Stage(name, Path(folder), postgres, redis)


if __name__ == "__main__":
    sys.exit(main())
