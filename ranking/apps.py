"""The ranking room as an installed app."""

from django.apps import AppConfig


class RankingConfig(AppConfig):
    """Room: ranking."""

    name = "ranking"
    label = "ranking"
