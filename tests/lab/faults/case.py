"""One fault in its own process, with its figures as the last line: `python -m tests.lab faults.case NAME`."""

import argparse
import importlib
import json
import sys

import django


def main() -> None:
    """Do it on the database and the broker that the environment names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    django.setup()
    from tests.lab.faults.registry import BY_NAME  # noqa: PLC0415 - models need the settings

    found = importlib.import_module(BY_NAME[options.name].module).run(options.name, options.full)
    sys.stdout.write("\n" + json.dumps(found, default=str) + "\n")


if __name__ == "__main__":
    main()
