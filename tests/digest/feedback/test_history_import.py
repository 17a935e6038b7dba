"""A history is imported once and whole, and the latest rating wins."""

import json
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from digest.feedback.reasons import reason_tags_map
from digest.feedback.records import BadLine, history_parse
from digest.feedback.selectors import reason_tag_spellings
from digest.feedback.transfer import feedback_import
from digest.models import Feed, Feedback, Item, Reader, Subscription

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
def test_one_line_creates_reader_source_subscription_item_and_rating(now):
    report = feedback_import(lines=[line()], now=now)
    rating = Feedback.objects.select_related("item", "reader").get()
    assert (report.imported, report.sources, report.items, report.unmapped_tags) == (1, 1, 1, 1)
    assert report.reader_ids == {"ada-imported": str(rating.reader_id)}
    assert not rating.reader.has_usable_password()
    assert (rating.item.url, rating.item.source_id) == ("https://rivers.example/a", "rivers daily")
    assert set(rating.tags.values_list("slug", flat=True)) == {"depth", "hype"}
    assert (rating.other_reasons, rating.has_reason) == (["my own words"], True)
    assert rating.day == int(rating.at.timestamp() // 86400)
    feed = Feed.objects.get(subscriptions__reader=rating.reader)
    own = f"urn:tidings:source:{rating.reader_id}:rivers daily"
    assert (feed.url, feed.state) == (own, Feed.State.IMPORTED)


@pytest.mark.django_db
def test_importing_again_changes_nothing_and_a_later_rating_wins(now):
    feedback_import(lines=[line()], now=now)
    again = feedback_import(lines=[line(), line(useful=0, at="2026-03-01T00:00:00Z")], now=now)
    assert (again.imported, again.updated, again.unchanged, Feedback.objects.get().useful) == (0, 0, 2, True)
    later = line(useful=0, at="2026-03-12T00:00:00Z", reason_tags=["clickbait"])
    assert feedback_import(lines=[later, line()], now=now).updated == 1
    rating = Feedback.objects.get()
    assert (rating.useful, list(rating.tags.values_list("slug", flat=True))) == (False, ["clickbait"])
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
def test_a_bad_line_names_the_wrong_field(changes: dict[str, object], code: str):
    with pytest.raises(BadLine) as bad:
        history_parse(line(**changes))
    assert bad.value.code == code


@given(
    st.text(max_size=60) | st.dictionaries(st.sampled_from(list(GOOD)), st.text(max_size=9)).map(json.dumps)
)
def test_no_line_breaks_the_parser(text: str):
    try:
        history_parse(text)
    except BadLine as bad:
        assert bad.code and bad.reason


@pytest.mark.parametrize(
    ("useful", "read"), [(1, True), (0, False), (True, True), (False, False), ("true", True)]
)
def test_useful_has_several_spellings(useful: object, read: bool):
    assert history_parse(line(useful=useful)).useful is read


@pytest.mark.django_db
def test_other_reasons_are_limited_in_number_and_length():
    slugs, others = reason_tags_map(
        ["DEPTH", "in depth", "x" * 300, *(f"own {n}" for n in range(20))], reason_tag_spellings()
    )
    assert slugs == ("depth",)
    assert len(others) == 8 and max(map(len, others)) == 200


@pytest.mark.django_db
def test_the_command_prints_one_object_and_writes_what_it_rejected(tmp_path: Path):
    source = tmp_path / "history.jsonl"
    source.write_text(f"{line()}\nnonsense\n\n{line(url='')}\n")
    out = StringIO()
    with pytest.raises(CommandError, match="1 was rejected"):
        call_command("import_feedback", str(source), "--json", stdout=out, skip_checks=True)
    report = json.loads(out.getvalue())
    assert (report["lines"], report["imported"], report["rejected"], report["readers"]) == (3, 2, 1, 1)
    assert report["rejects"][0] | {"reason": ""} == {"line": 2, "code": "bad_json", "reason": ""}
    assert Path(report["rejects_file"]).read_text().startswith("2\tbad_json\t")


@pytest.mark.django_db
def test_the_report_says_where_the_rejected_lines_are(tmp_path: Path):
    source, out = tmp_path / "history.jsonl", StringIO()
    source.write_text(f"{line()}\nnonsense\n")
    (rejects := tmp_path / "history.jsonl.rejects").touch(0o644)
    with pytest.raises(CommandError):
        call_command("import_feedback", str(source), stdout=out, skip_checks=True)
    assert rejects.stat().st_mode & 0o777 == 0o600
    assert f"each with its number and reason, were written to {source}.rejects." in out.getvalue()


@pytest.mark.django_db
def test_usage_errors_exit_with_two(tmp_path: Path):
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
        with django_assert_max_num_queries(29):
            assert feedback_import(lines=lines, now=now).imported == size


@pytest.mark.django_db
def test_an_account_that_is_in_use_is_rated_for_only_by_name(ada, ben, now, tmp_path: Path):
    lines = [line(reader=name) for name in ("ada", "ben", "new")]
    report = feedback_import(lines=lines, now=now, readers=["ada"])
    assert (report.imported, [(n, code) for n, code, _ in report.rejects]) == (2, [(2, "reader_exists")])
    assert not Feedback.objects.filter(reader=ben).exists()
    again = feedback_import(lines=[line(reader="new", at="2026-03-12T00:00:00Z")], now=now)
    assert (again.updated, again.rejected) == (1, 0)  # made by an import, and used by nobody yet
    path, out = tmp_path / "ben.jsonl", StringIO()
    path.write_text(lines[1])
    call_command("import_feedback", str(path), "--json", "--reader", "ben", stdout=out)
    assert json.loads(out.getvalue())["imported"] == 1


@pytest.mark.data
@pytest.mark.django_db
def test_a_real_history_is_imported_once(now, data_dir: Path):
    tool = data_dir.parent / "tools" / "to_jsonl.py"
    lines = subprocess.run(
        [sys.executable, tool, "idea-news-ratings"], capture_output=True, text=True, check=True
    ).stdout.splitlines()[:4000]
    later = now + timedelta(days=1)
    first, again = feedback_import(lines=lines, now=later), feedback_import(lines=lines, now=later)
    assert first.imported > 1000 and first.rejected == 0
    assert (again.imported, again.updated) == (0, 0)


def imported_from(path: Path) -> dict:
    """Return the report of importing a file, with or without rejected lines."""
    out = StringIO()
    with suppress(CommandError):
        call_command("import_feedback", str(path), "--json", stdout=out)
    return json.loads(out.getvalue())


@pytest.mark.django_db
def test_a_byte_order_mark_is_ignored(tmp_path: Path):
    path = tmp_path / "bom.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + line().encode() + b"\n")
    assert imported_from(path)["imported"] == 1


@pytest.mark.django_db
def test_a_line_that_is_not_utf8_is_rejected_unchanged(tmp_path: Path):
    path = tmp_path / "latin.jsonl"
    bad = line(title="CAFE").encode().replace(b"CAFE", b"caf\xe9")
    path.write_bytes(bad + b"\n" + line().encode() + b"\n")
    report = imported_from(path)
    assert (report["imported"], report["rejected"]) == (1, 1)
    assert "bad_encoding" in str(report["rejects"])
    assert b"caf\xe9" in Path(report["rejects_file"]).read_bytes()
