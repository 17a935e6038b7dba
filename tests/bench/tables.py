"""Records as Markdown: where each figure comes from, what it should be, and the rows behind it.

Figures are written as the records hold them, never rounded again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.bench.entities import Row

Json = Mapping[str, Any]
# Lists that are drawn, not printed.
SERIES = ("uplift_by_week", "calibration_bins", "by_threshold")
# A row with more figures than this is told in a line of its own.
COLUMNS_MAX = 12
# Rows of unlike figures share a table of at most so many columns.
MIXED_MAX = 8
# Others on the machine are worth a word from this share of its processors on.
BUSY = 0.1
# What the advisor's rows are about; they have many more figures.
ADVISOR = {
    "name": "row",
    "readers": "readers",
    "uplift": "uplift",
    "uplift_95": "95 %",
    "captured": "of oracle",
    "suggestions_per_reader": "asked per reader",
    "precision_accepted": "accepted that help",
    "harmful_accepted": "harmful accepted",
    "null_rate": "per null reader and week",
    "coverage": "got one by week 6",
    "ece": "ECE",
}
OPEN = {
    "name": "row",
    "readers": "readers",
    "skipped_thin": "skipped: too little",
    "silent": "silent",
    "advised": "advised",
    "suggestions": "suggestions",
    "precision": "help",
    "harmful": "harmful",
    "uplift": "uplift",
}


def missing(row: Row, record: Json | None) -> str:
    """Why there are no figures of a row; empty where there are."""
    if record is None:
        return f"Not recorded yet: `python -m tests.bench {row.name}` measures it."
    if record["error"]:
        return f"**Broke when last run ({day(record)}): {cell(record['error'])}**"
    return ""


def source(record: Json) -> str:
    """The command, its data and seed, the day and the machine of a record's figures."""
    host = record["machine"]
    parts = [
        f"`{record['command']}`",
        f"data: {record['data']}",
        seeds(record["seed"]),
        day(record),
        f"{host['cpus']} cores, Python {host['python']}",
        f"{record['seconds']} s",
        busy(record),
    ]
    peers = [f"{name} {found}" for name, found in record["versions"].items() if name in PEER_NAMES]
    said = "; ".join(part for part in [*parts, ", ".join(peers)] if part)
    return (
        f"{said}.{' **A quick run: it shows that it runs and measures nothing.**' if record['quick'] else ''}"
    )


PEER_NAMES = ("implicit", "openai-agents", "pydantic-ai-slim", "reader")


def seeds(found: int | Sequence[int] | None) -> str:
    """The seed or seeds, a range where they follow one another."""
    if found is None:
        return "no seed"
    if isinstance(found, int):
        return f"seed {found}"
    if list(found) == list(range(found[0], found[-1] + 1)):
        return f"seeds {found[0]} to {found[-1]}"
    return f"seeds {', '.join(map(str, found))}"


def day(record: Json) -> str:
    """When it was measured, to the minute."""
    return f"{record['at'][:16].replace('T', ' ')} UTC"


def busy(record: Json) -> str:
    """What else the machine did meanwhile; nothing worth a word on a quiet one."""
    others = record.get("others")
    if others is None:
        return f"load {record['load']} at the start"
    return f"others used {others:.0%} of the processors" if others >= BUSY else "quiet machine"


def speed_table(rows: Sequence[Row], records: Mapping[str, Json]) -> str:
    """A line for each target of a group: work, beside what, target, measured, when and how busy."""
    lines = ["| work | beside | measure | target | measured | when |", "|---|---|---|---|---|---|"]
    for row in rows:
        record, start = records.get(row.name), f"| {row.work} | {row.beside} |"
        if why := missing(row, record):
            lines.append(f"{start} {why} | | | |")
            continue
        for target in record["targets"] if record else ():
            said = f"{cell(target['metric'])} | {cell(target['target'])} | {value(target)}"
            when = f"{day(record)}, {busy(record)}" if record else ""
            lines.append(f"{start} {said} | {when} |")
            start = "| | |"
    return "\n".join(lines)


def again_table(rows: Sequence[Row], records: Mapping[str, Json]) -> str:
    """What was measured twice: before, now, whether the conclusion stands; what came out alike is counted."""
    lines = ["| work | measure | target | before | now | the conclusion |", "|---|---|---|---|---|---|"]
    for row in rows:
        record = records.get(row.name) or {}
        if record.get("quick"):
            continue
        before = {target["metric"]: target for target in record.get("before", {}).get("targets", [])}
        pairs = [(before[t["metric"]], t) for t in record.get("targets", []) if t["metric"] in before]
        if not pairs:
            continue
        apart = [(old, new) for old, new in pairs if old["value"] != new["value"]]
        start = f"| {row.work}, {day(record['before'])} and {day(record)} |"
        for old, new in apart:
            same = "the same" if old["met"] == new["met"] else "**another**"
            about = f"{cell(new['metric'])} | {cell(new['target'])}"
            lines.append(f"{start} {about} | {value(old)} | {value(new)} | {same} |")
            start = "| |"
        if alike := len(pairs) - len(apart):
            lines.append(f"{start} {alike} figures | | | | the same to the last digit |")
    return "\n".join(lines) if len(lines) > 2 else "Nothing was measured twice yet."


def section(row: Row, record: Json | None) -> str:
    """All of one record: its source, targets and rows."""
    if record is None or missing(row, record):
        return missing(row, record)
    parts = [source(record), targets_table(record)]
    report = record["report"]
    rows = [dict(one) for one in report.get("rows", []) if isinstance(one, Mapping)]
    if row.name == "advisor":
        simulated = [one for one in rows if "via" in one]
        opened = [one for one in rows if "via" not in one and ("advised" in one or "precision" in one)]
        rest = [one for one in rows if one not in simulated and one not in opened]
        parts += [table(simulated, ADVISOR), table(opened, OPEN), told(rest)]
    else:
        parts += grouped(rows)
    heads = {k: v for k, v in report.items() if k not in NOT_TOLD and not isinstance(v, list | Mapping)}
    parts.append(", ".join(f"{words(k)} {cell(v)}" for k, v in heads.items()))
    parts += [f"{words(k)}: {cell(v)}" for k, v in report.items() if isinstance(v, Mapping)]
    return "\n\n".join(part for part in parts if part)


# Of a report what its record says already, or what is a table.
NOT_TOLD = (
    *("command", "data", "seed", "at", "when", "python", "cpus", "load", "machine", "seconds", "rows"),
    *("targets", "cpu_seconds"),
)


def targets_table(record: Json) -> str:
    """Each target and what was measured; bold what is missed."""
    if not record["targets"]:
        return ""
    lines = ["| target | | measured |", "|---|---|---|"]
    return "\n".join(
        [*lines, *(f"| {cell(t['metric'])} | {cell(t['target'])} | {value(t)} |" for t in record["targets"])]
    )


def value(target: Json) -> str:
    """What was measured, bold where the target is missed."""
    said = cell(target["value"])
    return said if target["met"] else f"**{said}**"


def grouped(rows: Sequence[Json]) -> list[str]:
    """Rows that have a figure in common as one table each; those with very many figures as lines."""
    groups: list[tuple[dict[str, str], list[Json]]] = []
    for row in rows:
        columns = {key: words(key) for key in row if key not in SERIES}
        for seen, mine in groups:
            if seen == columns or (
                columns.keys() & seen.keys() - {"name"} and len(seen | columns) <= MIXED_MAX
            ):
                seen |= columns
                mine.append(row)
                break
        else:
            groups.append((columns, [row]))
    return [told(mine) if len(columns) > COLUMNS_MAX else table(mine, columns) for columns, mine in groups]


def table(rows: Sequence[Json], columns: Mapping[str, str]) -> str:
    """A Markdown table; empty of no rows."""
    if not rows:
        return ""
    lines = [f"| {' | '.join(columns.values())} |", "|" + "---|" * len(columns)]
    return "\n".join([*lines, *(f"| {' | '.join(cell(r.get(key)) for key in columns)} |" for r in rows)])


def told(rows: Sequence[Json]) -> str:
    """Each row in a line."""
    lines = []
    for row in rows:
        figures = ", ".join(
            f"{words(k)} {cell(v)}" for k, v in row.items() if k != "name" and k not in SERIES
        )
        lines.append(f"- {cell(row.get('name', 'row'))}: {figures}")
    return "\n".join(lines)


def words(key: str) -> str:
    """A figure's name for people."""
    return key.replace("_ci95", " ±").replace("_95", " (95 %)").replace("_", " ")


def cell(found: object) -> str:
    """A value as it stands in a cell."""
    if found is None:
        return "–"
    if isinstance(found, bool):
        return "yes" if found else "no"
    if isinstance(found, int):
        return f"{found:,}"
    if isinstance(found, list | tuple):
        return " / ".join(cell(one) for one in found)
    if isinstance(found, Mapping):
        return ", ".join(f"{words(str(key))} {cell(one)}" for key, one in found.items()) or "–"
    return str(found).replace("|", "\\|").replace("\n", " ")
