"""docs/benchmarks.md shows the benchmarks' records, and leaves no loss out."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.lab.bench.__main__ import chosen, keep, lines, recorded
from tests.lab.bench.book import WIDTH, book_text
from tests.lab.bench.entities import Aim, Row
from tests.lab.bench.peers import PeersMissing
from tests.lab.bench.registry import BY_NAME, EVALUATIONS, ROWS, SPEED
from tests.lab.bench.report import FOLDER, PAGE, RECORDS, loses, missed, records_read
from tests.lab.bench.running import row_run

REPORT = {"rows": [{"name": "ours", "ms": 12.5}, {"name": "peer", "ms": 31.25}], "ratio": 0.4}
# Rows that the page need not mention, because their records are complete.
RECORDED_ONLY: set[str] = set()
PATHS = re.compile(r"(?<![\w.])/(work|tmp|home|root|var)/")


def printing(report: dict, *, code: int = 0, aims: tuple[Aim, ...] = ()) -> Row:
    """Return a row whose command prints `report` after some noise, and exits with `code`."""
    script = f"print('noise'); print({json.dumps(json.dumps(report))}); raise SystemExit({code})"
    return Row("made", SPEED, "some work", "a peer", ("-c", script), aims, data="made here", seed=7)


def record(row: Row, *, met: bool = True, value: float = 0.4, **more) -> dict:
    """Return the record of a run of `row`."""
    return {
        **{"name": row.name, "group": row.group, "work": row.work, "beside": row.beside, "data": row.data},
        "command": f"python -m tests.lab bench.{row.name} --json",
        "seed": row.seed,
        "quick": False,
        "at": "2026-03-18T12:30:00+00:00",
        "machine": {"cpus": 2, "architecture": "x86_64", "system": "Linux", "python": "3.11.7"},
        **{"load": 0.2, "seconds": 3.5, "others": 0.02, "versions": {}, "error": ""},
        "targets": [{"metric": "ratio", "target": "≤ 0.5", "value": value, "met": met}],
        "report": REPORT,
    } | more


@pytest.fixture(scope="module")
def made() -> dict:
    """Return the record of a row that ran in its own process."""
    aims = (Aim("ratio", "ratio", False, 0.5), Aim("ours, ms", "rows.0.ms", False, 10.0))
    return row_run(printing(REPORT, code=1, aims=aims), sys.executable, quick=False)


def test_a_row_is_recorded_with_its_command_data_seed_day_machine_and_versions(made):
    assert made["command"].startswith("python -c") and made["command"].endswith("--json")
    assert (made["data"], made["seed"], made["report"], made["error"]) == ("made here", 7, REPORT, "")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", made["at"])
    assert made["machine"]["cpus"] and made["versions"]["django"]


def test_a_missed_target_is_no_failure_of_its_row(made):
    assert [(t["value"], t["met"]) for t in made["targets"]] == [(0.4, True), (12.5, False)]
    assert "MISSED" in lines(made)[1] and "MISSED" not in lines(made)[0]


def test_a_row_that_breaks_says_how_and_names_no_path():
    script = "import sys; sys.exit('cannot read ' + sys.prefix + '/there')"
    broken = row_run(replace(printing({}), command=("-c", script)), sys.executable, quick=False)
    assert "cannot read …/there" in broken["error"] and sys.prefix not in json.dumps(broken)
    assert (broken["report"], broken["targets"]) == (None, [])


def test_a_command_that_prints_no_report_broke():
    mute = replace(printing({}), command=("-c", "print('no figures today')"))
    assert "no report: no figures today" in row_run(mute, sys.executable, quick=False)["error"]


def test_a_row_that_needs_open_data_says_so_without_it(monkeypatch):
    monkeypatch.delenv("TIDINGS_DATA", raising=False)
    row = replace(printing(REPORT), open_data=True)
    assert "TIDINGS_DATA is not set" in row_run(row, sys.executable, quick=False)["error"]


def test_without_peers_their_rows_break_and_say_why():
    told = recorded(BY_NAME["turn"], PeersMissing("no such package"), quick=False)
    assert "no such package" in told["error"]
    assert "BROKE" in lines(told)[0]


def test_a_row_without_the_other_it_is_measured_beside_says_so():
    alone = record(BY_NAME["sync"], report={"missing": "FreshRSS was not measured"}, targets=[])
    assert "FreshRSS was not measured" in lines(alone)[0] and "BROKE" not in lines(alone)[0]


def test_a_figure_that_is_missing_meets_nothing():
    assert not Aim("gone", "rows.3.ms", False, 10.0).held(REPORT)["met"]


def test_the_ranking_bench_runs_as_registered():
    told = row_run(BY_NAME["rank"], sys.executable, quick=True)
    assert told["error"] == "" and told["quick"]
    assert told["targets"][0]["value"] == told["report"]["times_floor"] > 0


def test_names_and_groups_choose_rows_in_the_registrys_order():
    assert [row.name for row in chosen(["rank", "ingest"])] == ["ingest", "rank"]
    assert {row.group for row in chosen([EVALUATIONS])} == {EVALUATIONS}


def test_recording_one_row_keeps_the_others(tmp_path):
    path = tmp_path / "new" / "bench.json"
    for name, value in (("rank", 1.0), ("cost", 2.0), ("rank", 3.0)):
        keep(path, record(BY_NAME[name], value=value))
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert {name: row["targets"][0]["value"] for name, row in rows.items()} == {"rank": 3.0, "cost": 2.0}


def test_a_second_run_keeps_what_the_first_one_found(tmp_path):
    path, row = tmp_path / "bench.json", BY_NAME["rank"]
    keep(path, record(row, value=0.41, at="2026-03-17T08:00:00+00:00"))
    keep(path, record(row, value=0.52, met=False))
    for before, now in ((0.41, 0.52), (0.52, 0.55), (0.55, 0.55)):
        found = records_read(tmp_path)["rank"]
        assert (found["before"]["targets"][0]["value"], found["targets"][0]["value"]) == (before, now)
        keep(path, record(row, value=0.55, met=False))


@pytest.mark.parametrize("left", [{"error": "exit code 2"}, {"quick": True}])
def test_a_run_that_measured_nothing_is_no_second_run(tmp_path, left):
    path, row = tmp_path / "bench.json", BY_NAME["rank"]
    keep(path, record(row, **left))
    keep(path, record(row))
    assert "before" not in records_read(tmp_path)["rank"]


def test_what_was_never_recorded_is_listed_among_the_losses():
    listed = loses({}).splitlines()
    assert len(listed) == sum(row.group in (SPEED, EVALUATIONS) for row in ROWS)
    assert all("not recorded; `python -m tests.lab bench " in line for line in listed)


def test_a_row_that_broke_is_listed_among_the_losses():
    broken = record(BY_NAME["rank"], error="exit code 2: no numpy", report=None, targets=[])
    assert "broke when last run (2026-03-18 12:30 UTC" in loses({"rank": broken})
    assert "no numpy" in loses({"rank": broken})


def test_a_missed_target_is_listed_with_its_command_and_day():
    row = BY_NAME["rank"]
    for met in (True, False):
        told = loses({"rank": record(row, met=met, value=0.77)})
        assert ("ratio is **0.77**, the target ≤ 0.5 (`python -m tests.lab bench.rank" in told) is not met
    assert "quiet machine" in told
    assert "others used 61%" in loses({"rank": record(row, met=False, others=0.61)})


def test_every_missed_target_of_the_records_is_on_the_page():
    page, records = PAGE.read_text(encoding="utf-8"), records_read(RECORDS)
    absent = [
        f"{row.name}: {target['metric']} **{target['value']}**"
        for row in ROWS
        if row.group in (SPEED, EVALUATIONS)
        for target in missed(records[row.name])
        if f"**{target['value']}**" not in page
    ]
    assert absent == []


def test_every_row_of_the_records_is_named_on_the_page():
    page, records = PAGE.read_text(encoding="utf-8"), records_read(RECORDS)
    absent = [
        name
        for name in records
        if name in BY_NAME and not any(f"`{lab}" in page for lab in labs(BY_NAME[name]))
    ]
    assert set(absent) == RECORDED_ONLY


def labs(row: Row) -> tuple[str, str]:
    """Return the two ways in which the page may name a row: `bench rank`, or its own door with its
    options."""
    own = [word for word in row.command[2:] if word not in ("--readers", "0")]
    return f"bench {row.name}", " ".join(own)


def test_the_seed_of_the_report_counts_before_the_registrys():
    assert row_run(printing({"seed": [1, 2]}), sys.executable, quick=False)["seed"] == [1, 2]


def test_the_newest_record_of_a_row_counts(tmp_path):
    old, new = (
        record(BY_NAME["rank"], value=1.0),
        record(BY_NAME["rank"], value=2.0, at="2026-04-01T00:00:00"),
    )
    keep(tmp_path / "a.json", new)
    keep(tmp_path / "b.json", old)
    assert records_read(tmp_path)["rank"]["targets"][0]["value"] == 2.0


def test_records_and_plots_name_no_machine():
    for path in [*RECORDS.glob("*.json"), *FOLDER.glob("*.svg"), PAGE]:
        assert not PATHS.search(path.read_text(encoding="utf-8")), path.name


def test_a_book_of_records_keeps_its_figures_and_drops_single_events():
    book = {"rows": {"a": {"at": "now", "targets": [{"value": 1.5}] * 40, "report": {"slow": [1] * 99}}}}
    text = book_text(book)
    assert json.loads(text) == {"rows": {"a": {"at": "now", "targets": [{"value": 1.5}] * 40, "report": {}}}}
    assert len(text.splitlines()) < 20 and max(map(len, text.splitlines())) <= WIDTH


@pytest.mark.parametrize("path", sorted(RECORDS.rglob("*.json")), ids=lambda path: path.stem)
def test_a_record_is_stored_as_a_summary(path: Path):
    text = path.read_text(encoding="utf-8")
    assert text == book_text(json.loads(text))
