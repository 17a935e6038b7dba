"""`manage.py migrate`, as Django has it, with the checks of settings and of the database alone."""

from django.core.checks import Tags
from django.core.management.commands import migrate

from ranking.common.start import CHECKED


class Command(migrate.Command):
    """Bring the tables up to date; no page is loaded for it."""

    requires_system_checks = [*CHECKED, Tags.database]
