"""The commands that README, CONTRIBUTING and docs name, read from the pages themselves."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from django.core.management import get_commands

from tests.lab.bench.registry import BY_NAME
from tests.lab.subcommands import SUBCOMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
OURS = ("config", "advisor", "suggestions", "digest")
_BLOCK = re.compile(r"^ *```[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`]+)`")
# Words before a command: settings, a folder with the interpreter, the wheel's name for manage.py.
_PYTHON = re.compile(r"^(?:\S*/)?python3? ")
_MANAGE = re.compile(r"^(?:(?:\S*/)?manage\.py|tidings|(?:\S*/)?deploy/tidings) ")
# When cron runs a command, and the container that runs it.
_CRON = re.compile(r"^(?:[\d*/,-]+ ){5}")
_CONTAINER = re.compile(r"^docker (?:compose (?:-f \S+ )*)?exec (?:-\S+ )*\S+ ")
_SETTING = re.compile(r"^[A-Z_]+=(?:'[^']*'|\S+) ")


def documented_commands() -> list[tuple[str, ...]]:
    """Return the words of each command that a page names: `manage`, `module`, `pytest` or `make` first."""
    lines = [line for page in PAGES for line in _lines(page.read_text(encoding="utf-8"))]
    return sorted({words for line in lines if (words := words_of(line))})


def words_of(line: str) -> tuple[str, ...]:
    """Return the words of a command of ours, or an empty tuple for any other line."""
    while _SETTING.match(line):
        line = _SETTING.sub("", line, count=1)
    line = _CONTAINER.sub("", _CRON.sub("", re.split(r"\s+#|\s+>\s", line)[0]))
    plain = _PYTHON.sub("", line, count=1)
    if plain != line and plain.startswith("-m "):
        kind, rest = "module", plain.removeprefix("-m ")
    elif _MANAGE.match(plain):
        kind, rest = "manage", _MANAGE.sub("", plain, count=1)
    elif plain.startswith(("make ", "pytest ")):
        kind, _, rest = plain.partition(" ")
    elif " --" in plain and get_commands().get(plain.split()[0], "").startswith(OURS):
        kind, rest = "manage", plain
    elif (" --" in plain and plain.split()[0] in SUBCOMMANDS) or _names_row(plain):
        kind, rest = "module", f"tests.lab {plain}"
    else:
        return ()
    words = tuple(shlex.split(rest.replace("[", "").replace("]", "") if "'.[" not in rest else rest))
    # `manage.py COMMAND` and `manage.py …` stand for any command.
    return () if not words or words[0] in ("COMMAND", "…") else (kind, *words)


def _names_row(line: str) -> bool:
    """Return whether a line is `bench` and the name of a measurement, as docs/benchmarks.md writes it."""
    words = line.split()
    return len(words) == 2 and words[0] == "bench" and words[1] in BY_NAME


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of fenced blocks and the contents of backticks, commands joined by && apart."""
    for block in _BLOCK.findall(text):
        for line in block.splitlines():
            yield from (part.strip() for part in line.split("&&"))
    for span in _SPAN.findall(_BLOCK.sub("", text)):
        yield " ".join(span.split())
