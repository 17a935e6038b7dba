"""The composition room as an installed app, for the commands that cross rooms."""

from django.apps import AppConfig
from django.core.checks import register

from config.checks import check_addresses, check_bounds, check_keeping, check_schedule, check_tls


class ConfigConfig(AppConfig):
    """Named so that Django finds this room's commands."""

    name = "config"
    label = "tidings"

    def ready(self) -> None:
        """Register the checks of settings that concern no single room."""
        register(check_schedule)
        register(check_tls, deploy=True)
        register(check_keeping)
        register(check_bounds)
        register(check_addresses)
