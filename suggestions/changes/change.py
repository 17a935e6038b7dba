"""One change of a reader's settings, and the interface of every kind of change. Pure.

A kind is an object, and code with a change asks its kind. `registry` lists them. Only code about certain
kinds names them: patterns of a profile (`outcomes/profile.py`), sentences of memories, wishes, bounds of a
weight.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple, Self

from digest.entities import RatedItem
from ranking.common.categories import label_keys
from ranking.common.text import fold_lightly
from ranking.config_body import Body, body_effective, body_validate, effective_body
from ranking.entities import Candidate, EffectiveConfig
from ranking.language import gettext as _
from ranking.language import gettext_noop, ngettext
from suggestions.changes.columns import Attributes, Column
from suggestions.proposals import EVIDENCE_MIN, Draft, Facts, Refusal

# The ways of a change, as wishes name them.
MORE, LESS, NONE, UNMUTE = "more", "less", "none", "unmute"
ADD, REMOVE = "add", "remove"
FRESHER, OLDER = "fresher", "older"
ORDER = "order"
# A setting: a weight, a boost, hours, whether a topic is there, the last day of a mute (`True`: for ever).
State = float | bool | str | None


class Field(StrEnum):
    """The settings that a change can be about, by their names in a config."""

    TOPICS = "topics"
    SOURCE_WEIGHTS = "source_weights"
    MUTES = "mutes"
    KEYWORD_BOOSTS = "keyword_boosts"
    HALF_LIFE = "recency_half_life_hours"
    TASTE = "taste"
    SHELF_LIVES = "shelf_lives"
    DAILY_LIMITS = "daily_limits"
    NEVER_MISSED = "never_missed"


class Kind(StrEnum):
    """The kinds of change that may be suggested."""

    ADD_TOPIC = "add_topic"
    REMOVE_TOPIC = "remove_topic"
    BOOST_SOURCE = "boost_source"
    REDUCE_SOURCE = "reduce_source"
    MUTE_WORD = "mute_word"
    ORDER_BY_TASTE = "order_by_taste"
    SHELF_LIFE = "shelf_life"
    DAILY_LIMIT = "daily_limit"
    NEVER_MISS = "never_miss"
    AGE_FASTER = "age_faster"
    AGE_SLOWER = "age_slower"


@dataclass(frozen=True, slots=True)
class Texts:
    """The sentences of a kind, in English, each with {label} for the target; `sentence` may have {value}.

    `headline` is in the reader's words. For an agent, "{}" being the target, `title` is a few words and
    `doing` the action ("{}" being "a" or "this"). For operators `targets` name the targets. `about` is the
    type without and with a target, for tips. `sentence` is the effect of accepting if no figure shows it;
    `impact` the consequence, `small` that of a small step, `author` that for a target that is an author.
    `nothing_left` is the note on an accept that changed nothing.
    `for_model` is the kind's line in the agent's prompt, and `argument` what stands there beside its code:
    the one target there is, or what the value means.
    """

    headline: str
    title: str
    doing: str
    targets: str
    about: tuple[str, str]
    impact: str
    nothing_left: str
    for_model: str
    argument: str = ""
    sentence: str = ""
    small: str = ""
    author: str = ""


@dataclass(frozen=True, slots=True)
class Patterns:
    """The patterns of a reader's profile about a kind; "" for none.

    `backfires` says that its effects were harmful, `favoured_by` that it comes first, and `barred_by` that it
    is not proposed.
    """

    backfires: str = ""
    favoured_by: str = ""
    barred_by: str = ""


NO_PATTERNS = Patterns()


class Aspects(NamedTuple):
    """What tells whether an item is about a target: its source, folded text, and the keys of its labels."""

    source: str
    text: str
    labels: frozenset[str]

    @classmethod
    def of(cls, source: str, text: str, categories: Sequence[str], author: str) -> Self:
        """Return the aspects of an item by its columns. `text` is the folded text to look in."""
        return cls(source, text, label_keys(categories, author))


# Whether an item is about a target.
Finder = Callable[[Aspects], bool]


@dataclass(frozen=True, slots=True)
class CutPart:
    """The ratings between two neighbouring cuts of a rule; `up_to` is `None` beyond the last cut."""

    up_to: int | None
    likes: int
    ratings: int


class ChangeKind(ABC):
    """One kind of change. Kinds with the same targets share a base class, which knows these.

    `name` is the code of a suggestion, or "" for a kind that is only wished for. `direction` is its name in
    wishes. `liked` tells whether liked or disliked items support it, `evidence_min` how many at least.
    `patterns` are those of a profile that are about it.
    """

    field: ClassVar[Field]
    # The types of its targets, as `Change.variant` names them. Kinds of one setting with other variants have
    # other targets. These have other keys, since a setting has one target of a key.
    variants: ClassVar[tuple[str, ...]] = ("",)
    # Whether a target is a source's key, which an operator may rename or delete.
    of_source: ClassVar[bool] = False
    # Whether it changes a source's weight, so that there is a step to choose.
    weighs: ClassVar[bool] = False
    # Whether a statistical rule of its own finds and weighs it (`found`, `probability`), and not the reader's
    # lean towards a target. Of these kinds a run proposes the surest change only. Kinds of one setting agree.
    has_own_rule: ClassVar[bool] = False
    # Whether ratings held out can measure it beforehand.
    is_measured: ClassVar[bool] = True
    # Whether it keeps a place for every item of its target, so that none of them is ever gone.
    keeps_all: ClassVar[bool] = False
    # The most items a day that its source may bring in the long run; `None`: any number.
    posts_a_day_max: ClassVar[float | None] = None
    # What the numbers are that it cuts at, and the note of what was liked on each side; "": it cuts at none.
    axis: ClassVar[str] = ""
    counts: ClassVar[str] = ""
    # Whether it is about the whole page, so that there is one target and every item is about it.
    of_page: ClassVar[bool] = False
    # Whether its target may get other names.
    is_named: ClassVar[bool] = False
    # The group of cards on the page: its key and its heading.
    group: ClassVar[tuple[str, str]] = ("", "")

    def __init__(
        self,
        direction: str,
        *,
        name: Kind | None = None,
        texts: Texts | None = None,
        liked: bool = True,
        opposite: Kind | None = None,
        patterns: Patterns = NO_PATTERNS,
        evidence_min: int = EVIDENCE_MIN,
    ) -> None:
        self.name: str = name or ""
        self.direction, self.liked, self.opposite = direction, liked, opposite
        self.patterns, self.evidence_min = patterns, evidence_min
        self._texts = texts

    def __repr__(self) -> str:
        return f"<{self.name or self.field} {self.direction}>"

    @property
    def texts(self) -> Texts:
        """Return the sentences of a kind that may be suggested."""
        assert self._texts is not None, f"{self!r} is only wished for"
        return self._texts

    # --- Targets ------------------------------------------------------------------------------------------

    def key(self, label: str) -> str:
        """Return the identity of a target by its spelling."""
        return label

    def key_of_setting(self, target: str) -> str:
        """Return the identity of a target as versions of a config and pins name it."""
        return self.key(target)

    def name_of(self, label: str, titles: Mapping[str, str]) -> str:
        """Return the reader's name for the target; `titles` are those of sources, by key."""
        return label

    def key_given(self, target: object) -> str:
        """Return the identity of a target as a tool's argument names it; "" if there is none."""
        return self.key(target) if isinstance(target, str) and target else ""

    def nested(self, target: str, other: str) -> bool:
        """Return whether one target is part of another one, so that a longer name covers it."""
        return False

    @abstractmethod
    def finder(self, label: str) -> Finder:
        """Return the function that finds the items about the target. Nothing else tells what is about it."""

    def finder_of(self, spellings: Iterable[str]) -> Finder:
        """Return a `finder` of a target with several names."""
        finders = [self.finder(one) for one in spellings]
        return finders[0] if len(finders) == 1 else lambda item: any(finds(item) for finds in finders)

    def text_rated(self, item: RatedItem, *, has_names: bool = False) -> str:
        """Return the folded text of a rated item in which a target, that `has_names`, is looked for."""
        return ""

    def as_found(self, item: RatedItem, *, has_names: bool = False) -> Aspects:
        """Return a rated item as the `finder` of a target, that `has_names`, is asked about it."""
        text = self.text_rated(item, has_names=has_names)
        return Aspects.of(item.source, text, item.categories, item.author)

    def touches(self, change: "Change", item: Candidate) -> bool:
        """Return whether a change is about an item as ranking finds it, in title and text."""
        text = fold_lightly(f"{item.title}\n{item.text}")
        return change.finder(Aspects.of(item.source, text, item.categories, item.author))

    # --- Settings -----------------------------------------------------------------------------------------

    @abstractmethod
    def state(self, effective: EffectiveConfig, label: str) -> State:
        """Return the target's setting."""

    @abstractmethod
    def make(self, body: Body, change: "Change") -> None:
        """Make the change in the body of a config, in place."""

    @abstractmethod
    def undo(self, body: Body, earlier: Body, change: "Change") -> None:
        """Give the target, in place, the setting that it had in `earlier`."""

    def state_for(self, change: "Change", effective: EffectiveConfig) -> State:
        """Return the setting that `change` would change."""
        return self.state(effective, change.label)

    def same(self, before: EffectiveConfig, after: EffectiveConfig, label: str) -> bool:
        """Return whether the target has the same setting in both."""
        return self.state(before, label) == self.state(after, label)

    def changed_by_hand(self, agreed: EffectiveConfig, current: EffectiveConfig, label: str) -> bool:
        """Return whether a person changed the target since; learned weights do not count."""
        return not self.same(agreed, current, label)

    # --- Which changes may be tried -----------------------------------------------------------------------

    # The column that its targets are among; `None` for a kind without `candidates`.
    column: ClassVar[Column | None] = None
    # The effect that a change must have had to be asked about: so many places in the first tens of the last
    # seven days, else of the last `effect_days` days.
    places_min: ClassVar[int] = 1
    effect_days: ClassVar[int] = 7
    # Whether evidence should come from as many sources as there are. The planner chooses it so, the critique
    # warns of one source, and reviewers doubt a vague word. Nothing is refused: a kind that needs two sources
    # refuses in `evidence_refusal`.
    of_many_sources: ClassVar[bool] = False

    def candidates(self, attributes: Attributes, effective: EffectiveConfig) -> Iterator["Change"]:
        """Yield the changes that could be proposed, of the targets in a reader's ratings."""
        yield from ()

    # --- A draft ------------------------------------------------------------------------------------------

    def stored(self, target: str, value: str, current: str) -> "Change":
        """Return the change of a stored suggestion."""
        raise NotImplementedError

    def read(self, draft: Draft, facts: Facts, named: str) -> "Change | Refusal":
        """Return the change that a draft means, or the refusal. `named` is its target for refusals."""
        raise NotImplementedError

    def with_value(self, draft: Draft, facts: Facts) -> Draft:
        """Return a draft with the largest permitted step if it names a target without a value."""
        return draft

    def step(self, change: "Change", facts: Facts) -> "Change | Refusal":
        """Return the change within the bounds of its kind, or the refusal of its step."""
        return change

    def evidence_refusal(self, change: "Change") -> Refusal | None:
        """Refuse the cited items by rules of this kind alone."""
        return None

    def contradiction(self, change: "Change", rated: Sequence[RatedItem]) -> Refusal | None:
        """Refuse the change if the reader's ratings contradict it, even if the cited items do not."""
        return None

    def found(self, rated: Sequence[RatedItem], effective: EffectiveConfig) -> Iterator["Change"]:
        """Yield the changes that a rule of this kind finds in the ratings, each with its evidence."""
        yield from ()

    def probability(self, change: "Change", rated: Sequence[RatedItem]) -> float:
        """Return P(it helps) of a kind with its own rule, or 0 if the ratings do not support it."""
        return 0.0

    def with_counts(self, change: "Change", rated: Sequence[RatedItem]) -> "Change":
        """Return the change with a note about its evidence, if the reason does not name it."""
        return change

    def parts(self, change: "Change", rated: Sequence[RatedItem]) -> list[CutPart]:
        """Return what was liked of a source between the cuts of its rule, in order; empty without cuts."""
        return []

    # --- The check after two weeks --------------------------------------------------------------------------

    def rescore(self, score: float, interest: float, ratio: float, *, made: bool) -> float:
        """Return the score of an item about the target as it would be with the change `made`, or without it.

        `ratio` is that of the target's effective weight then to the one now.
        """
        return score

    # --- Words --------------------------------------------------------------------------------------------

    # How articles are about the target.
    about: ClassVar[str] = "about"

    def named(self, label: str) -> str:
        """Return the target as a sentence about its articles names it."""
        return label

    def value_text(self, state: State, label: str) -> str:
        """Return a setting as suggestions store it."""
        return label if state else ""

    def value_words(self, value: str) -> str:
        """Return a stored value as a sentence names it."""
        return value

    def state_word(self, state: State) -> str:
        """Return a setting for an agent."""
        return "present" if state else "absent"

    def reason(self, label: str, counts: tuple[int, int, int, int], *, is_author: bool) -> str:
        """Return the counts in a sentence to be stored, in English.

        `counts` are likes and ratings of the target, then of all else.
        """
        likes, thumbs, else_likes, else_thumbs = counts
        about = "by" if is_author else self.about
        there = "article" if thumbs == 1 else "articles"
        start = f"You liked {likes} of {thumbs} {there} {about} {self.named(label)}"
        return f"{start}, against {else_likes} of {else_thumbs} elsewhere." if else_thumbs else f"{start}."

    # Whether its target gets no more ratings, so that the check rests on earlier ones that were not cited.
    hides: ClassVar[bool] = False

    def measured(self, label: str, counts: tuple[int, int, int, int]) -> str:
        """Return the like-rates that the check compares, in English; `counts` as for `reason`.

        Those of a hidden target are from before it was hidden.
        """
        likes, ratings, else_likes, else_ratings = counts
        about = f"{likes} of {ratings} articles {self.about} {self.named(label)}"
        others = f"against {else_likes} of {else_ratings} elsewhere"
        if self.hides:
            return f"Before you hid it you liked {about} that were not shown as evidence, {others} since."
        return f"Since then you liked {about}, {others}."

    def still_words(self, label: str, about: int) -> str:
        """Return why today's page would not change; `about` counts the recent items about the target."""
        if not about:
            words = _("Today’s page would not change: no article of the last seven days is about {label}.")
            return words.format(label=label)
        words = ngettext(
            "Today’s page would not change: the {n} recent article about {label} would keep its place, "
            "on the page or below it.",
            "Today’s page would not change: the {n} recent articles about {label} would keep their places, "
            "on the page or below it.",
            about,
        )
        return words.format(n=about, label=label)


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one setting, as it is read, weighed, shown, made and undone.

    `target` is its target's identity, `label` the spelling; `before` and `after` are states of the setting.
    `names` are the other names of a topic: those that it gets, or has. `variant` is the kind of a mute,
    `within` the key of the only source in which it hides. `tried` counts the topics that a run has tried
    other names for, and `names_tried` are the names that it has tried for this one and left out. Of a draft
    `evidence` are the cited ratings, `ungrounded` counts cited addresses that the reader never rated, and
    `notes` say how the rules corrected it. If it rests on what the reader wrote beside these articles, not
    on thumbs, `words` is the newest such line.
    """

    kind: ChangeKind
    target: str
    label: str
    before: State
    after: State
    variant: str = ""
    evidence: tuple[RatedItem, ...] = ()
    ungrounded: int = 0
    notes: tuple[str, ...] = field(default=())
    within: str = ""
    names: tuple[str, ...] = ()
    tried: int = 0
    names_tried: tuple[str, ...] = ()
    words: str = ""

    @property
    def suggestion_type(self) -> str:
        """Return the code of its kind; "" for a kind that is only wished for."""
        return self.kind.name

    @property
    def field(self) -> Field:
        """Return the setting it is about."""
        return self.kind.field

    @property
    def current_value(self) -> str:
        """Return the setting as it is, as suggestions store it."""
        return self.kind.value_text(self.before, self.label)

    @property
    def suggested_value(self) -> str:
        """Return the new setting as suggestions store it. A removed target is named."""
        return self.kind.value_text(self.after, self.label) or self.label

    @property
    def targets(self) -> tuple[str, ...]:
        """Return the keys that it is about: its target, and the other names that a new topic gets."""
        names = self.names if self.kind.is_named else ()
        return self.target, *(key for key in map(self.kind.key, names) if key != self.target)

    @property
    def weight(self) -> float | None:
        """Return the weight it sets; `None` for anything but weights."""
        return self.after if isinstance(self.after, float) else None

    @property
    def evidence_urls(self) -> tuple[str, ...]:
        """Return the addresses of the items that it rests on."""
        return tuple(item.url for item in self.evidence)

    @property
    def evidence_min(self) -> int:
        """Return how many articles it has to cite."""
        return EVIDENCE_MIN if self.words else self.kind.evidence_min

    def refusal(self, code: str, message: str) -> Refusal:
        """Return the refusal of this change."""
        return Refusal(code, message, self.target)

    @property
    def finder(self) -> Finder:
        """Return the function that finds the items about its target, by any of its names."""
        return self.kind.finder_of((self.label, *self.names))

    def concerns(self, item: RatedItem) -> bool:
        """Return whether a rated item is about its target, by any of its names."""
        return bool(self.among([item]))

    def touches(self, item: Candidate) -> bool:
        """Return whether it is about an item as ranking finds it."""
        return self.kind.touches(self, item)

    def state_in(self, effective: EffectiveConfig) -> State:
        """Return the setting that it would change."""
        return self.kind.state_for(self, effective)

    def among(self, rated: Sequence[RatedItem]) -> tuple[RatedItem, ...]:
        """Return the ratings that are about its target."""
        finds, kind, has_names = self.finder, self.kind, bool(self.names)
        return tuple(item for item in rated if finds(kind.as_found(item, has_names=has_names)))

    def make(self, body: Body) -> None:
        """Make it in the body of a config, in place."""
        self.kind.make(body, self)

    def undo(self, body: Body, earlier: Body) -> None:
        """Give its target, in place, the setting that it had in `earlier`."""
        self.kind.undo(body, earlier, self)

    def applied(self, effective: EffectiveConfig) -> EffectiveConfig:
        """Return the settings with it made, whether or not they could be saved."""
        body = effective_body(effective)
        self.make(body)
        return body_effective(body)

    def saved(self, effective: EffectiveConfig) -> EffectiveConfig:
        """Return the settings as a save would make them. Raises `InvalidSetting`."""
        body = effective_body(effective)
        self.make(body)
        body_validate(body)
        return body_effective(body)

    def named_in(self, effective: EffectiveConfig) -> "Change":
        """Return it with the other names that a topic has in these settings, unless it brings its own."""
        if self.names or self.field is not Field.TOPICS:
            return self
        return replace(self, names=tuple(effective.config.other_names.get(self.target, ())))

    def with_evidence(self, evidence: Sequence[RatedItem]) -> "Change":
        """Return it with other items as evidence."""
        return replace(self, evidence=tuple(evidence))

    def as_dict(self) -> dict[str, Any]:
        """Return the change as plain JSON values; `registry.change_of_dict` reads them."""
        return {
            "field": str(self.field),
            "direction": self.kind.direction,
            "target": self.label,
            "before": self.before,
            "after": self.after,
            "kind": self.variant,
            "within": self.within,
        }


Rule = Callable[[Change], Refusal | None]
# The reason of a change that rests on the reader's own words.
WROTE = gettext_noop("You wrote: “{words}”.")
# The sentences that `ChangeKind.reason` makes, for the languages in which they are shown.
REASONS = (
    gettext_noop("Of the {thumbs} articles you rated, you liked the newer ones of a source more often."),
    gettext_noop("Of the {thumbs} articles you rated, you liked the older ones of a source more often."),
    gettext_noop(
        "We tested it on the {thumbs} articles you rated: "
        "your other ratings told which you liked, better than chance."
    ),
    # Stored before.
    gettext_noop(
        "Of the {thumbs} articles you rated, ratings of other days tell better than chance which you liked."
    ),
    gettext_noop(
        "You liked {likes} of {thumbs} article by {label}, against {else_likes} of {else_thumbs} elsewhere."
    ),
    gettext_noop("You liked {likes} of {thumbs} article by {label}."),
    gettext_noop(
        "You liked {likes} of {thumbs} articles by {label}, against {else_likes} of {else_thumbs} elsewhere."
    ),
    gettext_noop("You liked {likes} of {thumbs} articles by {label}."),
    gettext_noop(
        "You liked {likes} of {thumbs} article from {label}, against {else_likes} of {else_thumbs} elsewhere."
    ),
    gettext_noop("You liked {likes} of {thumbs} article from {label}."),
    gettext_noop(
        "You liked {likes} of {thumbs} articles from {label}, "
        "against {else_likes} of {else_thumbs} elsewhere."
    ),
    gettext_noop("You liked {likes} of {thumbs} articles from {label}."),
    gettext_noop(
        "You liked {likes} of {thumbs} article about {label}, "
        "against {else_likes} of {else_thumbs} elsewhere."
    ),
    gettext_noop("You liked {likes} of {thumbs} article about {label}."),
    gettext_noop(
        "You liked {likes} of {thumbs} articles about {label}, "
        "against {else_likes} of {else_thumbs} elsewhere."
    ),
    gettext_noop("You liked {likes} of {thumbs} articles about {label}."),
    gettext_noop(
        "You liked {likes} of {thumbs} articles with {label}, "
        "against {else_likes} of {else_thumbs} elsewhere."
    ),
    gettext_noop("You liked {likes} of {thumbs} articles with {label}."),
    WROTE,
)
