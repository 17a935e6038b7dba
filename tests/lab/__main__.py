"""`python -m tests.lab [NAME …]`: measure Tidings. Without a name, list the measurements.

NAME is one of the list, or a script of a package below: `bench.rank`, `load.pages`, `faults.table`. Each has
options of its own (`--help`). Exit codes: 0; 1 if a target is missed or something broke; 2 for wrong usage or
settings that cannot be used.
"""

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import NoReturn

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, ProgrammingError

from config.logs import SecretRedactor
from tests.lab.subcommands import SUBCOMMANDS, Subcommand


def main(argv: list[str]) -> NoReturn:
    """Run the subcommand that `argv` names with the rest as its command line; leave with its exit code."""
    if not argv or argv[0] in ("-h", "--help"):
        print(__doc__)
        print("\n".join(f"  {name:10} {subcommand.work}" for name, subcommand in SUBCOMMANDS.items()))
        sys.exit(0)
    name, rest = argv[0], argv[1:]
    if rest and f"{name} {rest[0]}" in SUBCOMMANDS:
        name, rest = f"{name} {rest[0]}", rest[1:]
    subcommand = SUBCOMMANDS.get(name) or script_of(name)
    if subcommand is None:
        print(f"There is no “{name}”; `python -m tests.lab` lists what there is.", file=sys.stderr)
        sys.exit(2)
    sys.argv = [f"python -m tests.lab {name}", *rest]
    sys.exit(evaluate(subcommand) if subcommand.django else import_module(subcommand.module).main())


def script_of(name: str) -> Subcommand | None:
    """Return the script with a dotted name, or `None` if there is none."""
    module = f"tests.lab.{name}"
    try:
        found = all(part.isidentifier() for part in name.split(".")) and find_spec(module)
    except ModuleNotFoundError:
        return None
    if not found or found.submodule_search_locations:
        return None
    return Subcommand(module, "")


def evaluate(subcommand: Subcommand) -> int:
    """Set up Django and run an evaluation; settings or a database that cannot be used get a sentence."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        django.setup()
        return import_module(subcommand.module).main()
    except ImproperlyConfigured as error:
        print(f"The settings cannot be used: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except (OperationalError, ProgrammingError) as error:
        words = SecretRedactor(settings.SECRETS)(None, "", " ".join(str(error).split()))
        print(f"The database cannot be used: {words}. Missing tables: `make migrate`.", file=sys.stderr)
        return 1


if __name__ == "__main__":
    main(sys.argv[1:])
