"""What all kinds of change about the whole page share: one target, and every item is about it. Pure."""

from typing import ClassVar

from ranking.language import gettext_noop
from suggestions.changes.change import ChangeKind, Finder

# The name of the target in stored sentences.
PAGE_LABEL = "your page"


class PageKind(ChangeKind):
    """A change about the whole page."""

    of_page = True
    group = ("page", gettext_noop("Your page"))
    # The identity of the one target there is.
    target: ClassVar[str]

    def key(self, label: str) -> str:
        """Return the one target there is."""
        return self.target

    def key_of_setting(self, target: str) -> str:
        """Return the target for a version's change, which names none. Pins of other targets stay."""
        return target or self.target

    def key_given(self, target: object) -> str:
        """Return the one target there is."""
        return self.target

    def finder(self, label: str) -> Finder:
        """Return what finds every item."""
        return lambda _item: True
