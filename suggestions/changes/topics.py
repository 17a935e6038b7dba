"""A topic more or less among a reader's interests: add_topic, remove_topic. Pure."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from digest.entities import RatedItem
from ranking.common.categories import label_keys, topic_matches, topics_among
from ranking.common.text import TOPIC_MAX_CHARS, fold, topic_key
from ranking.config_body import Body
from ranking.entities import EffectiveConfig
from ranking.language import gettext_noop
from ranking.other_names import OTHER_NAMES, names_set
from suggestions.changes.change import ADD, REMOVE, Change, ChangeKind, Columns, Field, Kind, State, Texts
from suggestions.proposals import TOPIC_SOURCES_MIN, Draft, Facts, Refusal

# Control, format (bidi and zero-width), surrogate, private-use and unassigned characters; line breaks.
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# No interest ranks lower than this share of one without any (`ranking.scoring`).
INTEREST_MIN = 0.05


class TopicKind(ChangeKind):
    """A change of a reader's interests."""

    field = Field.TOPICS
    named_by = ("target_key", "target", "suggested_value")
    group = ("topics", gettext_noop("Topics"))

    @property
    def adds(self) -> bool:
        """Return whether the topic is there afterwards."""
        return self.liked

    def key(self, label: str) -> str:
        """Return the topic's key."""
        return topic_key(label)

    def key_given(self, given: Mapping[str, Any]) -> str:
        """Return the key of the topic in a tool's arguments, as it would be stored."""
        texts = (text for text in map(given.get, self.named_by) if isinstance(text, str) and text)
        return topic_key(topic_clean(next(texts, "")) or "")

    def covers(self, label: str, *, source: str, text: str, labels: frozenset[str]) -> bool:
        """Return whether the topic stands in the text or among the item's labels."""
        return topic_matches(label, text, labels)

    def text_rated(self, item: RatedItem) -> str:
        """Return the folded title."""
        return fold(item.title)

    def state(self, effective: EffectiveConfig, label: str) -> State:
        """Return whether the topic is one of the interests."""
        return bool(topic_in_config(topic_key(label), effective.config.topics))

    def make(self, body: Body, change: Change) -> None:
        """Add the topic as the last one, or take it away; one already there keeps its spelling and place."""
        others = [topic for topic in body["topics"] if topic_key(topic) != topic_key(change.label)]
        if not change.after:
            body["topics"] = others
        elif len(others) == len(body["topics"]):
            body["topics"] = [*others, change.label]

    def undo(self, body: Body, earlier: Body, change: Change) -> None:
        """Add the topic in its earlier spelling, or take it away."""
        spelling = topic_in_config(change.target, earlier["topics"])
        others = [topic for topic in body["topics"] if topic_key(topic) != change.target]
        if not spelling:
            body["topics"] = others
        elif len(others) == len(body["topics"]):
            body["topics"] = [*others, spelling]
            if change.target in earlier.get("literal", []):
                body["literal"] = [*body.get("literal", []), change.target]
            names_set(body, spelling, earlier.get(OTHER_NAMES, {}).get(change.target, []))

    column, of_many_sources = "topics", True

    def nested(self, target: str, other: str) -> bool:
        """Return whether one topic is inside another as whole words."""
        return phrase_contains(other, target)

    def candidates(self, columns: Columns, effective: EffectiveConfig) -> Iterator[Change]:
        """Yield the topics that may be added, or that are there and may go."""
        for key in columns.topics:
            own = topic_in_config(key, effective.config.topics)
            if bool(own) is not self.adds:
                yield self.change(own or columns.labels[key])

    def read(self, draft: Draft, facts: Facts, named: str) -> Change | Refusal:
        """Return the change of a draft; its topic stands in `target_key`, `suggested_value`, or both."""
        given = [value for value in (draft.suggested_value, draft.target_key) if value not in (None, "")]
        topics = [topic for value in given if (topic := topic_clean(value)) is not None]
        if not topics or len(topics) < len(given):
            message = (
                f"A topic is one line of 1 to {TOPIC_MAX_CHARS} visible characters with a letter or digit."
            )
            return Refusal("invalid_topic", message, named)
        keys = {topic_key(topic) for topic in topics}
        if len(keys) > 1:
            message = "target_key and suggested_value name different topics. Name one."
            return Refusal("field_mismatch", message, named)
        key = keys.pop()
        own = topic_in_config(key, facts.effective.config.topics)
        if self.adds and own:
            return Refusal("topic_already_present", f"“{own}” is already one of the reader's topics.", named)
        if not self.adds and not own:
            return Refusal("topic_not_present", f"“{topics[0]}” is not one of the reader's topics.", named)
        return self.change(own or topics[0])

    def stored(self, target: str, value: str, current: str) -> Change:
        """Return the change of a stored suggestion."""
        return Change(self, target, value, not self.adds, self.adds)

    def change(self, label: str) -> Change:
        """Return the change that adds or removes the topic."""
        return Change(self, topic_key(label), label, not self.adds, self.adds)

    def evidence_refusal(self, change: Change) -> Refusal | None:
        """Refuse a topic, unless an author, whose evidence is from a single source (`too_few_sources`)."""
        cited = change.evidence
        by_author = all(topics_among([change.label], label_keys((), item.author)) for item in cited)
        if by_author or len({item.source for item in cited}) >= TOPIC_SOURCES_MIN:
            return None
        message = f"A topic needs evidence from {TOPIC_SOURCES_MIN} sources; this is all from one."
        return change.refusal("too_few_sources", message)

    def score_without(self, score: float, interest: float, before: float, after: float) -> float:
        """Return the score without the topic, which adds 1 to the interest of an item about it."""
        return _interest_moved(score, interest, -1.0 if self.adds else 1.0)

    def score_with(self, score: float, interest: float, before: float, after: float) -> float:
        """Return the score with the topic's part, or without that of a topic that goes."""
        return _interest_moved(score, interest, 1.0 if self.adds else -1.0)


ADD_TOPIC = TopicKind(
    ADD,
    name=Kind.ADD_TOPIC,
    opposite=Kind.REMOVE_TOPIC,
    backfires="new_topics_backfire",
    texts=Texts(
        headline=gettext_noop("Add “{label}” to your interests"),
        title="Add the topic {}",
        doing="adding {} topic",
        targets="new topics",
        about=(gettext_noop("new topics"), gettext_noop("the topic “{}”")),
        sentence=gettext_noop("“{label}” becomes one of your topics: articles that mention it move up."),
        impact=gettext_noop("Articles about {label} will rank higher in your digest."),
        author=gettext_noop("Articles by {label} will rank higher in your digest."),
        nothing_left=gettext_noop("“{label}” is already one of your topics, so nothing had to change."),
    ),
)
REMOVE_TOPIC = TopicKind(
    REMOVE,
    name=Kind.REMOVE_TOPIC,
    liked=False,
    opposite=Kind.ADD_TOPIC,
    backfires="removals_backfire",
    texts=Texts(
        headline=gettext_noop("Remove “{label}” from your interests"),
        title="Remove the topic {}",
        doing="removing {} topic",
        targets="topics to drop",
        about=(gettext_noop("dropping topics"), gettext_noop("dropping the topic “{}”")),
        sentence=gettext_noop(
            "“{label}” stops being one of your topics: articles that mention it are ranked like any other."
        ),
        impact=gettext_noop("Articles about {label} will no longer be lifted in your digest."),
        author=gettext_noop("Articles by {label} will no longer be lifted in your digest."),
        nothing_left=gettext_noop("“{label}” is no longer one of your topics, so nothing had to change."),
    ),
)


def topic_clean(value: object) -> str | None:
    """Return a topic as it is written (NFKC, single spaces).

    `None` for more than one line of 64 characters, no letter or digit, or anything invisible.
    """
    if not isinstance(value, str) or len(value) > 4 * TOPIC_MAX_CHARS:
        return None
    text = unicodedata.normalize("NFKC", value).strip(" ")
    if any(unicodedata.category(char) in _UNPRINTABLE for char in text):
        return None
    text = " ".join(text.split())
    return text if len(text) <= TOPIC_MAX_CHARS and any(map(str.isalnum, text)) else None


def phrase_contains(longer: str, shorter: str) -> bool:
    """Return True if `shorter` is inside `longer` as whole words and is not all of it."""
    return longer != shorter and f" {shorter} " in f" {longer} "


def topic_in_config(key: str, topics: Sequence[str]) -> str:
    """Return the config's own spelling of the topic with this key, or "" if it has none."""
    return next((topic for topic in topics if topic_key(topic) == key), "")


def _interest_moved(score: float, interest: float, step: float) -> float:
    return score * max(INTEREST_MIN, interest + step) / max(INTEREST_MIN, interest)
