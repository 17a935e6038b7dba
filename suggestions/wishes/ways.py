"""The ways to wish something, as the grammar reads them and as a model is told them. Pure.

One table feeds both, so a model can ask for whatever a reader's own words can, and for nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from suggestions.changes.change import ADD, FRESHER, LESS, MORE, NONE, OLDER, REMOVE, UNMUTE
from suggestions.changes.daily_limits import LIMIT
from suggestions.changes.never_missed import KEEP
from suggestions.changes.shelf_lives import AGE

# A switch of the source's page, which no setting is.
OUT = "out"
NUMBER = "{number}"


@dataclass(frozen=True, slots=True)
class Way:
    """A way to wish: `words` that the grammar reads as this way only, and what a model is `told` of it."""

    words: str
    told: str

    @property
    def has_number(self) -> bool:
        """Return whether it needs a number."""
        return NUMBER in self.words

    def said(self, target: str, number: int | None = None) -> str:
        """Return the words about `target`, such as `source "Gazette"`."""
        return self.words.replace("{target}", target).replace(NUMBER, str(number))


WAYS: Mapping[str, Way] = {
    MORE: Way("more {target}", "see more of it"),
    LESS: Way("less {target}", "see less of it"),
    NONE: Way("mute {target}", "never see it"),
    UNMUTE: Way("unmute {target}", "see again what is hidden"),
    ADD: Way("add {target}", "make it one of the interests"),
    REMOVE: Way("remove {target}", "take it off the interests"),
    AGE: Way(
        "nothing older than {number} hours from {target}", "of a source, nothing older than `number` hours"
    ),
    LIMIT: Way(
        "at most {number} a day of {target}", "of a source, `number` articles a day at most, up to 10"
    ),
    KEEP: Way("never miss {target}", "of a source, every article has a place until it was shown"),
    OUT: Way("keep {target} out of today", "of a source, nothing on the page Today"),
    FRESHER: Way("newer", "newer articles of all sources first"),
    OLDER: Way("older", "articles of all sources stay longer"),
}
# Ways that everything but freshness can be wished in; they have an amount.
PLAIN_WAYS = (MORE, LESS, NONE, ADD, REMOVE)


def ways_for_prompt() -> str:
    """Return the list of ways for a prompt, one a line."""
    return "\n".join(f"  - `{name}`: {way.told}" for name, way in WAYS.items())
