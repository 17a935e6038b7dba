"""`make fuzz-api`: call every operation of the API's own description, with valid and invalid requests.

schemathesis reads `/api/openapi.json` of a running site and sends requests that fit the description and
others that do not, signed in by personal tokens of readers who have items and suggestions. Each answer must
be one of the description, in its shape, and never a 5xx. The site is `manage.py serve` with its worker, on
its own database. schemathesis runs in a throwaway environment.

Exit codes: 0 if every check held, 1 if one did not, 2 if nothing could be tried.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.lab.bench.peers import ROOT, PeersMissing, environment, versions
from tests.lab.bench.running import machine

TOOL = ("schemathesis>=4.32,<5",)
# All checks but two. An answer that follows from rows (a future day, an unknown reason) is no fault of the
# description, and a DELETE removes a response to an item, while the item stays.
CHECKS = (
    *("not_a_server_error", "status_code_conformance", "content_type_conformance"),
    *("response_headers_conformance", "response_schema_conformance", "negative_data_rejection"),
    *("missing_required_header", "unsupported_method", "allow_header_conformance", "ignored_auth"),
)
READERS, SUGGESTIONS = 12, 40
PATIENCE_S, LONGEST_S = 180.0, 1800.0
Json = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    """Try, report in words or as JSON, and end with the code above."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab fuzz", description=__doc__)
    parser.add_argument("--examples", type=int, default=200, help="generated cases for each operation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--database", default="", help="an empty database's URL; SQLite in a folder otherwise"
    )
    parser.add_argument("--json", metavar="FILE", help="where to write the figures")
    given = parser.parse_args(argv)
    try:
        with environment(TOOL) as python, tempfile.TemporaryDirectory(prefix="tidings-fuzz-") as folder:
            found = fuzz(python, Path(folder), given)
    except PeersMissing as missing:
        print(f"schemathesis could not be installed: {missing}", file=sys.stderr)
        return 2
    if given.json:
        Path(given.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))
    return 0 if found["exit"] == 0 and not found["server_errors"] and found["cases"] else 1


def fuzz(python: Path, folder: Path, given: argparse.Namespace) -> Json:
    """Return the figures of one run, on its own site in `folder`."""
    place = settings_of(folder, given.database)
    known = world_made(place)
    (folder / "known.json").write_text(json.dumps(known), encoding="utf-8")
    began = time.monotonic()
    with site(place, folder) as address:
        command = [python, "-m", "schemathesis.cli", "run", f"{address}/api/openapi.json"]
        command += ["--max-examples", str(given.examples), "--seed", str(given.seed), "--workers", "4"]
        command += ["--phases", "examples,coverage,fuzzing", "--checks", ",".join(CHECKS), "--no-color"]
        command += ["--continue-on-failure", "--generation-database", "none", "--request-timeout", "60"]
        told = {"SCHEMATHESIS_HOOKS": "tests.lab.fuzz.hooks"}
        told |= {"FUZZ_KNOWN": str(folder / "known.json"), "FUZZ_SEEN": str(folder / "seen.jsonl")}
        done = subprocess.run(
            command, cwd=folder, env=place | told, stdout=sys.stderr, check=False, timeout=LONGEST_S
        )
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "database": (given.database or "sqlite").partition(":")[0],
        "examples": given.examples,
        "seed": given.seed,
        "exit": done.returncode,
        "seconds": round(time.monotonic() - began, 1),
        "machine": machine(),
        "versions": versions(python, ["schemathesis", "django", "django-ninja"]),
    } | counted(folder / "seen.jsonl", folder / "site.log")


def counted(seen: Path, log: Path) -> Json:
    """Return the answers by status and by operation, as noted by the hooks, and the errors in the site's
    log."""
    rows = [json.loads(line) for line in seen.read_text(encoding="utf-8").splitlines()]
    operations = Counter(label for label, _, _ in rows)
    statuses = Counter(str(status) for _, _, status in rows)
    crashes = [line for line in log.read_text().splitlines() if "Internal Server Error" in line]
    return {
        "operations": len(operations),
        "cases": len(rows),
        "fewest": min(operations.values(), default=0),
        "statuses": dict(sorted(statuses.items())),
        "server_errors": sum(n for status, n in statuses.items() if status.startswith("5")) + len(crashes),
    }


def settings_of(folder: Path, database: str) -> dict[str, str]:
    """Return the environment of an installation in `folder`, without the operator's settings."""
    mine = ("DATABASE_URL", "REDIS_URL", "METRICS_TOKEN")
    kept = {name: value for name, value in os.environ.items() if name not in mine and "API_KEY" not in name}
    place = {"TIDINGS_VAR_DIR": str(folder), "TIDINGS_ENV_FILE": "", "LOG_LEVEL": "WARNING"}
    return kept | place | ({"DATABASE_URL": database} if database else {}) | {"PYTHONPATH": str(ROOT)}


def world_made(place: dict[str, str]) -> Json:
    """Migrate, seed the demo, and give readers tokens and suggestions. Return the ids that the hooks need."""
    os.environ |= place | {"DJANGO_SETTINGS_MODULE": "config.settings"}
    for gone in {"DATABASE_URL", "REDIS_URL"} - place.keys():
        os.environ.pop(gone, None)
    import_module("django").setup()
    import_module("django.core.management").call_command("migrate", verbosity=0)
    import_module("django.core.management").call_command("seed_demo", stdout=sys.stderr)
    made: Json = import_module("tests.lab.fuzz.world").world(READERS, SUGGESTIONS)
    import_module("django.db").connections.close_all()
    return made


@contextmanager
def site(place: dict[str, str], folder: Path) -> Iterator[str]:
    """Yield the site with its worker on a free port of this machine; its address."""
    with (folder / "site.log").open("w") as log, (folder / "site.out").open("w") as out:
        command = [sys.executable, "manage.py", "serve", "--port", "0"]
        server = subprocess.Popen(command, cwd=ROOT, env=place, stdout=out, stderr=log)
        try:
            yield _address(folder, server)
        finally:
            server.terminate()
            server.wait(timeout=PATIENCE_S)


def _address(folder: Path, server: subprocess.Popen[bytes]) -> str:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until and server.poll() is None:
        said = (folder / "site.out").read_text()
        if "http://" in said:
            address = said.partition("http://")[2].partition("/")[0]
            with urllib.request.urlopen(f"http://{address}/healthz", timeout=PATIENCE_S):
                return f"http://{address}"
        time.sleep(0.2)
    raise SystemExit(f"The site did not start. {(folder / 'site.log').read_text()[-400:]}")


if __name__ == "__main__":
    sys.exit(main())
