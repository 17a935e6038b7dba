"""The ways to wish something, as the grammar reads them and as a model knows them. Pure.

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
    """A way to wish: `words` that the grammar reads as this way only, and its `meaning` for a model."""

    words: str
    meaning: str

    @property
    def has_number(self) -> bool:
        """Return whether it needs a number."""
        return NUMBER in self.words


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
    return "\n".join(f"  - `{name}`: {way.meaning}" for name, way in WAYS.items())


def wish_words(way: str, kind: str, name: str, number: int | None = None) -> str:
    """Return the words of a wish that the grammar reads in one way; `name` may be a stranger's."""
    words = WAYS[way].words.replace("{target}", f'{kind} "{plain(name)}"')
    return words.replace(NUMBER, str(number))


def plain(text: str) -> str:
    """Return a name that can stand between quotation marks in a wish."""
    return text.replace('"', "'").replace("\n", " ")
