"""`python -m tests.lab faults.table`: write the recorded results into the table of docs/reliability.md."""

import json
from pathlib import Path

from tests.lab.bench.running import Json
from tests.lab.faults.registry import BOTH, FAULTS, Fault

ROOT = Path(__file__).resolve().parents[3]
RECORDS, PAGE = ROOT / "tests" / "lab" / "records" / "faults.json", ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"
HEAD = "| name | what is done | SQLite, embedded | PostgreSQL, Redis, Celery |\n|---|---|---|---|"
# The amount of work and its duration, shown if a row's report has them.
SIZES = {
    "writers": "{} at once",
    "rounds": "{} rounds",
    "boundaries": "{} boundaries",
    "questions": "{} model calls",
    "killed": "{} kills",
    "kills": "{} kills",
    "stops": "{} stops",
    "replays": "{} replays",
    "runs": "{} runs",
    "interrupted": "{} runs interrupted",
    "given_up": "{} given up",
    "recovery_s": "queued again within {} s",
    "begun_again_s": "begun again within {} s",
    "loops": "{} loops",
    "rows": "{} hostile rows",
    "requests": "{} requests",
    "hers": "{} requests by the one",
    "tries": "{} by the other",
    "ratio": "{} times as long",
    "worst_s": "/healthz within {} s",
    "control_s": "an idle one {} s",
    "leaving_s": "left within {} s",
    "deliveries": "{} deliveries",
    "all_s": "all done after {} s",
    "mails_missed_at": "a mail missed at {} points",
}


def main() -> None:
    """Rewrite the part of the page between the two marks."""
    page = PAGE.read_text(encoding="utf-8")
    records = json.loads(RECORDS.read_text(encoding="utf-8"))["rows"]
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{table(records)}\n{END}{after}", encoding="utf-8")


def table(records: dict[str, Json]) -> str:
    """Return a line for each fault, in the registry's order, with a cell for each way to run."""
    lines = [line(fault, records) for fault in FAULTS]
    return "\n".join([HEAD, *lines])


def line(fault: Fault, records: dict[str, Json]) -> str:
    """Return one line: the fault and its result on each stage."""
    cells = [found(records.get(f"{fault.name}@{stage}")) if stage in fault.stages else "–" for stage in BOTH]
    return f"| `{fault.name}` | {fault.work} | {' | '.join(cells)} |"


def found(record: Json | None) -> str:
    """Return sizes, targets met and date of a record. Missed targets and missing records are bold."""
    if record is None:
        return "**not measured yet**"
    report, targets = record["report"] or {}, record["targets"]
    sizes = [words.format(report[name]) for name, words in SIZES.items() if report.get(name)]
    missed = [f"**{t['metric']}: {t['value']} ({t['target']})**" for t in targets if not t["met"]]
    met = f"{len(targets) - len(missed)}/{len(targets)}"
    broke = [f"**broke: {record['error']}**"] if record["error"] else []
    return "; ".join([*sizes, met, *missed, *broke, record["at"][:10]])


if __name__ == "__main__":
    main()
