"""Histories go in once, whole, and the latest word wins."""

import json
import subprocess
import sys
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from digest.history import BadLine, thumb_read
from digest.models import Feed, Feedback, Item, Reader, Subscription
from digest.services.importing import feedback_import
from digest.taxonomy import reason_tags_map

GOOD = {
    "reader": "ada-imported",
    "url": "https://rivers.example/a?utm_source=x",
    "title": "Rain",
    "text": "It rained.",
    "source": "Rivers Daily",
    "published": "2026-03-10T08:00:00+01:00",
    "useful": 1,
    "reason_tags": ["In-Depth", "hype", "my own words"],
    "at": "2026-03-11T09:00:00Z",
}


def line(**changes: object) -> str:
    return json.dumps(GOOD | changes)


@pytest.mark.django_db
def test_one_line_brings_reader_source_subscription_item_and_thumb(now):
    report = feedback_import(lines=[line()], now=now)
    thumb = Feedback.objects.select_related("item", "reader").get()
    assert (report.imported, report.sources, report.items, report.unmapped_tags) == (1, 1, 1, 1)
    assert report.reader_ids == {"ada-imported": str(thumb.reader_id)}
    assert not thumb.reader.has_usable_password()
    assert (thumb.item.url, thumb.item.source_id) == ("https://rivers.example/a", "rivers daily")
    assert set(thumb.tags.values_list("slug", flat=True)) == {"depth", "hype"}
    assert (thumb.other_reasons, thumb.has_reason) == (["my own words"], True)
    assert thumb.day == int(thumb.at.timestamp() // 86400)
    feed = Feed.objects.get(subscriptions__reader=thumb.reader)
    assert (feed.url, feed.state) == ("urn:tidings:source:rivers daily", Feed.State.IMPORTED)


@pytest.mark.django_db
def test_again_changes_nothing_and_a_later_thumb_wins_over_an_earlier_one(now):
    feedback_import(lines=[line()], now=now)
    again = feedback_import(lines=[line(), line(useful=0, at="2026-03-01T00:00:00Z")], now=now)
    assert (again.imported, again.updated, again.unchanged, Feedback.objects.get().useful) == (0, 0, 2, True)
    later = line(useful=0, at="2026-03-12T00:00:00Z", reason_tags=["clickbait"])
    assert feedback_import(lines=[later, line()], now=now).updated == 1
    thumb = Feedback.objects.get()
    assert (thumb.useful, list(thumb.tags.values_list("slug", flat=True))) == (False, ["clickbait"])
    assert (Item.objects.count(), Subscription.objects.count(), Reader.objects.count()) == (1, 1, 1)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"reader": ""}, "missing_reader"),
        ({"reader": "x" * 151}, "bad_reader"),
        ({"reader": 5}, "bad_reader"),
        ({"url": "javascript:alert(1)"}, "bad_url"),
        ({"title": "", "text": None}, "missing_title"),
        ({"source": " "}, "missing_source"),
        ({"useful": 2}, "bad_useful"),
        ({"useful": None}, "bad_useful"),
        ({"at": "2026-03-11T09:00:00"}, "bad_at"),
        ({"at": "yesterday"}, "bad_at"),
        ({"at": "0001-01-01T00:00:00+14:00"}, "bad_at"),
        ({"published": "soon"}, "bad_published"),
        ({"reason_tags": "hype"}, "bad_reason_tags"),
    ],
)
def test_a_bad_line_says_which_field_is_wrong(changes: dict[str, object], code: str):
    with pytest.raises(BadLine) as bad:
        thumb_read(line(**changes))
    assert bad.value.code == code


@given(
    st.text(max_size=60) | st.dictionaries(st.sampled_from(list(GOOD)), st.text(max_size=9)).map(json.dumps)
)
def test_no_line_breaks_the_reading(text: str):
    try:
        thumb_read(text)
    except BadLine as bad:
        assert bad.code and bad.reason


@pytest.mark.parametrize(
    ("useful", "read"), [(1, True), (0, False), (True, True), (False, False), ("true", True)]
)
def test_useful_may_be_written_in_several_ways(useful: object, read: bool):
    assert thumb_read(line(useful=useful)).useful is read


@pytest.mark.django_db
def test_reasons_outside_the_taxonomy_are_kept_short_and_few():
    slugs, others = reason_tags_map(["DEPTH", "in depth", "x" * 200, *(f"own {n}" for n in range(20))])
    assert slugs == ("depth",)
    assert len(others) == 8 and max(map(len, others)) == 64


@pytest.mark.django_db
def test_the_command_prints_one_object_and_writes_what_it_rejected(tmp_path: Path):
    source = tmp_path / "history.jsonl"
    source.write_text(f"{line()}\nnonsense\n\n{line(url='')}\n")
    out = StringIO()
    call_command("import_feedback", str(source), "--json", stdout=out, skip_checks=True)
    report = json.loads(out.getvalue())
    assert (report["lines"], report["imported"], report["rejected"], report["readers"]) == (3, 2, 1, 1)
    assert report["rejects"][0] | {"reason": ""} == {"line": 2, "code": "bad_json", "reason": ""}
    assert Path(report["rejects_file"]).read_text().startswith("2\tbad_json\t")


@pytest.mark.django_db
def test_usage_mistakes_end_with_two(tmp_path: Path):
    for command in (
        ["import_feedback", str(tmp_path / "none")],
        ["fetch_feeds", "--from-dir", str(tmp_path / "none")],
    ):
        with pytest.raises(CommandError) as mistake:
            call_command(*command, skip_checks=True)
        assert mistake.value.returncode == 2


@pytest.mark.django_db
def test_a_batch_costs_the_same_number_of_statements_at_any_size(now, django_assert_max_num_queries):
    for size in (5, 300):
        lines = [line(url=f"https://r.example/{size}/{n}", reader=f"r{size}") for n in range(size)]
        with django_assert_max_num_queries(22):
            assert feedback_import(lines=lines, now=now).imported == size


@pytest.mark.data
@pytest.mark.django_db
def test_a_real_history_goes_in_once(now, data_dir: Path):
    tool = data_dir.parent / "tools" / "to_jsonl.py"
    lines = subprocess.run(
        [sys.executable, tool, "idea-news-ratings"], capture_output=True, text=True, check=True
    ).stdout.splitlines()[:4000]
    later = now + timedelta(days=1)
    first, again = feedback_import(lines=lines, now=later), feedback_import(lines=lines, now=later)
    assert first.imported > 1000 and first.rejected == 0
    assert (again.imported, again.updated) == (0, 0)


def imported_from(path: Path) -> dict:
    """What the command says of a file."""
    out = StringIO()
    call_command("import_feedback", str(path), "--json", stdout=out)
    return json.loads(out.getvalue())


@pytest.mark.django_db
def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path):
    path = tmp_path / "bom.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + line().encode() + b"\n")
    assert imported_from(path)["imported"] == 1


@pytest.mark.django_db
def test_a_line_that_is_no_utf8_is_rejected_and_kept_as_it_was(tmp_path: Path):
    path = tmp_path / "latin.jsonl"
    bad = line(title="CAFE").encode().replace(b"CAFE", b"caf\xe9")
    path.write_bytes(bad + b"\n" + line().encode() + b"\n")
    report = imported_from(path)
    assert (report["imported"], report["rejected"]) == (1, 1)
    assert "bad_encoding" in str(report["rejects"])
    assert b"caf\xe9" in Path(report["rejects_file"]).read_bytes()
