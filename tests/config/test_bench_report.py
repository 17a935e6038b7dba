"""Benchmarks' records and the page made of them: nothing without its origin, nothing missing in silence."""

import json
import re
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.__main__ import chosen, keep, lines, recorded
from tests.bench.entities import Aim, Row
from tests.bench.peers import PeersMissing
from tests.bench.registry import BY_NAME, EVALUATIONS, ROWS, SPEED
from tests.bench.report import FOLDER, PAGE, loses, page, records_read
from tests.bench.running import row_run
from tests.bench.tables import again_table, cell, grouped, section, speed_table

REPORT = {"rows": [{"name": "ours", "ms": 12.5}, {"name": "peer", "ms": 31.25}], "ratio": 0.4}
PATHS = re.compile(r"(?<![\w.])/(work|tmp|home|root|var)/")


def printing(report: dict, *, code: int = 0, aims: tuple[Aim, ...] = ()) -> Row:
    """A row whose command prints `report` after some noise, and leaves with `code`."""
    script = f"print('noise'); print({json.dumps(json.dumps(report))}); raise SystemExit({code})"
    return Row("made", SPEED, "some work", "a peer", ("-c", script), aims, data="made here", seed=7)


def record(row: Row, *, met: bool = True, value: float = 0.4, **more) -> dict:
    """What a run of `row` would leave."""
    return {
        **{"name": row.name, "group": row.group, "work": row.work, "beside": row.beside, "data": row.data},
        "command": f"python -m tests.bench.{row.name} --json",
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
    """A row that ran, in a process of its own."""
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
    told = again_table(ROWS, records_read(tmp_path))
    assert "2026-03-17 08:00 UTC and 2026-03-18 12:30 UTC" in told
    assert "| ratio | ≤ 0.5 | 0.41 | **0.52** | **another** |" in told
    keep(path, record(row, value=0.55, met=False))
    assert "| **0.52** | **0.55** | the same |" in again_table(ROWS, records_read(tmp_path))
    keep(path, record(row, value=0.55, met=False))
    assert "| 1 figures | | | | the same to the last digit |" in again_table(ROWS, records_read(tmp_path))


@pytest.mark.parametrize("left", [{"error": "exit code 2"}, {"quick": True}])
def test_a_run_that_measured_nothing_is_no_second_run(tmp_path, left):
    path, row = tmp_path / "bench.json", BY_NAME["rank"]
    keep(path, record(row, **left))
    keep(path, record(row))
    assert again_table(ROWS, records_read(tmp_path)) == "Nothing was measured twice yet."


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_figure_on_the_page_has_its_command_data_seed_and_day(row):
    told = section(row, record(row))
    for origin in (f"tests.bench.{row.name}", row.data, "2026-03-18 12:30 UTC", "2 cores", "12.5", "31.25"):
        assert origin in told
    assert (f"seed {row.seed}" if row.seed is not None else "no seed") in told


def test_what_was_never_recorded_is_said_row_by_row():
    told = page({}, FOLDER)
    for row in ROWS:
        said = section(row, None)
        assert f"Not recorded yet: `python -m tests.bench {row.name}`" in said
        assert row.group not in (SPEED, EVALUATIONS) or said in told
    assert "Not known: " in told


def test_a_row_that_broke_is_said_where_its_figures_would_be():
    broken = record(BY_NAME["rank"], error="exit code 2: no numpy", report=None, targets=[])
    told = page({"rank": broken}, FOLDER)
    assert "no numpy" in section(BY_NAME["rank"], broken)
    assert told.count("no numpy") >= 3, "in the table, in its section and among the losses"


def test_missed_targets_are_bold_and_listed_where_tidings_loses():
    row = BY_NAME["rank"]
    for met in (True, False):
        records = {"rank": record(row, met=met, value=0.77)}
        assert ("**0.77**" in loses(records)) is not met
        assert ("**0.77**" in speed_table([row], records)) is not met
        assert "0.77" in speed_table([row], records)


def test_rows_that_share_a_figure_share_a_table():
    rows = [{"name": "ours", "ms": 1, "steps": 2}, {"name": "theirs", "ms": 3}, {"name": "apart", "usd": 4}]
    mixed, apart = grouped(rows)
    assert "| theirs | 3 | – |" in mixed and "apart" not in mixed
    assert apart.splitlines()[-1] == "| apart | 4 |"


def test_seeds_that_follow_one_another_are_told_as_a_range():
    row = BY_NAME["rank"]
    for found, told in (
        ([42, 43, 44], "seeds 42 to 44;"),
        ([1, 7], "seeds 1, 7;"),
        (20260318, "seed 20260318;"),
    ):
        assert told in section(row, record(row, seed=found))


def test_the_seed_of_the_report_counts_before_the_registrys():
    assert row_run(printing({"seed": [1, 2]}), sys.executable, quick=False)["seed"] == [1, 2]


def test_a_busy_machine_and_a_quick_run_are_said():
    row = BY_NAME["rank"]
    assert "others used 61%" in section(row, record(row, others=0.61))
    assert "quiet machine" in section(row, record(row))
    assert "measures nothing" in section(row, record(row, quick=True))


@given(
    value=st.one_of(
        st.integers(-(10**9), 10**9),
        st.floats(allow_nan=False, allow_infinity=False),
        st.none(),
        st.text("|\n a"),
    )
)
def test_a_cell_says_what_the_record_holds(value):
    said = cell(value)
    assert not re.search(r"(?<!\\)\||\n", said), "would break the table"
    if isinstance(value, int | float):
        assert float(said.replace(",", "")) == value


def test_the_newest_record_of_a_row_counts(tmp_path):
    old, new = (
        record(BY_NAME["rank"], value=1.0),
        record(BY_NAME["rank"], value=2.0, at="2026-04-01T00:00:00"),
    )
    keep(tmp_path / "a.json", new)
    keep(tmp_path / "b.json", old)
    assert records_read(tmp_path)["rank"]["targets"][0]["value"] == 2.0


def test_the_page_is_what_the_records_make_of_it():
    assert PAGE.read_text(encoding="utf-8") == page(records_read(FOLDER), FOLDER), "run `make report`"


def test_records_and_plots_name_no_machine():
    for path in [*FOLDER.glob("*.json"), *FOLDER.glob("*.svg"), PAGE]:
        assert not PATHS.search(path.read_text(encoding="utf-8")), path.name
