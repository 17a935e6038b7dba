"""What is ranked, by which settings, with which score; errors of writing settings. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

from ranking.language import gettext as _

WEIGHT_MIN = 0.1
WEIGHT_MAX = 2.0
WEIGHT_DEFAULT = 1.0
# Weights that differ by less are one: sums of floats lose that much.
SAME_WEIGHT = 1e-6
HALF_LIFE_HOURS_DEFAULT = 24.0
ALPHA_DEFAULT = 0.1


def clamp_weight(weight: float) -> float:
    """Return `weight` within [0.1, 2.0]: no source is ever silenced and none drowns the rest."""
    return max(WEIGHT_MIN, min(WEIGHT_MAX, weight))


@dataclass(frozen=True, slots=True)
class Candidate:
    """One item that may be ranked. `dated_at` is the time its age counts from.

    `categories` are as its publisher spells them in the feed that the words are of.
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
    """What a reader wants to see nothing of: a `kind` of `ranking.mutes.KINDS`, its value, and until when.

    The day `until` is the reader's own and the last one; `None` is for ever.
    """

    kind: str
    value: str
    until: date | None = None

    def as_dict(self) -> dict[str, str | None]:
        """Return plain JSON values, as a config's body has them."""
        until = self.until.isoformat() if self.until else None
        return {"kind": self.kind, "value": self.value, "until": until}


@dataclass(frozen=True, slots=True)
class Config:
    """A reader's ranking settings at one version."""

    version: int = 0
    topics: tuple[str, ...] = ()
    source_weights: Mapping[str, float] = field(default_factory=dict)
    keyword_boosts: Mapping[str, float] = field(default_factory=dict)
    recency_half_life_hours: float = HALF_LIFE_HOURS_DEFAULT
    ai_score_alpha: float = ALPHA_DEFAULT
    locked: tuple[str, ...] = ()
    avoided: tuple[str, ...] = ()
    mutes: tuple[Mute, ...] = ()


@dataclass(frozen=True, slots=True)
class EffectiveConfig:
    """A config together with what the learning loop has added to it: the only thing that ranks.

    `learned_at` is when the loop last ran; it tells no two of them apart.
    """

    config: Config
    deltas: Mapping[str, float] = field(default_factory=dict)
    learned_at: datetime | None = field(default=None, compare=False)

    def weight(self, source: str) -> float:
        """Return the effective weight of `source`: config weight (default 1.0) + learned delta, clamped."""
        base = self.config.source_weights.get(source, WEIGHT_DEFAULT)
        return clamp_weight(base + self.deltas.get(source, 0.0))

    def without_steps(self, steps: Mapping[str, tuple[float, float]]) -> "EffectiveConfig":
        """Return these settings without `steps`, where the source still has the weight that the step set.

        `steps` has the effective weight (before, after) by source.
        """
        deltas = dict(self.deltas)
        for source, (before, after) in steps.items():
            if abs(self.weight(source) - after) < SAME_WEIGHT:
                deltas[source] = before - self.config.source_weights.get(source, WEIGHT_DEFAULT)
        return replace(self, deltas=deltas)

    def weights(self) -> dict[str, float]:
        """Return the effective weight of each source that has one of its own."""
        return {source: self.weight(source) for source in {*self.config.source_weights, *self.deltas}}


@dataclass(frozen=True, slots=True)
class ScoreBreakdown:
    """The factors of one score: multiply the weight, the recency and the interest to get it back."""

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
    # What reading adds to interest, and of how many shown items of the source so many were opened.
    reading: float = 0.0
    opened: int = 0
    shown: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values, as stored with an impression."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        return {**plain, "topics": list(self.topics), "boosts": dict(self.boosts)}


@dataclass(frozen=True, slots=True)
class Score:
    """One candidate's place in the order, with the reasons for it."""

    candidate: Candidate
    total: float
    parts: ScoreBreakdown


@dataclass(frozen=True, slots=True)
class SourceTally:
    """Decayed thumbs of one reader on one source. `n` and `likes` are sums of 2^(-age / half-life)."""

    source: str
    n: float
    likes: float
    count: int


@dataclass(frozen=True, slots=True)
class WeightChange:
    """What one learning cycle decided for one source, moved or not."""

    source: str
    before: float
    after: float
    p_better: float
    n: float
    reason: str

    @property
    def moved(self) -> bool:
        """Return whether the effective weight changes at all."""
        return abs(self.after - self.before) > 1e-9


@dataclass(frozen=True, slots=True)
class WeightPoint:
    """A change of a source's effective weight; `cause` is a version's, or "learned"."""

    source: str
    at: datetime
    before: float
    weight: float
    cause: str


class RankingError(Exception):
    """A refused write. `code` is stable; `message` says what was wrong and what to do."""

    code = "ranking_error"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class StaleVersion(RankingError):
    """The config changed after the page that is being saved was loaded."""

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
    """A version this reader never had."""

    code = "unknown_version"


class InvalidSetting(RankingError):
    """A value outside what ranking can work with."""

    code = "invalid_setting"


class InvalidMute(InvalidSetting):
    """A mute of no known kind, or of a value that could be in no item or would be in every one."""

    code = "invalid_mute"


class TooManyMutes(InvalidSetting):
    """More mutes than a config may have."""

    code = "too_many_mutes"
