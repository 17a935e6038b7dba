"""`make audit`: look up known vulnerabilities of every pinned package, so that it cannot pass by accident.

pip-audit ends with 0 if its database cannot be reached, because it only "skips" packages it could not look
up. So the same run also asks about two releases that are known to be vulnerable. Unless both are reported and
every pin was looked up, nothing is proven and the command fails.

Exit codes: 0, no known vulnerability; 1, at least one; 3, the audit did not happen.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.bench.peers import ROOT, PeersMissing, environment

TOOL = ("pip-audit>=2.10,<3",)
# Old, vulnerable, and not among our pins: CVE-2020-6802 (mutation XSS) and CVE-2020-35654 (heap overflow).
CONTROLS = ("bleach==3.1.0", "pillow==8.0.0")
CLEAN, VULNERABLE, NOT_AUDITED = 0, 1, 3
LONGEST_S = 900
Json = Mapping[str, Any]


class NotAudited(Exception):
    """No audit took place; the message says why."""


@dataclass(frozen=True)
class Finding:
    """Something known against a pinned release; `fixed_in` names the releases without it."""

    pin: str
    id: str
    fixed_in: tuple[str, ...]


def findings(report: Json, pins: Sequence[str], controls: Sequence[str] = CONTROLS) -> list[Finding]:
    """Return the findings of pip-audit's JSON `report` against `pins`.

    Raises `NotAudited` if a pin or a control was not looked up, or a control counts as safe.
    """
    rows = {_name(row["name"]): row for row in report.get("dependencies", ())}
    known: dict[str, list[Json]] = {}
    for pin in (*controls, *pins):
        name, _, version = pin.partition("==")
        row = rows.get(_name(name), {})
        if row.get("version") != version or "vulns" not in row:
            raise NotAudited(
                f"{pin} was not looked up: {row.get('skip_reason') or 'the report leaves it out'}."
            )
        known[pin] = row["vulns"]
    if safe := [pin for pin in controls if not known[pin]]:
        raise NotAudited(f"{', '.join(safe)} is vulnerable and was not reported: the database holds nothing.")
    return [
        Finding(pin, vuln["id"], tuple(vuln.get("fix_versions", ()))) for pin in pins for vuln in known[pin]
    ]


def pinned(text: str) -> list[str]:
    """Return the pins of a constraints file, one `name==version` a line. Raises `NotAudited` for any other
    line."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if odd := [line for line in lines if line.count("==") != 1 or " " in line]:
        raise NotAudited(f"{odd[0]} is no pin.")
    return lines


def report_of(python: Path, pins: Sequence[str], options: Sequence[str]) -> Json:
    """Return pip-audit's report on `pins`. Raises `NotAudited` if its output cannot be read."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as asked:
        asked.write("\n".join(pins) + "\n")
        asked.flush()
        command = [python, "-m", "pip_audit", "-r", asked.name, "--disable-pip", "--no-deps", "-f", "json"]
        done = subprocess.run(
            [*command, "--progress-spinner", "off", *options],
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST_S,
        )
    try:
        return dict(json.loads(done.stdout))
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise NotAudited(f"pip-audit left with {done.returncode}: {last}") from None


def audit(options: Sequence[str]) -> list[Finding]:
    """Ask about the controls alone, then about all pins with them. Raises `NotAudited`."""
    pins = pinned((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    try:
        with environment(TOOL) as python:
            findings(report_of(python, CONTROLS, options), ())
            return findings(report_of(python, [*CONTROLS, *pins], options), pins)
    except PeersMissing as missing:
        raise NotAudited(f"pip-audit could not be installed: {missing}") from missing


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code. Findings go to stdout, and the reason for a missing audit to stderr."""
    parser = argparse.ArgumentParser(prog="make audit", description=__doc__)
    parser.add_argument("--service", choices=("pypi", "osv"), default="pypi", help="whom to ask")
    parser.add_argument("--osv-url", help="a mirror of OSV's query address, instead of OSV's own")
    given = parser.parse_args(argv)
    options = ["-s", given.service, *(["--osv-url", given.osv_url] if given.osv_url else [])]
    try:
        found = audit(options)
    except NotAudited as error:
        print(f"NOT AUDITED. {error} This says nothing about the packages.", file=sys.stderr)
        return NOT_AUDITED
    for one in found:
        print(f"{one.pin}: {one.id}, fixed in {', '.join(one.fixed_in) or 'no release yet'}")
    print(f"{len(found)} known vulnerabilities; both controls were reported ({', '.join(CONTROLS)}).")
    return VULNERABLE if found else CLEAN


def _name(name: str) -> str:
    """Return a package's name as PyPI compares it."""
    return name.lower().replace("_", "-").replace(".", "-")


if __name__ == "__main__":
    sys.exit(main())
