"""Values of ranking: candidates, settings, scores, learning steps, and errors of writing settings. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from itertools import chain
from typing import Any

from ranking.language import gettext as _
from ranking.taste.entities import TasteLevel, TasteReason

WEIGHT_MIN = 0.1
WEIGHT_MAX = 2.0
WEIGHT_DEFAULT = 1.0
# Weights that differ by less are equal. Sums of floats are not more exact.
SAME_WEIGHT = 1e-6
HALF_LIFE_HOURS_DEFAULT = 24.0
ALPHA_DEFAULT = 0.1


def clamp_weight(weight: float) -> float:
    """Return `weight` limited to [0.1, 2.0], so that no source disappears and none dominates."""
    return max(WEIGHT_MIN, min(WEIGHT_MAX, weight))


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item to rank. Its age counts from `dated_at`.

    `categories` have the publisher's spelling, from the same feed as title and text.
    """

    item_id: int
    source: str
    title: str
    text: str
    dated_at: datetime
    author: str = ""
    url: str = ""
    categories: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Mute:
    """A reader's wish to hide items: a `kind` of `ranking.mutes.KINDS` and its value.

    `until` is the last day of the mute in the reader's time zone. `None` means for ever. `within` is the key
    of the only source in which it hides items; "" for everywhere.
    """

    kind: str
    value: str
    until: date | None = None
    within: str = ""

    def as_dict(self) -> dict[str, str | None]:
        """Return the mute as JSON values, as stored in a config's body; without `within` if it is empty."""
        until = self.until.isoformat() if self.until else None
        within = {"within": self.within} if self.within else {}
        return {"kind": self.kind, "value": self.value, "until": until, **within}


@dataclass(frozen=True, slots=True)
class Config:
    """A reader's ranking settings at one version."""

    version: int = 0
    topics: tuple[str, ...] = ()
    source_weights: Mapping[str, float] = field(default_factory=dict)
    keyword_boosts: Mapping[str, float] = field(default_factory=dict)
    recency_half_life_hours: float = HALF_LIFE_HOURS_DEFAULT
    # Whether freshness falls by whole days of the reader, or by the hour.
    recency_by_day: bool = True
    ai_score_alpha: float = ALPHA_DEFAULT
    locked: tuple[str, ...] = ()
    avoided: tuple[str, ...] = ()
    mutes: tuple[Mute, ...] = ()
    # Keys of topics that match by their words alone, and not by meaning.
    literal: tuple[str, ...] = ()
    # The boosted words that match by meaning, too, as topics do.
    by_meaning: tuple[str, ...] = ()
    # Other names of topics, by the key of the topic (`ranking.other_names`).
    other_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # How much the reader's own taste may change the order. Off until they say yes.
    taste: TasteLevel = TasteLevel.OFF
    # Rules for single sources, by key (`ranking.source_rules`).
    shelf_lives: Mapping[str, int] = field(default_factory=dict)
    daily_limits: Mapping[str, int] = field(default_factory=dict)
    never_missed: tuple[str, ...] = ()

    @property
    def boosts_wide(self) -> list[str]:
        """Return the boosted words that match by meaning, too."""
        return [word for word in self.by_meaning if word in self.keyword_boosts]

    @property
    def terms(self) -> set[str]:
        """Return every text that these settings search items for: topics, their other names, and boosts."""
        return {*self.topics, *chain(*self.other_names.values()), *self.keyword_boosts}


@dataclass(frozen=True, slots=True)
class EffectiveConfig:
    """A config with the learning loop's changes (`deltas` of weights by source). All ranking uses this.

    `learned_at` is the time of the loop's last run, and is ignored when two of them are compared.
    """

    config: Config
    deltas: Mapping[str, float] = field(default_factory=dict)
    learned_at: datetime | None = field(default=None, compare=False)

    def weight(self, source: str) -> float:
        """Return the effective weight of `source`: config weight (default 1.0) + learned delta, limited."""
        base = self.config.source_weights.get(source, WEIGHT_DEFAULT)
        return clamp_weight(base + self.deltas.get(source, 0.0))

    def without_steps(self, steps: Mapping[str, tuple[float, float]]) -> "EffectiveConfig":
        """Return the settings with learning steps undone.

        `steps` has the effective weights (before, after) by source. A source whose weight has changed since
        its step keeps it.
        """
        deltas = dict(self.deltas)
        for source, (before, after) in steps.items():
            if abs(self.weight(source) - after) < SAME_WEIGHT:
                deltas[source] = before - self.config.source_weights.get(source, WEIGHT_DEFAULT)
        return replace(self, deltas=deltas)

    def weights(self) -> dict[str, float]:
        """Return the effective weights of all sources with a config weight or a learned delta."""
        return {source: self.weight(source) for source in {*self.config.source_weights, *self.deltas}}

    def sources_moved(self, before: "EffectiveConfig") -> dict[str, int]:
        """Return the sources whose effective weight is higher (1) or lower (-1) than `before`."""
        steps = {s: self.weight(s) - before.weight(s) for s in {*self.weights(), *before.weights()}}
        return {s: 1 if step > 0 else -1 for s, step in steps.items() if abs(step) >= SAME_WEIGHT}


@dataclass(frozen=True, slots=True)
class ScoreBreakdown:
    """The parts of one score: `source_weight` x `recency` x `interest` x `taste` gives its total."""

    source_weight: float
    config_weight: float
    learned_delta: float
    age_hours: float
    recency: float
    topics: tuple[str, ...]
    boosts: Mapping[str, float]
    similarity: float
    community: float
    interest: float
    reported_by: int = 1
    # The amount that reading adds to interest; `opened` of the `shown` items of the source were opened.
    reading: float = 0.0
    opened: int = 0
    shown: int = 0
    # Topics that the item is about by meaning, without saying them.
    about: tuple[str, ...] = ()
    # The interest that each of these adds.
    about_worths: Mapping[str, float] = field(default_factory=dict)
    # Boosted words that the item is about by meaning, without saying them.
    boosts_about: tuple[str, ...] = ()
    # The other name that the item says, by topic, if it does not say the topic itself.
    named: Mapping[str, str] = field(default_factory=dict)
    # The age in whole days (`ranking.freshness`), `None` if freshness goes by the hour.
    age_days: int | None = None
    # The factor of the reader's taste and its reasons, the strongest first; 1 and none if it does not count.
    taste: float = 1.0
    tastes: tuple[TasteReason, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the parts as JSON values, as stored with an impression. What says nothing is left out."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        plain |= {"topics": list(self.topics), "about": list(self.about), "boosts": dict(self.boosts)}
        plain["tastes"] = [one.as_list() for one in self.tastes]
        plain["named"] = dict(self.named)
        plain["about_worths"] = {topic: round(worth, 4) for topic, worth in self.about_worths.items()}
        plain["boosts_about"] = list(self.boosts_about)
        for name in ("named", "about_worths", "boosts_about"):
            if not plain[name]:
                del plain[name]
        if self.taste == 1.0:
            del plain["taste"], plain["tastes"]
        return plain


@dataclass(frozen=True, slots=True)
class Score:
    """One candidate's score, with its breakdown."""

    candidate: Candidate
    total: float
    parts: ScoreBreakdown


@dataclass(frozen=True, slots=True)
class SourceTally:
    """The thumbs of one reader on one source.

    `n` (all thumbs) and `likes` are sums of 2^(-age / half-life), `count` is the number without decay, and
    `latest` is the time of the newest.
    """

    source: str
    n: float
    likes: float
    count: int
    latest: datetime | None = None


@dataclass(frozen=True, slots=True)
class WeightChange:
    """The decision of one learning cycle about one source, even if its weight stays.

    `before` and `after` are effective weights, `p_better` is P(like-rate > base rate), `n` the decayed
    thumbs.
    """

    source: str
    before: float
    after: float
    p_better: float
    n: float
    reason: str

    @property
    def moved(self) -> bool:
        """Return whether the effective weight changes."""
        return abs(self.after - self.before) > 1e-9


@dataclass(frozen=True, slots=True)
class WeightPoint:
    """A change of a source's effective weight. `cause` is the cause of a version, or "learned"."""

    source: str
    at: datetime
    before: float
    weight: float
    cause: str


class RankingError(Exception):
    """A write was refused. `code` is stable. `message` is for the reader: the problem and what to do."""

    code = "ranking_error"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class TooManyChanges(RankingError):
    """The reader has changed their settings as often as one may in a day."""

    code = "too_many_changes"


class StaleVersion(RankingError):
    """The config has changed since the page that the reader saves was loaded."""

    code = "config_changed"

    def __init__(self, *, seen: int, current: int, changed: Sequence[str]) -> None:
        listed = ", ".join(changed) or _("nothing you can see here")
        super().__init__(
            _(
                "Your settings moved on from version {seen} to {current} meanwhile ({listed}). Nothing "
                "was saved; look at them again and repeat your change."
            ).format(seen=seen, current=current, listed=listed)
        )
        self.seen, self.current, self.changed = seen, current, list(changed)


class UnknownVersion(RankingError):
    """This reader never had the version."""

    code = "unknown_version"


class InvalidSetting(RankingError):
    """A value is outside the range that ranking can use."""

    code = "invalid_setting"


class InvalidMute(InvalidSetting):
    """A mute has an unknown kind, or a value that would hide no item or every item."""

    code = "invalid_mute"


class TooManyMutes(InvalidSetting):
    """The config would have more than the allowed number of mutes."""

    code = "too_many_mutes"
