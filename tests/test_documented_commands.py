"""Every command of README, CONTRIBUTING and docs works. The pages themselves are the list.

Management commands run in an installation of Ada's. Commands that need a terminal, a server or root are
parsed.
"""

import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from django.core.management import BaseCommand, CommandError, call_command, get_commands, load_command_class

from digest.models import Reader
from tests.lab.tests.parsing import lab_parses
from tests.support.documented import ROOT, documented_commands, words_of
from tests.support.factories import ReaderFactory
from tests.support.suggestion_worlds import tastes

COMMANDS = documented_commands()
ROOMS = {"ranking", "digest", "suggestions", "advisor", "config"}
# Commands that are parsed instead of run, and the reason.
PARSED = {
    "changepassword": "asks for a password",
    "check": "judges the settings of the operator, which a test has not",
    "createsuperuser": "asks for a password",
    "migrate": "would change the database that all tests share; tests/config/test_migrations.py runs it",
    "move_data": "empties the database; tests/config/test_move_data.py runs it",
    "restore": "empties the database; tests/config/test_backup.py runs it",
    "run": "serves until it is stopped; tests/config/test_wheel.py runs it",
    "serve": "serves until it is stopped; tests/config/test_serve.py runs it",
    "serve_mcp": "reads standard input until it ends; tests/advisor/test_mcp.py runs it",
    "shell": "waits for what somebody types",
    "work": "works until it is stopped; tests/config/test_work.py runs it",
}
# Exit codes that tell something else than that the command broke.
TELLS = {
    "check_model": {2: "no model is set up"},
    "guidance_health": {1: "look", 2: "broken"},
    "run_nightly": {1: "no worker holds the night that --release should give back"},
}
# A sentence may name an option without its value.
NAMED_ONLY = [("run_nightly", "--release")]
OPML = '<opml version="2.0"><body><outline type="rss" text="One" xmlUrl="https://one.example/feed"/></body></opml>'
RSS = "<rss version='2.0'><channel><title>One</title><item><title>First</title></item></channel></rss>"


def of_kind(kind: str) -> list[tuple[str, ...]]:
    """Return the documented commands of one kind, without the word for it."""
    return [words[1:] for words in COMMANDS if words[0] == kind]


def exit_code(name: str, *words: str) -> int:
    """Run a management command with its words parsed as from a shell, and return its exit code."""
    try:
        call_command(name, *words)
    except SystemExit as left:
        return int(left.code or 0)
    except CommandError as error:
        print(error, file=sys.stderr)
        return error.returncode
    return 0


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the files that documented commands read, to run them there."""
    (tmp_path / "feeds").mkdir()
    (tmp_path / "feeds/one.xml").write_text(RSS, encoding="utf-8")
    (tmp_path / "history.jsonl").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    # `delete_reader` asks for the name of the reader to delete.
    monkeypatch.setattr("builtins.input", lambda *_: "ada")
    return tmp_path


@pytest.fixture(scope="module")
def reader(staged: Callable[[Callable[[], Reader]], Reader]) -> Reader:
    """Ada with 120 thumbs, made once: each command runs on a savepoint above her world."""

    def world() -> Reader:
        ada = ReaderFactory(username="ada")
        tastes(ada)
        return ada

    return staged(world)


def filled(words: tuple[str, ...], ada: Reader, place: Path) -> list[str]:
    """Return the words of a command with real values in the places of FILE, UUID, NAME and N."""
    file = place / "file"
    if words[0] == "import_opml":
        file.write_text(OPML, encoding="utf-8")
    elif words[0] == "import_records":
        file.write_text("", encoding="utf-8")
    values = {
        **dict.fromkeys(("UUID", "UUID|NAME"), str(ada.pk)),
        **dict.fromkeys(("NAME", "USERNAME", "NAME|UUID"), ada.username),
        **{"FILE": str(file), "N": "7", "REASON": "looked at it"},
    }
    # Folders such as /data are those of a container or of the units.
    return [
        str(place / Path(word).name)
        if word.endswith(".zip") or word.startswith("/")
        else values.get(word, word)
        for word in words
    ]


MANAGED = [words for words in of_kind("manage") if words not in (*NAMED_ONLY, ("help",))]


@pytest.mark.every_case
@pytest.mark.parametrize("words", MANAGED, ids=" ".join)
def test_a_documented_management_command_works(
    words: tuple[str, ...], db: None, reader: Reader, place: Path, capsys: pytest.CaptureFixture[str]
):
    name, *given = filled(words, reader, place)
    if name in PARSED:
        parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
        assert parser.parse_args(given)
        return
    code = exit_code(name, *given)
    assert code == 0 or code in TELLS.get(name, {}), capsys.readouterr().err


def test_a_command_that_is_only_parsed_is_documented():
    assert set(PARSED) <= {words[0] for words in of_kind("manage")}


@pytest.mark.parametrize("words", of_kind("make"), ids=" ".join)
def test_a_documented_target_of_make_exists(words: tuple[str, ...]):
    """A dry run: `.ci/run` and `make nightly` run them in earnest."""
    command = ["make", "--dry-run", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout, done.stderr


@pytest.mark.parametrize("words", of_kind("module"), ids=" ".join)
def test_a_documented_module_exists_and_takes_its_options(words: tuple[str, ...], tmp_path: Path):
    """`tests.lab` parses them; tests/lab/tests/test_quick_forms.py runs its subcommands."""
    module, *given = words
    if module == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        assert given == ["install", "-c", "constraints.txt", "-e", ".[server]"] and "server" in extras
        return
    assert find_spec(module)
    if module == "tests.lab" and given:
        values = {
            **{"NAME": "kills", "CORPUS": "labels-topics-bbc", "ARM": "titles", "N": "3"},
            **{"UUID": "0" * 32, "FILE": str(tmp_path), "provider:model": "openai:gpt-6"},
        }
        lab_parses([values.get(word, word.split("|")[0]) for word in given])


@pytest.mark.parametrize("words", of_kind("pytest"), ids=" ".join)
def test_a_documented_run_of_pytest_finds_tests(words: tuple[str, ...]):
    markers = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]
    known = {marker.partition(":")[0] for marker in markers}
    for before, word in zip(("", *words), words, strict=False):
        if before == "-m":
            assert word in known
        elif not word.startswith("-"):
            assert (ROOT / word).is_file()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("A=1 .venv/bin/python manage.py backup x.zip   # note", ("manage", "backup", "x.zip")),
        ("deploy/tidings migrate", ("manage", "migrate")),
        ("/opt/tidings/deploy/tidings check --deploy", ("manage", "check", "--deploy")),
        ("30 2 * * * .venv/bin/python manage.py backup x.zip", ("manage", "backup", "x.zip")),
        (
            "docker compose -f deploy/compose.yaml -f b.yaml exec -T work tidings backup /data/b",
            ("manage", "backup", "/data/b"),
        ),
        ("docker exec -it tidings tidings createsuperuser", ("manage", "createsuperuser")),
        ("docker compose -f deploy/compose.yaml restart fetch", ()),
        ("run_nightly --release REASON", ("manage", "run_nightly", "--release", "REASON")),
        ("python -m tests.lab cost [--json]", ("module", "tests.lab", "cost", "--json")),
        ("manage.py COMMAND", ()),
        ("tidings-demo", ()),
        ("make", ()),
        ("useradd --system tidings", ()),
    ],
)
def test_a_command_is_known_by_its_form(line: str, words: tuple[str, ...]):
    assert words_of(line) == words


def test_the_pages_name_many_commands():
    """A page that changed its form must not leave this file without work."""
    assert len(COMMANDS) > 100


@pytest.mark.parametrize("name", sorted(name for name, room in get_commands().items() if room in ROOMS))
def test_the_help_of_a_command_and_its_options_reads_as_sentences(name: str):
    command = load_command_class(get_commands()[name], name)
    parser = command.create_parser("manage.py", name)
    # Options that Django adds, and the command `migrate`, whose options are Django's, have Django's words.
    django = {
        option for action in BaseCommand().create_parser("", "")._actions for option in action.option_strings
    }
    own = [] if name == "migrate" else [one for one in parser._actions if not django & {*one.option_strings}]
    for text in [command.help, *(action.help for action in own)]:
        assert text and text[0].isupper() and text.endswith("."), text
