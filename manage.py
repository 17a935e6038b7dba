#!/usr/bin/env python
"""Run one of Tidings' commands: `manage.py help` lists them."""

import os
import sys

from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import DatabaseError, OperationalError, ProgrammingError
from django.utils import timezone

from config import __version__
from config.disk import damage_sentence, disk_advice
from config.logs import SecretRedactor
from ranking.common.damage import is_damage

# What SQLite and PostgreSQL say of missing tables and columns, and PostgreSQL of whom it does not let in.
MISSING_TABLES = ("no such table", "no such column", 'relation "', "column ")
REFUSED = ("authentication failed", "no password supplied", "pg_hba.conf", 'database "', 'role "')


def main() -> None:
    """Run the command named on the command line.

    If a setting or the database cannot be used, print one sentence instead of a traceback. Exit codes: 2 for
    a wrong setting (as for wrong usage), 1 for the database.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:] in (["--version"], ["version"]):  # Django would print its own version
        print(f"Tidings {__version__}")
        return
    try:
        # Read the settings now: Django would ignore an error in them until a command needs one.
        _ = settings.LOG_LEVEL
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        print(f"The settings cannot be used: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)
    except DatabaseError as error:
        if not isinstance(error, OperationalError | ProgrammingError) and not is_damage(str(error)):
            raise
        text = SecretRedactor(settings.SECRETS)(None, "", " ".join(str(error).split()))
        if is_damage(text):
            damage_alert(error)
            sys.exit(damage_sentence(text))
        sys.exit(f"The database cannot be used: {text.rstrip('.?')}. {database_advice(text)}")


def damage_alert(error: DatabaseError) -> None:
    """Raise an alert: a nightly backup that meets the damage is seen by nobody."""
    if apps.ready:
        from advisor.agent.error_policy import page_failure_alert  # noqa: PLC0415 - models need the apps

        where = f"The command {' '.join(sys.argv[1:2])}"
        page_failure_alert(error=error, now=timezone.now(), where=where)


def database_advice(text: str) -> str:
    """Return what to do about an error of the database. A locked SQLite or a full disk lacks no tables."""
    if "is locked" in text:
        return "Another program, for example a restore, has locked it: wait for its end, then try again."
    if advice := disk_advice(text):
        return advice
    if any(words in text for words in MISSING_TABLES):
        return "Tables are missing: run `make migrate` or `tidings migrate`. Or is DATABASE_URL another one?"
    if any(words in text for words in REFUSED):
        return "The server refuses the name, the password or the database in DATABASE_URL: correct it."
    if "unable to open database file" in text:
        return "See that the folder of the file in DATABASE_URL exists, and that this user may write there."
    return "Does its server run, and is DATABASE_URL its address? See its log (runbook: TidingsDatabaseDown)."


if __name__ == "__main__":
    main()
