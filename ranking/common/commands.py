"""Helpers for management commands: argument types, signals, the database's label, input by lines."""

import os
import signal
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from io import TextIOWrapper
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, TextIO

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import connections

from ranking.common.start import FailureReported

KINDS = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
# The mode of files with what readers think.
PRIVATE = 0o600
# How many names that resemble a mistyped one are shown, and how much they must resemble it (difflib).
NEAR_SHOWN, NEAR_SHARE = 3, 0.75
# The exit code that shells report for a process ended by SIGTERM.
TERMINATED = 128 + signal.SIGTERM


def manage_command(*arguments: str) -> list[str]:
    """Return the command line of `manage.py ARGUMENTS`, for a checkout or an installed wheel."""
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]


def database_label(*, using: str = "default") -> str:
    """Return `SQLite, FILE` or `PostgreSQL, NAME at HOST:PORT`, without user and password."""
    connection = connections[using]
    config = connection.settings_dict
    label = f"{KINDS.get(connection.vendor, connection.vendor)}, {config['NAME']}"
    if connection.vendor == "sqlite":
        return label
    host = config.get("HOST") or "this machine"
    return f"{label} at {host}:{config['PORT']}" if config.get("PORT") else f"{label} at {host}"


def near_words(typed: str, known: Iterable[str]) -> str:
    """Return the question whether one of the `known` names that resemble `typed` was meant, with a space
    before it; "" if none does."""
    by_fold = {name.casefold(): name for name in known}
    near = get_close_matches(typed.casefold(), by_fold, NEAR_SHOWN, NEAR_SHARE)
    if not near:
        return ""
    return f" Did you mean {' or '.join(f'“{by_fold[name]}”' for name in near)}?"


def whole_number(low: int, high: int | None = None) -> Callable[[str], int]:
    """Return an argparse type for whole numbers from `low` to `high` (`None`: no limit)."""
    span = f"of {low} or more" if high is None else f"from {low} to {high}"

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if value < low or (high is not None and value > high):
            raise ArgumentTypeError(f"“{text}” is not a whole number {span}.")
        return value

    return read


def signals_as_interrupt() -> None:
    """Raise `KeyboardInterrupt` on SIGINT, SIGTERM and SIGHUP, so that the caller can end its children."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    # Set SIGINT as well: shells start background jobs with SIGINT ignored, and Python keeps that.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)


@contextmanager
def sigterm_as_exit() -> Iterator[None]:
    """Turn SIGTERM into an exception within the block, so that clean-up code deletes unfinished files."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def line_arguments(parser: CommandParser) -> None:
    """Add the arguments FILE, `--rejects PATH` and `--json`."""
    parser.add_argument("file", metavar="FILE", help="The file in JSON Lines, or - for standard input.")
    parser.add_argument(
        "--rejects",
        type=Path,
        metavar="PATH",
        help="The file for rejected lines, written if there are any. Default: FILE.rejects, beside FILE.",
    )
    parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a report.")


@contextmanager
def lines_open(options: Mapping[str, Any], unnamed: str) -> Iterator[tuple[TextIO, "LazyFile"]]:
    """Open the input and the rejects file that `line_arguments` name, and yield both.

    `unnamed` is the default rejects file for standard input. Raises `CommandError` with exit code 2 if a file
    cannot be used.
    """
    name = options["file"]
    rejects = LazyFile(options["rejects"] or Path(unnamed if name == "-" else f"{name}.rejects"))
    try:
        with _lines_of(name) as lines, rejects as file:
            yield lines, file
    except OSError as error:
        raise CommandError(f"“{error.filename}” cannot be used ({error.strerror}).", returncode=2) from error


def rejects_words(path: str | None) -> list[str]:
    """Return the line that says where the rejected lines are; none if nothing was rejected."""
    if path is None:
        return []
    return [f"  The rejected lines, each with its number and reason, were written to {path}."]


def rejected_exit(rejected: int, rest: str) -> None:
    """Raise `FailureReported`, for exit code 1, if entries were rejected. `rest` tells of the others."""
    if rejected:
        were = "1 was rejected" if rejected == 1 else f"{rejected} were rejected"
        raise FailureReported(f"{were}, as listed; {rest}.")


class LazyFile:
    """A text file that is created when the first text is written. Only its owner may read it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: TextIO | None = None

    @property
    def written(self) -> bool:
        """Return whether anything was written."""
        return self._file is not None

    def write(self, text: str) -> int:
        """Append `text`; the first call replaces the file of an earlier run."""
        if self._file is None:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
            os.fchmod(handle, PRIVATE)  # also on a file that existed
            self._file = os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape")
        return self._file.write(text)

    def __enter__(self) -> "LazyFile":
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()


@contextmanager
def _lines_of(name: str) -> Iterator[TextIO]:
    """Open the input and skip a byte order mark. Bytes that are no UTF-8 become surrogates in their line."""
    if name == "-":
        if isinstance(sys.stdin, TextIOWrapper):
            sys.stdin.reconfigure(encoding="utf-8-sig", errors="surrogateescape")
        yield sys.stdin
        return
    with open(name, encoding="utf-8-sig", errors="surrogateescape") as file:
        yield file
