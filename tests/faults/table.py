"""`python -m tests.faults.table`: puts what was recorded into the table of docs/faults.md."""

import json
from pathlib import Path

from tests.bench.running import Json
from tests.faults.registry import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[2]
RECORDS, PAGE = ROOT / "docs" / "benchmarks" / "faults.json", ROOT / "docs" / "faults.md"
BEGIN, END = "<!-- figures: `python -m tests.faults.table` -->", "<!-- end of figures -->"
HEAD = (
    "| what was done | on | what was found | how much of it | when, by which command |\n|---|---|---|---|---|"
)
STAGES = {"sqlite": "SQLite, embedded", "services": "PostgreSQL, Redis, Celery"}
# How much was done, and what it took: shown where a row's report has it.
SIZES = {
    "writers": "{} at once",
    "rounds": "{} rounds",
    "boundaries": "{} boundaries",
    "questions": "{} questions to a model",
    "killed": "{} kills",
    "replays": "{} replays",
    "others": "{} other bodies",
    "runs": "{} runs",
    "interrupted": "{} runs interrupted",
    "begun_again_s": "begun again after {} s at most",
    "deliveries": "{} deliveries",
    "all_s": "all done after {} s",
    "mails_missed_at": "a mail missed at {} points",
}


def main() -> None:
    """Rewrite what stands between the two marks."""
    page = PAGE.read_text(encoding="utf-8")
    records = json.loads(RECORDS.read_text(encoding="utf-8"))["rows"]
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{table(records)}\n{END}{after}", encoding="utf-8")


def table(records: dict[str, Json]) -> str:
    """A line for each row and way to run, in the registry's order."""
    lines = [
        line(fault, stage, records.get(f"{fault.name}@{stage}")) for fault in FAULTS for stage in fault.stages
    ]
    return "\n".join([HEAD, *lines])


def line(fault: Fault, stage: str, record: Json | None) -> str:
    """One line; what missed its target stands out, and what was never recorded says so."""
    if record is None:
        return f"| {fault.work} | {STAGES[stage]} | **not measured yet** | | |"
    report = record["report"] or {}
    sizes = [words.format(report[name]) for name, words in SIZES.items() if name in report]
    found = [figure(target) for target in record["targets"]] or [f"**broke: {record['error']}**"]
    told = (fault.work, STAGES[stage], "; ".join(found), ", ".join(sizes), origin(record))
    return "| " + " | ".join(told) + " |"


def figure(target: Json) -> str:
    """A figure and its target."""
    words = f"{target['metric']}: {target['value']} ({target['target']})"
    return words if target["met"] else f"**{words}**"


def origin(record: Json) -> str:
    """Date, command, time taken, and how much of the machine others had meanwhile."""
    took = f"{record['seconds']:.0f} s, others used {record['others'] or 0:.0%}"
    return f"{record['at'][:10]}, `{record['command']}`, {took}"


if __name__ == "__main__":
    main()
