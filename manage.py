#!/usr/bin/env python
"""Run one of Tidings' commands: `manage.py help` lists them."""

import os
import sys

from django.core.management import execute_from_command_line
from django.db import OperationalError, ProgrammingError


def main() -> None:
    """Point Django at the one settings module and hand over the command line.

    A database that cannot be used is the operator's to mend, so it gets a sentence and not a traceback.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        execute_from_command_line(sys.argv)
    except (OperationalError, ProgrammingError) as error:
        said = " ".join(str(error).split())
        sys.exit(
            f"The database cannot be used: {said}. Missing tables: `make migrate`; else see DATABASE_URL."
        )


if __name__ == "__main__":
    main()
