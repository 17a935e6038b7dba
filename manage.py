#!/usr/bin/env python
"""Run one of Tidings' commands: `manage.py help` lists them."""

import os
import sys

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import OperationalError, ProgrammingError

from config.logs import Redact


def main() -> None:
    """Point Django at the one settings module and hand over the command line.

    A setting or a database that cannot be used is the operator's to mend, so it gets a sentence and not a
    traceback; a setting ends with 2, as wrong usage does.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        # Read now, since Django would go on without them until a command asks.
        _ = settings.LOG_LEVEL
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        print(f"The settings cannot be used: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)
    except (OperationalError, ProgrammingError) as error:
        said = Redact(settings.SECRETS)(None, "", " ".join(str(error).split()))
        sys.exit(
            f"The database cannot be used: {said}. Missing tables: `make migrate`; else see DATABASE_URL."
        )


if __name__ == "__main__":
    main()
