"""The digest room as an installed app."""

from django.apps import AppConfig
from django.core.checks import register

from digest.checks import check_accounts, check_fetching, check_models, check_peers


class DigestConfig(AppConfig):
    """Room: digest."""

    name = "digest"
    label = "digest"

    def ready(self) -> None:
        """Register the checks of this room's settings."""
        for check in (check_accounts, check_models, check_peers, check_fetching):
            register(check)
