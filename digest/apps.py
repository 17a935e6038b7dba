"""The digest room as an installed app."""

from django.apps import AppConfig
from django.core.checks import register

from digest.account_checks import check_accounts
from digest.checks import check_fetching, check_models, check_peers


class DigestConfig(AppConfig):
    """Room: digest."""

    name = "digest"
    label = "digest"

    def ready(self) -> None:
        """Register the checks of this room's settings."""
        register(check_accounts)
        register(check_models)
        register(check_peers)
        register(check_fetching)
