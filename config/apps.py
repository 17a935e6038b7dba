"""The app of settings, schedule and commands that use several rooms."""

from django.apps import AppConfig
from django.core.checks import register

from config.checks import check_addresses, check_bounds, check_retention, check_schedule, check_tls


class ConfigConfig(AppConfig):
    """The app; its label `tidings` is in table names, permissions and check ids."""

    name = "config"
    label = "tidings"

    def ready(self) -> None:
        """Register the system checks."""
        register(check_schedule)
        register(check_tls, deploy=True)
        register(check_retention)
        register(check_bounds)
        register(check_addresses)
