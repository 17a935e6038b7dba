"""The advisor room as an installed app."""

from django.apps import AppConfig


class AdvisorConfig(AppConfig):
    """Room: advisor."""

    name = "advisor"
    label = "advisor"
