"""`python -m tests.lab.faults.unfair COMMAND`: a command whose places do not know their reader.

The control of `fairness`: whoever asks first has a place, as by a semaphore.
"""

import os
import sys

import django
from django.core.management import execute_from_command_line


def main() -> None:
    """Forget whose place it is, and run the command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from digest.places import Places  # noqa: PLC0415 - needs the settings

    def is_free(self: Places, who: object) -> bool:
        return self._count > self._taken.total()

    Places._is_free = is_free  # type: ignore[method-assign]
    execute_from_command_line(["manage.py", *sys.argv[1:]])


if __name__ == "__main__":
    main()
