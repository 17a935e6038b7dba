"""`manage.py demo`: the main job once, in the terminal."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from config.demo.seed import DemoRefused
from config.demo.walkthrough import walkthrough_run


class Command(BaseCommand):
    """Seed the demo and do the main job for one of its readers."""

    help = "Seed the demo and show the main job: feeds, digest, suggestion, decision, another digest."

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the walkthrough; exit code 1 where the demo is refused."""
        try:
            walkthrough_run(now=timezone.now(), write=self.stdout.write)
        except DemoRefused as refused:
            raise CommandError(str(refused)) from refused
