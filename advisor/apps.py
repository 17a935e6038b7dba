"""The advisor room as an installed app."""

from django.apps import AppConfig
from django.core.checks import register

from advisor.checks import check_guidance


class AdvisorConfig(AppConfig):
    """Room: advisor."""

    name = "advisor"
    label = "advisor"

    def ready(self) -> None:
        """Register the check of guidance's tunables."""
        register(check_guidance)
