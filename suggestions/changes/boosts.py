"""More or less of a keyword: changes that readers only wish for.

A reader who says "less politics" means a subject, so the word counts by meaning, too, as a topic does. Pure.
"""

from ranking.common.categories import topic_finder
from ranking.common.text import topic_key
from ranking.config_body import Body, list_with
from ranking.entities import EffectiveConfig
from suggestions.changes.change import LESS, MORE, Change, ChangeKind, Field, Finder, State


class BoostKind(ChangeKind):
    """A change of a keyword's boost; `None` is no boost."""

    field = Field.KEYWORD_BOOSTS

    def key(self, label: str) -> str:
        """Return the topic's key: a keyword is pinned and found as a topic is."""
        return topic_key(label)

    def finder(self, label: str) -> Finder:
        """Return what finds the keyword in the text or among the labels."""
        finds = topic_finder(label)
        return lambda item: finds(item.text, item.labels)

    def state(self, effective: EffectiveConfig, label: str) -> State:
        """Return the boost."""
        return effective.config.keyword_boosts.get(label)

    def make(self, body: Body, change: Change) -> None:
        """Give the keyword this boost, as the last one, or none."""
        boosts = {word: boost for word, boost in body["keyword_boosts"].items() if word != change.label}
        body["keyword_boosts"] = boosts | (
            {} if change.after is None else {change.label: float(change.after)}
        )
        list_with(body, "by_meaning", change.label, wanted=change.after is not None)

    def undo(self, body: Body, earlier: Body, change: Change) -> None:
        """Give the keyword the boost that it had."""
        boosts = {word: boost for word, boost in body["keyword_boosts"].items() if word != change.label}
        had = earlier["keyword_boosts"].get(change.label)
        body["keyword_boosts"] = boosts if had is None else {**boosts, change.label: had}
        list_with(body, "by_meaning", change.label, wanted=change.label in earlier.get("by_meaning", []))


BOOST_WORD, REDUCE_WORD = BoostKind(MORE), BoostKind(LESS, liked=False)
