"""Mutes: the kind mute_word, and the other mutes, which are only wished for. Pure.

A word may be suggested if at least five disliked items say it in title or lead, and no liked item says it
anywhere. Some word is always unlucky, so chance must not explain it, with all words tried together. Hidden
items get no more thumbs, so the check after two weeks uses thumbs given earlier.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date

from digest.entities import RatedItem
from ranking.common.probability import drawn_above
from ranking.common.text import LEAD_CHARS, fold
from ranking.config_body import Body, term_searchable, term_visible
from ranking.entities import Candidate, Config, EffectiveConfig, Mute
from ranking.language import gettext as _
from ranking.language import gettext_noop
from ranking.mutes import KINDS, WORD, MuteFilter, mute_finder, mute_key, mutes_read
from suggestions.changes.change import (
    NONE,
    UNMUTE,
    Change,
    ChangeKind,
    Field,
    Finder,
    Kind,
    Patterns,
    State,
    Texts,
)
from suggestions.changes.columns import Attributes, Column
from suggestions.changes.phrases import WORD_ITEMS_MIN, words_disliked
from suggestions.changes.topics import topic_clean
from suggestions.proposals import TOPIC_SOURCES_MIN, Draft, Facts, Refusal

# How many words without a liked item chance may give a reader on average. Chosen on simulated readers
# (docs/planner.md).
BY_CHANCE_MAX = 0.5
_WORD = re.compile(r"[^\W\d_]{4,}")


class MuteKind(ChangeKind):
    """A mute of any kind. Its state is its last day."""

    field = Field.MUTES
    variants = tuple(KINDS)
    group = ("mutes", gettext_noop("Words to hide"))
    about = "with"

    def key(self, label: str) -> str:
        """Return the folded word."""
        return fold(label)

    def key_of_setting(self, target: str) -> str:
        """Return the key of `word:Rust`, as versions of a config name a mute, and of a bare pin."""
        return self.key(target.removeprefix(f"{self.variants[0]}:"))

    def finder(self, label: str) -> Finder:
        """Return what finds the word in the text."""
        finds = mute_finder(Mute(WORD, label))
        return lambda item: finds(item.text)

    def state(self, effective: EffectiveConfig, label: str) -> State:
        """Return the last day of the mute; `True` for ever, `False` for none."""
        return state_of(Mute(self.variants[0], label), effective)

    def state_for(self, change: Change, effective: EffectiveConfig) -> State:
        """Return the last day of the mute that `change` adds."""
        return state_of(mute_of(change), effective)

    def touches(self, change: Change, item: Candidate) -> bool:
        """Return whether the mute would hide the item."""
        return MuteFilter([mute_of(change)]).finds(item) is not None

    def make(self, body: Body, change: Change) -> None:
        """Add the mute, or give it another last day."""
        mute = mute_of(change)
        body["mutes"] = [one.as_dict() for one in (*_others(body, mute), mute)]

    def undo(self, body: Body, earlier: Body, change: Change) -> None:
        """Give the word the mute that it had, or none."""
        mute = mute_of(change)
        had = [one for one in mutes_read(earlier.get("mutes", [])) if mute_key(one) == mute_key(mute)]
        body["mutes"] = [one.as_dict() for one in (*_others(body, mute), *had)]

    hides = True


class WordColumn(Column):
    """The words that a reader may want to hide."""

    def found(self, rated: Sequence[RatedItem], titles: Mapping[str, str], config: Config) -> Iterable[str]:
        """Return the words of many disliked items and no liked one, but for the reader's own terms."""
        return words_disliked(rated, titles, (*config.topics, *config.keyword_boosts))


WORDS = WordColumn("words", fold)


class MuteWordKind(MuteKind):
    """A mute of a word, which may be suggested."""

    variants = (WORD,)
    column, of_many_sources = WORDS, True

    def text_rated(self, item: RatedItem, *, has_names: bool = False) -> str:
        """Return the folded title and lead."""
        return fold(f"{item.title}\n{item.text[:LEAD_CHARS]}")

    def candidates(self, attributes: Attributes, effective: EffectiveConfig) -> Iterator[Change]:
        """Yield the words that may be hidden."""
        for word in attributes.labels(WORDS).values():
            if not self.state(effective, word):
                yield self.change(word)

    def read(self, draft: Draft, facts: Facts, named: str) -> Change | Refusal:
        """Return the change of a draft; the word stands in `target_key`, `suggested_value`, or both."""
        given = [value for value in (draft.suggested_value, draft.target_key) if value not in (None, "")]
        words = [word for value in given if (word := topic_clean(value)) is not None]
        if not words or len(words) < len(given) or " " in words[0] or not term_searchable(words[0]):
            return Refusal("invalid_word", "A word to hide is one word with a letter or digit.", named)
        if len({fold(word) for word in words}) > 1:
            message = "target and suggested_value name different words. Name one."
            return Refusal("field_mismatch", message, named)
        if self.state(facts.effective, words[0]):
            return Refusal("word_already_muted", f"“{words[0]}” is hidden already.", named)
        return self.change(words[0])

    def stored(self, target: str, value: str, current: str) -> Change:
        """Return the change of a stored suggestion."""
        return Change(self, target, value, False, True, WORD)

    def change(self, word: str) -> Change:
        """Return the change that hides a word for ever."""
        return Change(self, fold(word), term_visible(word), False, True, WORD)

    def evidence_refusal(self, change: Change) -> Refusal | None:
        """Refuse a word with evidence from a single source: the reader may dislike the source."""
        if len({item.source for item in change.evidence}) >= TOPIC_SOURCES_MIN:
            return None
        message = f"A word to hide needs evidence from {TOPIC_SOURCES_MIN} sources; this is all from one."
        return change.refusal("too_few_sources", message)

    def contradiction(self, change: Change, rated: Sequence[RatedItem]) -> Refusal | None:
        """Refuse a word that a liked item says or is filed under, and one that chance may explain."""
        finds = mute_finder(Mute(WORD, change.label))
        texts = (fold("\n".join((item.title, item.text, *item.categories))) for item in rated)
        about = [item for item, text in zip(rated, texts, strict=True) if finds(text)]
        if liked := sum(item.useful for item in about):
            message = (
                f"The reader liked {liked} items that say “{change.label}”, which would be hidden. Drop it."
            )
            return change.refusal("evidence_contradicts", message)
        dislikes = sum(not item.useful for item in rated)
        by_chance = drawn_above(len(about), len(about), dislikes, len(rated))
        if by_chance * max(1, words_often(rated)) <= BY_CHANCE_MAX:
            return None
        message = (
            f"The reader disliked {dislikes} of {len(rated)} items, so all {len(about)} that say "
            f"“{change.label}” may well be chance. Choose another hypothesis."
        )
        return change.refusal("weak_evidence", message)

    def named(self, label: str) -> str:
        """Return the word in quotation marks."""
        return f"“{label}”"

    def still_words(self, label: str, about: int) -> str:
        """Return why today's page would not change: nothing on it says the word."""
        words = _("Today’s page would not change: no article on it says “{label}”.")
        return words.format(label=label)


MUTE_WORD = MuteWordKind(
    NONE,
    name=Kind.MUTE_WORD,
    liked=False,
    patterns=Patterns("mutes_backfire"),
    evidence_min=WORD_ITEMS_MIN,
    texts=Texts(
        headline=gettext_noop("Hide articles that say “{label}”"),
        title="Hide the word {}",
        doing="hiding {} word",
        targets="words to hide",
        about=(gettext_noop("hiding words"), gettext_noop("hiding the word “{}”")),
        sentence=gettext_noop(
            "Articles that say “{label}” in title or text are hidden everywhere, until you show them again "
            "under Settings."
        ),
        impact=gettext_noop("You will see no more articles that say “{label}”."),
        nothing_left=gettext_noop("“{label}” is hidden already, so nothing had to change."),
        for_model="hide one word that five or more disliked items say in title or lead, and no liked one",
    ),
)


class UnmuteKind(MuteKind):
    """The end of a mute."""

    def make(self, body: Body, change: Change) -> None:
        """Remove the mute."""
        body["mutes"] = [one.as_dict() for one in _others(body, mute_of(change))]


MUTE_ANYTHING = MuteKind(NONE, liked=False)
UNMUTE_ANYTHING = UnmuteKind(UNMUTE)


def words_often(rated: Iterable[RatedItem]) -> int:
    """Return how many words could have been found: those in titles or leads of at least five items."""
    items: Counter[str] = Counter()
    for item in rated:
        items.update(set(_WORD.findall(fold(f"{item.title}\n{item.text[:LEAD_CHARS]}"))))
    return sum(count >= WORD_ITEMS_MIN for count in items.values())


def state_of(mute: Mute, effective: EffectiveConfig) -> State:
    """Return the last day of a mute in `effective`; `True` for ever, `False` for none."""
    wanted = mute_key(mute)
    found = next((one for one in effective.config.mutes if mute_key(one) == wanted), None)
    return False if found is None else state_until(found.until)


def state_until(until: date | None) -> State:
    """Return the state of a mute with this last day."""
    return True if until is None else until.isoformat()


def mute_of(change: Change) -> Mute:
    """Return the mute that a change adds."""
    until = date.fromisoformat(change.after) if isinstance(change.after, str) else None
    return Mute(change.variant, change.label, until, change.within)


def _others(body: Body, mute: Mute) -> list[Mute]:
    return [one for one in mutes_read(body.get("mutes", [])) if mute_key(one) != mute_key(mute)]
