"""Preference records: rendered ones parse, files of other makers too, and bad lines have a reason."""

import json
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from itertools import pairwise

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from digest.feedback.records import (
    DAYS,
    BadLine,
    Record,
    RecordRow,
    record_parse,
    record_render,
    record_row,
    record_times,
)
from digest.models import Reader
from tests.support.factories import FeedbackFactory, ItemFactory, SourceFactory

words = st.text(min_size=1, max_size=30).map(lambda t: " ".join(t.split())).filter(bool)
topics = st.lists(words.map(lambda t: t.replace(";", ",")).map(str.strip).filter(bool), max_size=3).map(tuple)
times = st.integers(950_000_000, 4_000_000_000).map(lambda s: datetime.fromtimestamp(s, UTC))
rows = st.lists(
    st.builds(record_row, times, words, words | st.just(""), liked=st.booleans(), topics=topics), max_size=6
).map(tuple)
records = st.builds(Record, rows, words, words, topics, st.just("") | words, st.none() | st.booleans())


@given(records)
def test_a_rendered_record_parses_to_itself(record):
    again = record_parse(record_render(record))
    assert again == record
    assert again.reader == record.reader


def test_the_form_is_an_instruction_with_a_table_and_a_candidate():
    rated = record_row(datetime(2026, 3, 16, 17, 5, tzinfo=UTC), "Reuters", "Rail strike ends", liked=False)
    body = json.loads(record_render(Record((rated,), "Trains | a history", "The Economist", liked=True)))
    assert body["instruction"] == (
        "Reader's recent thumbs (oldest → newest):\n\n"
        "| idx | day | hour | source | title | thumb | date |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n"
        "| 1 | Mon | 17 | Reuters | Rail strike ends | down | 2026-03-16 |\n\n"
        "Candidate item:\n- Trains \\| a history (source: The Economist)"
    )
    assert (body["input"], body["output"], body["history"]) == ("", "Yes", [])


def test_a_file_of_food_orders_is_read_with_cuisines_for_sources():
    instruction = (
        "User recent orders (oldest → newest):\n\n"
        "| idx | day | hour | cuisine     | price |\n|-----|-----|------|-------------|\n"
        "| 1   | Mon | 17   | pizza       |  0.12 |\n| 2   | Tue | 9   | burgare |  0.06 |\n\n"
        "Candidate product:\n- Buffalo Wings (cuisine: mexikanskt, price: $0.32)"
    )
    read = record_parse(json.dumps({"instruction": instruction, "input": "", "output": "No", "history": []}))
    assert read.rows == (
        RecordRow("Mon", 17, "pizza", price="0.12"),
        RecordRow("Tue", 9, "burgare", price="0.06"),
    )
    assert (read.title, read.source, read.price, read.liked) == (
        "Buffalo Wings",
        "mexikanskt",
        "$0.32",
        False,
    )
    assert record_parse(record_render(read)) == read


TABLE = "| idx | day | hour | source |\n|-|-|-|-|\n"
CANDIDATE = "\n\n- Title (source: Reuters)"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("{", "bad_json"),
        ("[]", "bad_json"),
        ("[" * 100_000, "bad_json"),
        ("x" * 600_000, "too_long"),
        ({}, "missing_instruction"),
        ({"instruction": 7}, "missing_instruction"),
        ({"instruction": "x", "output": "Maybe"}, "bad_output"),
        ({"instruction": f"no table{CANDIDATE}"}, "missing_table"),
        ({"instruction": f"| a | b |\n|-|-|\n| 1 | 2 |{CANDIDATE}"}, "bad_table"),
        ({"instruction": f"{TABLE}| 1 | Someday | 3 | Reuters |{CANDIDATE}"}, "bad_row"),
        ({"instruction": f"{TABLE}| 1 | Mon | 24 | Reuters |{CANDIDATE}"}, "bad_row"),
        ({"instruction": f"{TABLE}| 1 | Mon |{CANDIDATE}"}, "bad_row"),
        ({"instruction": f"{TABLE}" + "| 1 | Mon | 3 | Reuters |\n" * 2001 + CANDIDATE}, "too_many_rows"),
        ({"instruction": f"{TABLE}| 1 | Mon | 3 | Reuters |"}, "missing_candidate"),
        ({"instruction": f"{TABLE}| 1 | Mon | 3 | Reuters |\n- Title without a source"}, "missing_candidate"),
    ],
)
def test_an_invalid_record_has_a_code(body, code):
    with pytest.raises(BadLine) as caught:
        record_parse(body if isinstance(body, str) else json.dumps(body))
    assert caught.value.code == code


def test_a_date_must_be_of_its_day():
    line = record_render(
        Record((RecordRow("Mon", 3, "Reuters", date=date(2026, 3, 17)),), "Title", "Reuters")
    )
    with pytest.raises(BadLine, match="is no Mon"):
        record_parse(line)


def test_rows_without_dates_get_the_latest_times_that_keep_the_order():
    until = datetime(2026, 3, 18, 12, 30, tzinfo=UTC)  # a Wednesday
    rated = [RecordRow("Wed", 13, "a"), RecordRow("Mon", 9, "a"), RecordRow("Wed", 12, "a")]
    assert record_times(rated, until) == [
        datetime(2026, 3, 11, 13, tzinfo=UTC),
        datetime(2026, 3, 16, 9, tzinfo=UTC),
        datetime(2026, 3, 18, 12, tzinfo=UTC),
    ]


@given(
    st.lists(st.builds(RecordRow, st.sampled_from(DAYS), st.integers(0, 23), st.just("a")), max_size=12),
    times,
)
def test_times_are_in_order_and_not_in_the_future(rated, until):
    found = record_times(rated, until)
    assert found == sorted(found) and all(at <= until for at in found)
    assert all(
        DAYS[at.weekday()] == row.day and at.hour == row.hour for at, row in zip(found, rated, strict=True)
    )
    assert all(later - at <= timedelta(days=7) for at, later in pairwise(found))


def test_the_same_history_is_the_same_reader_for_any_candidate():
    rated = (record_row(datetime(2026, 3, 16, 17, tzinfo=UTC), "Reuters", "Rail strike ends"),)
    assert Record(rated, "A", "B").reader == Record(rated, "C", "D", liked=True).reader
    assert Record(rated, "A", "B").reader != Record((*rated, *rated), "A", "B").reader


# --- export and import of readers' histories ---------------------------------------------------------------


def run(command: str, *args: str) -> str:
    out = StringIO()
    call_command(command, *args, stdout=out)
    return out.getvalue()


def rate_daily(reader: Reader, now: datetime, ratings: int) -> None:
    source = SourceFactory(key="reuters.example")
    for n in range(ratings):
        FeedbackFactory(
            reader=reader,
            item=ItemFactory(source=source, title=f"Item | {n}"),
            useful=n % 3 != 0,
            at=now - timedelta(days=ratings - n),
        )


def test_an_exported_history_is_imported_unchanged(ada, now, tmp_path):
    rate_daily(ada, now, 13)
    file = tmp_path / "records.jsonl"
    file.write_text(run("export_records", "--user-id", str(ada.pk), "--history", "12"))
    report = json.loads(run("import_records", str(file), "--json"))
    assert (report["lines"], report["records"], report["rejected"], report["imported"]) == (1, 1, 0, 13)
    (name,) = report["reader_ids"]
    assert name == record_parse(file.read_text()).reader
    came = Reader.objects.get(username=name).feedback.order_by("at")
    own = ada.feedback.order_by("at")
    fields = ("item__title", "item__source_id", "useful")
    assert list(came.values_list(*fields)) == list(own.values_list(*fields))
    assert json.loads(run("import_records", str(file), "--json"))["imported"] == 0


def test_an_export_asks_about_the_newest_ratings_and_names_nobody(ada, now):
    rate_daily(ada, now, 20)
    records = run("export_records", "--user-id", str(ada.pk)).splitlines()
    assert [record_parse(line).title for line in records] == [f"Item | {n}" for n in range(15, 20)]
    assert all(len(record_parse(line).rows) == 10 for line in records)
    assert not any("ada" in line or str(ada.pk) in line for line in records)


def test_bad_lines_are_listed_with_a_reason_and_the_rest_is_imported(db, tmp_path, capsys):
    good = record_render(
        Record((record_row(datetime(2026, 3, 16, 17, tzinfo=UTC), "A", "One"),), "Two", "B", liked=True)
    )
    file = tmp_path / "records.jsonl"
    file.write_text(f"nonsense\n\n{good}\n{{}}\n")
    with pytest.raises(CommandError, match="2 were rejected"):
        call_command("import_records", str(file), "--json")
    report = json.loads(capsys.readouterr().out)
    assert (report["records"], report["rejected"], report["imported"]) == (1, 2, 2)
    assert [(row["line"], row["code"]) for row in report["rejects"]] == [
        (1, "bad_json"),
        (4, "missing_instruction"),
    ]
    rejects = (tmp_path / "records.jsonl.rejects").read_text().splitlines()
    assert [line.split("\t")[1] for line in rejects] == ["bad_json", "missing_instruction"]
    with pytest.raises(CommandError):
        call_command("import_records", str(file))
    assert "[bad_json]" in capsys.readouterr().out


def test_a_missing_file_is_a_usage_error(db, tmp_path):
    with pytest.raises(CommandError) as caught:
        run("import_records", str(tmp_path / "none"))
    assert caught.value.returncode == 2
