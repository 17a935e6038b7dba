"""What all kinds of change about a source share: the name of it, and which items are from it. Pure."""

from collections.abc import Mapping

from ranking.common.text import fold
from ranking.language import gettext_noop
from suggestions.changes.change import ChangeKind, Finder


class SourceKind(ChangeKind):
    """A change about one source."""

    of_source = True
    group = ("sources", gettext_noop("Sources"))
    about = "from"

    def key(self, label: str) -> str:
        """Return the key of a source as it is stored."""
        return fold(label)

    def key_of_setting(self, target: str) -> str:
        """Return a source's key as it is."""
        return target

    def name_of(self, label: str, titles: Mapping[str, str]) -> str:
        """Return the source's title."""
        return titles.get(label, label)

    def finder(self, label: str) -> Finder:
        """Return what finds the items from the source."""
        return lambda source, _text, _labels: source == label
