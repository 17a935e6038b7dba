"""The digest room as an installed app."""

from django.apps import AppConfig


class DigestConfig(AppConfig):
    """Room: digest."""

    name = "digest"
    label = "digest"
