"""`--json` prints one object on stdout, whatever happens."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class

from ranking.common.start import JsonCommand

OURS = {"advisor", "digest", "suggestions", "ranking", "tidings", "config"}
NOBODY = "00000000-0000-4000-8000-000000000000"

pytestmark = pytest.mark.django_db


def said(*arguments: str) -> tuple[dict[str, object], CommandError]:
    """Return the one object of a command that fails, and its error."""
    out = StringIO()
    with pytest.raises(CommandError) as ended:
        call_command(*arguments, "--json", stdout=out, stderr=StringIO())
    return json.loads(out.getvalue()), ended.value


@pytest.mark.parametrize(
    "arguments",
    [
        ("backup", "nowhere/x.zip"),
        ("build_digest", "--user-id", NOBODY),
        ("deliver",),
        ("fetch_feeds", "--feed", "no address"),
        ("import_feedback", "nowhere.jsonl"),
        ("import_opml", "nowhere.opml", "--user-id", NOBODY),
        ("import_records", "nowhere.jsonl"),
        ("move_data", "nowhere.sqlite3"),
        ("restore", "nowhere.zip"),
        ("run_advisor", "--user-id", NOBODY),
        ("summarise", "--limit", "-1"),
        ("update_weights", "--user-id", NOBODY),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_failure_is_one_object_with_the_error(arguments, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    body, error = said(*arguments)
    assert body == {"error": str(error)}


@pytest.mark.parametrize(
    ("command", "text", "name", "more"),
    [
        ("import_feedback", '{"bad": 1}\n', "rejected", ()),
        ("import_records", '{"bad": 1}\n', "rejected", ()),
        ("import_opml", '<opml><body><outline xmlUrl="ftp://x.example/f"/></body></opml>', "refused",
         ("--user-id", "ada")),
    ],
)  # fmt: skip
def test_an_import_with_rejected_lines_reports_them_and_ends_with_1(ada, tmp_path, command, text, name, more):
    (path := tmp_path / "in").write_text(text)
    body, error = said(command, str(path), *more)
    assert body[name] == 1 and error.returncode == 1 and "1 was rejected" in str(error)


def test_a_backup_keeps_a_file_that_exists_unless_told_otherwise(tmp_path: Path):
    (path := tmp_path / "b.zip").write_text("yesterday's")
    body, error = said("backup", str(path))
    assert error.returncode == 2 and "--force" in str(body["error"]) and path.read_text() == "yesterday's"
    call_command("backup", str(path), "--force", stdout=StringIO(), stderr=StringIO())
    assert path.read_bytes().startswith(b"PK")


@pytest.mark.usefixtures("ada")
def test_a_dated_backup_keeps_the_newest_and_deletes_nothing_else(tmp_path: Path):
    folder = tmp_path / "backups"
    folder.mkdir()
    old = [f"tidings-2026-01-0{day}-023000.zip" for day in (1, 2, 3)]
    for name in (*old, "tidings-before.zip", "notes"):
        (folder / name).touch()
    call_command("backup", str(folder), "--keep", "2", stdout=StringIO(), stderr=StringIO())
    names = {path.name for path in folder.iterdir()}
    (new,) = names - {*old, "tidings-before.zip", "notes"}
    assert names == {new, old[2], "tidings-before.zip", "notes"}
    assert (folder / new).read_bytes().startswith(b"PK") and (folder / new).stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("ada")
@pytest.mark.parametrize("keep", ["1", "2"])
def test_a_clock_that_was_ahead_costs_no_backup(tmp_path: Path, keep: str):
    """The names of its files sort after today's, which would be deleted as the oldest, just written."""
    ahead = [tmp_path / f"tidings-2099-01-0{day}-023000.zip" for day in (1, 2, 3)]
    for path in ahead:
        path.touch()
    for year in (2001, 2002, 2003):
        (tmp_path / f"tidings-{year}-01-01-023000.zip").touch()
    call_command("backup", str(tmp_path), "--keep", keep, stdout=StringIO(), stderr=StringIO())
    left = sorted(path.name for path in tmp_path.iterdir() if path not in ahead)
    assert len(left) == int(keep) and all(path.exists() for path in ahead)
    assert (tmp_path / left[-1]).read_bytes().startswith(b"PK")


def test_backups_of_a_database_without_readers_push_out_none(tmp_path: Path):
    """Seven nights with a wrong DATABASE_URL would else delete every backup there is."""
    for day in (1, 2, 3):
        (tmp_path / f"tidings-2026-01-0{day}-023000.zip").touch()
    call_command("backup", str(tmp_path), "--keep", "2", stdout=StringIO(), stderr=(said := StringIO()))
    assert len(list(tmp_path.iterdir())) == 4 and "No older backup was deleted" in said.getvalue()


def test_every_command_of_ours_with_json_says_so_on_failure_too():
    for name, room in get_commands().items():
        if isinstance(room, str) and room.partition(".")[0] in OURS:
            command = load_command_class(room, name)
            if "--json" in command.create_parser("manage.py", name).format_help():
                assert isinstance(command, JsonCommand), name
