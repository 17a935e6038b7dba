"""`demo`: the main job once, as a short story in the terminal."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from config.demo.readers import DemoRefused
from config.demo.story import story_tell


class Command(BaseCommand):
    """Seeds the demo, then does the main job for one of its readers and says what happens."""

    help = "Seed the demo and tell the main job: feeds, digest, suggestion, decision, another digest."

    def handle(self, *args: Any, **options: Any) -> None:
        """Tell the story; exit code 1 where the demo would do harm."""
        try:
            story_tell(now=timezone.now(), say=self.stdout.write)
        except DemoRefused as refused:
            raise CommandError(str(refused)) from refused
