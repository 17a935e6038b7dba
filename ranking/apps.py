"""The ranking room as an installed app."""

from django.apps import AppConfig
from django.utils.translation import gettext, ngettext, pgettext

from ranking.language import language_bind


class RankingConfig(AppConfig):
    """Room: ranking."""

    name = "ranking"
    label = "ranking"

    def ready(self) -> None:
        """Let pure modules translate with Django's gettext, in the reader's language."""
        language_bind(gettext=gettext, ngettext=ngettext, pgettext=pgettext)
