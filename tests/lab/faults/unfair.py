"""`python -m tests.lab.faults.unfair COMMAND`: a command whose places do not know their reader.

It is the control of `fairness`: the first to ask gets a place, as with a semaphore.
"""

import os
import sys

import django
from django.core.management import execute_from_command_line


def main() -> None:
    """Make places forget their reader, and run the command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from digest import places  # noqa: PLC0415 - needs the settings
    from digest.places import Places  # noqa: PLC0415

    def is_free(self: Places, who: object) -> bool:
        return (self._count or 0) > self._taken.total()

    Places._is_free = is_free  # type: ignore[method-assign]
    places.TURNS._count = 1000
    execute_from_command_line(["manage.py", *sys.argv[1:]])


if __name__ == "__main__":
    main()
