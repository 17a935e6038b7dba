"""What commands that import lines share: the input, and a file for the lines that were rejected."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

from django.core.management.base import CommandError, CommandParser


def line_arguments(parser: CommandParser) -> None:
    """FILE, `--rejects PATH` and `--json`."""
    parser.add_argument("file", metavar="FILE", help="JSON Lines, or - for standard input")
    parser.add_argument(
        "--rejects",
        type=Path,
        metavar="PATH",
        help="where rejected lines go (FILE.rejects; made at need)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


@contextmanager
def lines_opened(options: Mapping[str, Any], unnamed: str) -> Iterator[tuple[TextIO, "LazyFile"]]:
    """(input, rejects) as `line_arguments` name them; `unnamed` takes the rejects of standard input.

    A file that cannot be used is a `CommandError` with exit code 2.
    """
    name = options["file"]
    rejects = LazyFile(options["rejects"] or Path(unnamed if name == "-" else f"{name}.rejects"))
    try:
        with _lines_of(name) as lines, rejects as file:
            yield lines, file
    except OSError as error:
        raise CommandError(f"“{error.filename}” cannot be used ({error.strerror}).", returncode=2) from error


class LazyFile:
    """A text file that comes into being with its first line; only its `write` is a file's."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: TextIO | None = None

    @property
    def written(self) -> bool:
        """Whether there was anything to write."""
        return self._file is not None

    def write(self, text: str) -> int:
        """Append `text`, replacing what an earlier run left at the first call."""
        if self._file is None:
            self._file = self.path.open("w", encoding="utf-8", errors="surrogateescape")
        return self._file.write(text)

    def __enter__(self) -> "LazyFile":
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()


@contextmanager
def _lines_of(name: str) -> Iterator[TextIO]:
    """The input line by line, without a byte order mark; bytes that are no UTF-8 spoil their line alone."""
    if name == "-":
        if isinstance(sys.stdin, TextIOWrapper):
            sys.stdin.reconfigure(encoding="utf-8-sig", errors="surrogateescape")
        yield sys.stdin
        return
    with open(name, encoding="utf-8-sig", errors="surrogateescape") as file:
        yield file
