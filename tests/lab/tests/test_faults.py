"""docs/reliability.md shows the recorded results."""

import json

from tests.lab.faults.registry import FAULTS
from tests.lab.faults.table import PAGE, RECORDS, table


def test_the_page_shows_what_was_recorded_and_nothing_else():
    records = json.loads(RECORDS.read_text(encoding="utf-8"))["rows"]
    assert table(records) in PAGE.read_text(encoding="utf-8"), "run `python -m tests.lab faults.table`"
    assert set(records) <= {f"{fault.name}@{stage}" for fault in FAULTS for stage in fault.stages}
