"""Reading a command line of `python -m tests.lab` without measuring anything."""

import ast
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.lab.__main__ import script_of
from tests.lab.subcommands import SUBCOMMANDS


class _Parsed(Exception):
    """The command line was read without a complaint."""


def lab_parses(words: Sequence[str]) -> None:
    """Fail if `python -m tests.lab` with these words does not exist or does not take its options."""
    name, rest = words[0], list(words[1:])
    if rest and f"{name} {rest[0]}" in SUBCOMMANDS:
        name, rest = f"{name} {rest[0]}", rest[1:]
    subcommand = SUBCOMMANDS.get(name) or script_of(name)
    assert subcommand, f"there is no `python -m tests.lab {name}`"
    if not _has_parser(subcommand.module):
        assert not rest, f"`tests.lab {name}` takes no options"
        return
    parse = ArgumentParser.parse_args

    def parse_and_stop(self: ArgumentParser, *given: Any, **named: Any) -> NoReturn:
        parse(self, *given, **named)
        raise _Parsed

    with pytest.MonkeyPatch.context() as patch, pytest.raises(_Parsed):
        patch.setattr(ArgumentParser, "parse_args", parse_and_stop)
        patch.setattr(sys, "argv", [f"tests.lab {name}", *rest])
        import_module(subcommand.module).main()


def _has_parser(module: str) -> bool:
    """Return whether a module reads a command line."""
    spec = find_spec(module)
    assert spec and spec.origin
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    return any(isinstance(node, ast.Attribute) and node.attr == "parse_args" for node in ast.walk(tree))
