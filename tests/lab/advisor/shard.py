"""One part of an evaluation in its own process and database: `python -m tests.lab.advisor.shard`.

It reads a setting as JSON from standard input, and writes the courses as JSON to standard output and a line
with the number of each finished week to standard error.
"""

import json
import os
import sys
from typing import Any

import django
from django.db import connection

DATABASE_VARIABLE = "TIDINGS_EVALUATION_DATABASE"


def main() -> None:
    """Run the task from standard input. End at once in any database but the one made for it."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    own = os.environ.get(DATABASE_VARIABLE, "")
    if not own or connection.vendor != "sqlite" or str(connection.settings_dict["NAME"]) != own:
        raise SystemExit("This is not a database made for an evaluation. Use `python -m tests.lab advisor`.")
    # Models can only be imported once the apps are set up.
    from tests.lab.advisor.tasks import task_run  # noqa: PLC0415

    task: dict[str, Any] = json.load(sys.stdin)
    json.dump(task_run(task, lambda done: print(done, file=sys.stderr, flush=True)), sys.stdout)


if __name__ == "__main__":
    main()
