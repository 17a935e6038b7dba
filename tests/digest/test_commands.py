"""`build_digest` and `update_weights`: one JSON object for scripts, a table for people, exit codes."""

import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from digest.management.commands.build_digest import Command
from digest.models import Digest, Impression, Reader
from digest.requests import readers_named
from tests.support.accepts import source_weight_set
from tests.support.factories import (
    FeedbackFactory,
    FeedFactory,
    ItemFactory,
    ReaderFactory,
    SourceFactory,
    SubscriptionFactory,
)

HOUR = timedelta(hours=1)
NOBODY = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def item_ids(ada) -> list[int]:
    """Ids of five fresh items of Ada's only source, newest first."""
    source = SourceFactory(key="mine.example")
    SubscriptionFactory(reader=ada, feed=FeedFactory(source=source))
    return [ItemFactory(source=source, published_at=timezone.now() - n * HOUR).id for n in range(1, 6)]


def run(capsys, *arguments: str) -> dict:
    """Return the command's output with `--json`, which must be all that it prints."""
    call_command(*arguments, "--json")
    return json.loads(capsys.readouterr().out)


def exit_code(*arguments: str) -> int:
    """Return the exit code of `manage.py build_digest …`, parsed as on the command line."""
    with pytest.raises(SystemExit) as ended:
        Command().run_from_argv(["manage.py", "build_digest", *arguments])
    return ended.value.code


def test_build_digest_stores_the_digest_and_prints_it_as_json(ada, item_ids, capsys):
    source_weight_set(reader_id=ada.id, source="mine.example", weight=1.3, ref="", now=timezone.now())
    (digest,) = run(capsys, "build_digest", "--user-id", str(ada.id))["digests"]
    assert digest.keys() == {"reader_id", "username", "date", "config_version", "entries", "left_out"}
    today = timezone.now().astimezone(ada.zone).date().isoformat()
    assert (digest["reader_id"], digest["date"], digest["config_version"]) == (str(ada.id), today, 1)
    assert [entry["item_id"] for entry in digest["entries"]] == item_ids
    first = digest["entries"][0]
    assert first.keys() == {
        *("rank", "item_id", "url", "title", "source", "score", "parts", "slot", "propensity")
    }
    assert (first["rank"], first["source"], first["parts"]["source_weight"]) == (1, "mine.example", 1.3)
    assert Impression.objects.count() == 5


def test_plain_is_the_bare_order_and_stores_nothing(ada, item_ids, capsys):
    stored = run(capsys, "build_digest", "--user-id", str(ada.id))["digests"][0]["entries"]
    Digest.objects.all().delete()
    FeedbackFactory(reader=ada, item_id=item_ids[0])
    plain = run(capsys, "build_digest", "--user-id", str(ada.id), "--plain", "--limit", "3")["digests"][0]
    assert [(e["rank"], e["url"]) for e in plain["entries"]] == [(e["rank"], e["url"]) for e in stored[:3]]
    assert not Digest.objects.exists()


def test_day_and_limit_are_respected(ada, item_ids, capsys):
    yesterday = (timezone.now().astimezone(ada.zone) - timedelta(days=1)).date().isoformat()
    (digest,) = run(capsys, "build_digest", "--user-id", str(ada.id), "--date", yesterday, "--limit", "2")[
        "digests"
    ]
    assert digest["date"] == yesterday and len(digest["entries"]) <= 2


def test_a_limit_shortens_the_list_and_not_the_digest(ada, item_ids, capsys):
    (digest,) = run(capsys, "build_digest", "--user-id", "ada", "--limit", "2")["digests"]
    assert [entry["item_id"] for entry in digest["entries"]] == item_ids[:2]
    stored = Impression.objects.order_by("rank").values_list("item_id", flat=True)
    assert list(stored) == item_ids


def test_all_users_are_the_active_ones(ada, ben, item_ids, capsys):
    ReaderFactory(is_active=False)
    digests = run(capsys, "build_digest", "--all-users")["digests"]
    assert [digest["reader_id"] for digest in digests] == [str(ada.id), str(ben.id)]
    assert [len(digest["entries"]) for digest in digests] == [5, 0]


def test_without_json_the_output_is_a_table(ada, item_ids, capsys):
    call_command("build_digest", "--user-id", str(ada.id))
    heading, first, *rest = capsys.readouterr().out.splitlines()
    assert "  ada, settings version" in heading and len(rest) == 4
    assert first.split()[0] == "1" and "mine.example" in first


@pytest.mark.parametrize("name", [NOBODY, "nobody"])
def test_an_unknown_reader_is_an_error(ada, capsys, name):
    assert exit_code("--user-id", name) == 1
    error = capsys.readouterr().err
    assert name in error and "/admin/digest/reader/" in error


def test_a_reader_is_named_by_id_or_by_username(ada, ben):
    twin = ReaderFactory(username=str(ben.pk))
    assert [readers_named(str(who))[0] for who in (ada.pk, "ada", ben.pk)] == [ada, ada, ben]
    assert readers_named(str(twin.pk)) == [twin]


def test_capitals_do_where_they_mean_one_reader(ada):
    assert readers_named("ADA") == [ada]
    shouting = ReaderFactory(username="ADA")
    assert readers_named("ADA") == [shouting] and readers_named("ada") == [ada]
    with pytest.raises(CommandError, match="no reader"):
        readers_named("Ada")


def test_a_future_day_is_an_error(ada, capsys):
    assert exit_code("--user-id", str(ada.id), "--date", "2999-01-01") == 1
    assert "has not begun" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--user-id", NOBODY, "--all-users"],
        ["--all-users", "--date", "yesterday"],
        ["--all-users", "--limit", "0"],
    ],
)
def test_usage_errors_exit_with_two(db, arguments, capsys):
    assert exit_code(*arguments) == 2
    assert capsys.readouterr().out == ""


def rate(reader: Reader, source: str, useful: bool) -> None:
    row = SourceFactory(key=source)
    for _ in range(12):
        FeedbackFactory(reader=reader, item=ItemFactory(source=row), useful=useful, at=timezone.now())


def test_update_weights_reports_how_many_sources_moved(ada, ben, capsys):
    rate(ada, "good.example", useful=True)
    rate(ada, "bad.example", useful=False)
    result = run(capsys, "update_weights", "--all-users")
    assert result.keys() == {"readers", "failed", "errors", "seconds"}
    assert result["readers"] == [
        {"reader_id": str(ada.id), "username": ada.username, "sources": 2, "moved": 2},
        {"reader_id": str(ben.id), "username": ben.username, "sources": 0, "moved": 0},
    ]
    call_command("update_weights", "--user-id", str(ada.id))
    assert "ada: the weights of 0 of 2 rated sources moved" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    [
        ("build_digest", "--user-id"),
        ("delete_reader", "--user-id"),
        ("export_opml", "--user-id"),
        ("export_reader", "--user-id"),
        ("export_records", "--user-id"),
        ("import_feedback", "nowhere.jsonl", "--reader"),
        ("run_advisor", "--user-id"),
        ("serve_mcp", "--reader"),
        ("update_weights", "--user-id"),
    ],
    ids=lambda command: command[0],
)
def test_a_mistyped_reader_is_refused_with_near_ones(ada, command):
    Reader.objects.filter(pk=ada.pk).update(username="adelaide")
    with pytest.raises(CommandError, match="Did you mean “adelaide”") as refused:
        call_command(*command, "adelaid")
    assert refused.value.returncode == 1 and Reader.objects.count() == 1


def test_update_weights_needs_a_reader_that_exists(db):
    with pytest.raises(CommandError, match="There is no reader"):
        call_command("update_weights", "--user-id", NOBODY)
