"""What all kinds of change about a source share: the name of it, and which items are from it. Pure."""

from collections.abc import Mapping

from ranking.common.text import fold
from ranking.language import gettext_noop
from suggestions.changes.change import ChangeKind, Finder
from suggestions.proposals import Draft, Facts, Refusal


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
        return lambda item: item.source == label

    def source_named(self, draft: Draft, facts: Facts, named: str) -> str | Refusal:
        """Return the key of the source that a draft names, or refuse one that the reader does not have."""
        key = self.key(draft.target_key) if isinstance(draft.target_key, str) else ""
        if key in facts.sources:
            return key
        message = "The target is not a source of this reader. Use a key from the feedback."
        return Refusal("source_not_in_history", message, named)
