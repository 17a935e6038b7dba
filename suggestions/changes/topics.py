"""A topic more or less among a reader's interests: add_topic, remove_topic. Pure."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace

from digest.entities import RatedItem
from digest.llm.phishing import lure_problem
from ranking.common.categories import label_keys, topic_finder, topics_among
from ranking.common.probability import drawn_above
from ranking.common.text import TOPIC_MAX_CHARS, fold, fold_lightly, topic_key
from ranking.config_body import Body
from ranking.entities import EffectiveConfig
from ranking.language import gettext_noop
from ranking.other_names import NAMES_MAX, OTHER_NAMES, names_set
from suggestions.changes.change import (
    ADD,
    REMOVE,
    Change,
    ChangeKind,
    Field,
    Finder,
    Kind,
    Patterns,
    State,
    Texts,
)
from suggestions.changes.columns import TOPICS, Attributes
from suggestions.changes.phrases import phrase_contains
from suggestions.proposals import EVIDENCE_MIN, TOPIC_SOURCES_MIN, Draft, Facts, Refusal

# Control, format (bidi and zero-width), surrogate, private-use and unassigned characters; line breaks.
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# How probable chance may be that gives any topic with other names of a run as many likes. Whoever chose these
# names has seen which titles were liked, so the bar is above that of the planner's own topics
# (docs/suggestions.md).
CHANCE_MAX = 0.01
# No interest ranks lower than this share of one without any (`ranking.scoring`).
INTEREST_MIN = 0.05


class TopicKind(ChangeKind):
    """A change of a reader's interests."""

    field = Field.TOPICS
    group = ("topics", gettext_noop("Topics"))
    # A topic may be loved and rare: one article in four weeks is worth asking about.
    effect_days = 28

    @property
    def adds(self) -> bool:
        """Return whether the topic is there afterwards."""
        return self.liked

    def key(self, label: str) -> str:
        """Return the topic's key."""
        return topic_key(label)

    def key_given(self, target: object) -> str:
        """Return the key of the topic that a tool's argument names, as it would be stored."""
        return topic_key(topic_clean(target) or "")

    def finder(self, label: str) -> Finder:
        """Return what finds the topic in the text or among the labels."""
        finds = topic_finder(label)
        return lambda item: finds(item.text, item.labels)

    def text_rated(self, item: RatedItem, *, has_names: bool = False) -> str:
        """Return the folded title, or title and text for a new topic with other names, as ranking finds it.

        Sixteen names are in three times as many texts as titles, so the thumbs on them tell far more.
        """
        return text_whole(item) if has_names and self.is_named else fold(item.title)

    def state(self, effective: EffectiveConfig, label: str) -> State:
        """Return whether the topic is one of the interests."""
        return bool(topic_in_config(topic_key(label), effective.config.topics))

    def make(self, body: Body, change: Change) -> None:
        """Add the topic with its other names as the last one, or take it away.

        One already there keeps its spelling, place and names.
        """
        others = [topic for topic in body["topics"] if topic_key(topic) != topic_key(change.label)]
        if not change.after:
            body["topics"] = others
        elif len(others) == len(body["topics"]):
            body["topics"] = [*others, change.label]
            names_set(body, change.label, change.names)

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

    column, of_many_sources = TOPICS, True

    def nested(self, target: str, other: str) -> bool:
        """Return whether one topic is inside another as whole words."""
        return phrase_contains(other, target)

    def candidates(self, attributes: Attributes, effective: EffectiveConfig) -> Iterator[Change]:
        """Yield the topics that may be added, or that are there and may go."""
        for key, label in attributes.labels(TOPICS).items():
            own = topic_in_config(key, effective.config.topics)
            if bool(own) is not self.adds:
                yield self.change(own or label, effective)

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
            message = "target and suggested_value name different topics. Name one."
            return Refusal("field_mismatch", message, named)
        key = keys.pop()
        own = topic_in_config(key, facts.effective.config.topics)
        if self.adds and own:
            return Refusal("topic_already_present", f"“{own}” is already one of the reader's topics.", named)
        if not self.adds and not own:
            return Refusal("topic_not_present", f"“{topics[0]}” is not one of the reader's topics.", named)
        return self.change(own or topics[0], facts.effective)

    def stored(self, target: str, value: str, current: str) -> Change:
        """Return the change of a stored suggestion."""
        return Change(self, target, value, not self.adds, self.adds)

    def change(self, label: str, effective: EffectiveConfig) -> Change:
        """Return the change that adds or removes the topic, with the other names it has."""
        return Change(self, topic_key(label), label, not self.adds, self.adds).named_in(effective)

    def evidence_refusal(self, change: Change) -> Refusal | None:
        """Refuse a topic with evidence from too few sources (`too_few_sources`). An author needs only one
        source."""
        cited = change.evidence
        by_author = all(topics_among([change.label], label_keys((), item.author)) for item in cited)
        if by_author or len({item.source for item in cited}) >= TOPIC_SOURCES_MIN:
            return None
        message = f"A topic needs evidence from {TOPIC_SOURCES_MIN} sources; this is all from one."
        return change.refusal("too_few_sources", message)

    def rescore(self, score: float, interest: float, ratio: float, *, made: bool) -> float:
        """Return the score with or without the topic, which adds 1 to the interest of an item about it."""
        moved = interest + (1.0 if self.adds is made else -1.0)
        return score * max(INTEREST_MIN, moved) / max(INTEREST_MIN, interest)


class NewTopicKind(TopicKind):
    """A new interest, which may bring other names of its topic."""

    is_named = True

    def read(self, draft: Draft, facts: Facts, named: str) -> Change | Refusal:
        """Return the change of a draft with the other names that it gives."""
        change = super().read(draft, facts, named)
        if isinstance(change, Refusal) or not draft.other_names:
            return change
        return self._with_names(change, draft, facts)

    def _with_names(self, change: Change, draft: Draft, facts: Facts) -> Change | Refusal:
        """Return the change with the other names of a draft, or the refusal of the first that is none."""
        names: dict[str, str] = {}
        for one in draft.other_names:
            name = topic_clean(one)
            if name is None or lure_problem(name):
                message = (
                    f"Another name is one line of 1 to {TOPIC_MAX_CHARS} letters and digits, no address."
                )
                return change.refusal("invalid_name", message)
            if own := topic_in_config(topic_key(name), facts.effective.config.topics):
                message = f"“{own}” is one of the reader's topics. Leave it out of other_names."
                return change.refusal("invalid_name", message)
            names.setdefault(topic_key(name), name)
        if facts.bare:
            message = "This run has written a suggestion without other names. Try other names before that."
            return change.refusal("names_late", message)
        names.pop(change.target, None)
        if len(names) > NAMES_MAX:
            message = f"A topic has at most {NAMES_MAX} other names, not {len(names)}."
            return change.refusal("invalid_name", message)
        tried = {topic_key(name): name for one in draft.names_tried if (name := topic_clean(one)) is not None}
        left_out = tuple(name for key, name in tried.items() if key not in {change.target, *names})
        return replace(change, names=tuple(names.values()), names_tried=left_out)

    def contradiction(self, change: Change, rated: Sequence[RatedItem]) -> Refusal | None:
        """Refuse a topic with other names that chance may explain, or a name of mostly disliked articles."""
        if disliked := names_disliked(change.names, rated):
            quoted = ", ".join(f"“{name}”" for name in disliked)
            message = f"The reader disliked most items that say {quoted}. Leave these names out."
            return change.refusal("name_disliked", message)
        return self._by_chance(change, rated) if change.names else None

    def _by_chance(self, change: Change, rated: Sequence[RatedItem]) -> Refusal | None:
        """Refuse a topic that would have as many likes in too many of the readers with shuffled thumbs.

        Articles count by title and text, as ranking finds them, and by every name that the run has tried for
        the topic. If names could be left out until the rest is liked enough, all readers would have a topic.
        The n-th topic of a run may spend 1 / n(n + 1) of `CHANCE_MAX`, so that all of them together, however
        many, spend no more than the whole.
        """
        terms = (change.label, *change.names, *change.names_tried)
        about = [rated[n] for n in sorted({n for rows in rows_saying(terms, rated) for n in rows})]
        likes, likes_all = (sum(item.useful for item in some) for some in (about, rated))
        tried = max(1, change.tried)
        if drawn_above(likes, len(about), likes_all, len(rated)) * tried * (tried + 1) <= CHANCE_MAX:
            return None
        message = (
            f"{likes} likes of {len(about)} articles about “{change.label}” by any of its names may well be "
            f"chance, as this run has tried {tried} topics. Choose another hypothesis."
        )
        return change.refusal("weak_evidence", message)


ADD_TOPIC = NewTopicKind(
    ADD,
    name=Kind.ADD_TOPIC,
    opposite=Kind.REMOVE_TOPIC,
    patterns=Patterns("new_topics_backfire", favoured_by="open_to_new_topics"),
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
        for_model=(
            "a word or phrase the reader wants to see more of; `other_names`, if their "
            "articles use other words for it (Wimbledon for tennis); write these first"
        ),
    ),
)
REMOVE_TOPIC = TopicKind(
    REMOVE,
    name=Kind.REMOVE_TOPIC,
    liked=False,
    opposite=Kind.ADD_TOPIC,
    patterns=Patterns("removals_backfire"),
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
        for_model="a topic in their config that no longer serves them",
    ),
)


def rows_saying(names: Sequence[str], rated: Sequence[RatedItem]) -> list[list[int]]:
    """Return for each name the places of the rated items that say it in title or text, or have it as a label.

    Each text is folded once, however many names there are.
    """
    if not names:
        return []
    texts = [(text_whole(item), label_keys(item.categories, item.author)) for item in rated]
    return [[n for n, one in enumerate(texts) if finds(*one)] for finds in map(topic_finder, names)]


def text_whole(item: RatedItem) -> str:
    """Return title and text of a rated item, folded as for ranking."""
    return fold_lightly(f"{item.title}\n{item.text}")


def names_disliked(names: Sequence[str], rated: Sequence[RatedItem]) -> tuple[str, ...]:
    """Return the names of which the reader rated some items that say them, and disliked most of these."""
    likes = [[rated[n].useful for n in rows] for rows in rows_saying(names, rated)]
    disliked = [len(useful) >= EVIDENCE_MIN and 2 * sum(useful) < len(useful) for useful in likes]
    return tuple(name for name, is_disliked in zip(names, disliked, strict=True) if is_disliked)


def names_unsaid(names: Sequence[str], rated: Sequence[RatedItem]) -> tuple[str, ...]:
    """Return the names that none of the rated items says."""
    return tuple(name for name, rows in zip(names, rows_saying(names, rated), strict=True) if not rows)


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


def topic_in_config(key: str, topics: Sequence[str]) -> str:
    """Return the config's own spelling of the topic with this key, or "" if it has none."""
    return next((topic for topic in topics if topic_key(topic) == key), "")
