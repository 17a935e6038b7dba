"""`manage.py migrate`: Django's command, but only with the checks of settings and the database."""

from django.core.checks import Tags
from django.core.management.commands import migrate

from ranking.common.start import CHECKED


class Command(migrate.Command):
    """Bring the tables up to date, without loading any page."""

    requires_system_checks = [*CHECKED, Tags.database]
