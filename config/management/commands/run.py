"""`manage.py run`: bring the database up to date, show the demo, and serve the site with its worker."""

import os
import subprocess
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand

from config.management.commands.serve import port_check
from ranking.common.commands import manage_command, signals_as_interrupt


class Command(BaseCommand):
    """Run `migrate`, `demo` and `serve`, one after the other."""

    help = "Bring the database up to date, show the demo, and serve the site with its worker. Ctrl-C ends it."
    # `migrate` runs the checks.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the address to listen on, and whether to show the demo."""
        parser.add_argument(
            "--host", default="127.0.0.1", help="The address to listen at. Links follow SITE_URL, or PORT."
        )
        parser.add_argument("--no-demo", action="store_true", help="Begin with an empty site.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the steps, then serve on PORT. If a step fails, exit with its exit code.

        If PORT is taken, nothing is run.
        """
        port_check(options["host"], settings.PORT)
        signals_as_interrupt()
        self.stdout.write(f"The data is in {settings.VAR_DIR.resolve()}")
        try:
            self._step("migrate", "--verbosity", "0")
            if not options["no_demo"]:
                self._step("demo")
        except KeyboardInterrupt:
            self.stdout.write("Stopped.")
            return
        call_command("serve", host=options["host"], port=settings.PORT)

    def _step(self, *arguments: str) -> None:
        """Run a command in its own process, so that the site does not keep the command's memory."""
        self.stdout.flush()
        environment = os.environ | {"LOG_LEVEL": "WARNING"}
        done = subprocess.run(manage_command(*arguments), env=environment, check=False)
        if done.returncode:
            sys.exit(done.returncode)
