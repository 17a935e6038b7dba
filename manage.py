#!/usr/bin/env python
"""Run one of Tidings' commands: `manage.py help` lists them."""

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    """Point Django at the one settings module and hand over the command line."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
