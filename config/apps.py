"""The composition room as an installed app, for the commands that cross rooms."""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """Named so that Django finds this room's commands."""

    name = "config"
    label = "tidings"
