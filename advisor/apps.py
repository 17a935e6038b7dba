"""The app of the advisor."""

from django.apps import AppConfig
from django.core.checks import register

from advisor.checks import check_guidance


class AdvisorConfig(AppConfig):
    """The app of the advisor."""

    name = "advisor"
    label = "advisor"

    def ready(self) -> None:
        """Register the system check."""
        register(check_guidance)
