"""How fast news ages on the page, one step at a time: age_faster, age_slower. Pure.

Within each source the ages of the liked items, when they were rated, are compared with those of the others by
their ranks (`strata_z`), so that a disliked source of old pieces has no effect. It takes z = 2.75 either way.
Chance gives that to six of a thousand readers.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from math import log
from statistics import median

from digest.entities import RatedItem
from ranking.common.probability import logistic
from ranking.config_body import Body
from ranking.entities import EffectiveConfig
from ranking.language import gettext as _
from ranking.language import gettext_noop
from ranking.setting_scale import FRESHNESS
from ranking.source_rules import hours_words
from suggestions.changes.change import FRESHER, OLDER, Change, ChangeKind, Field, Finder, Kind, State, Texts
from suggestions.changes.pages import PAGE_LABEL, PageKind
from suggestions.changes.source_rules import RATINGS_MIN, by_source, evidence_of, strata_z
from suggestions.proposals import Draft, Facts, Refusal

# There is one speed at which the news of a page ages.
TARGET = "freshness"
FASTER, SLOWER = "faster", "slower"
THUMBS_MIN, SURE_Z, SURE_P = 20, 2.75, 0.8
HALF_LIVES = sorted(hours for hours, _words in FRESHNESS.values())


class HalfLifeSetting(ChangeKind):
    """A change of the half-life."""

    field = Field.HALF_LIFE

    def state(self, effective: EffectiveConfig, label: str) -> State:
        """Return the half-life in hours."""
        return effective.config.recency_half_life_hours

    def make(self, body: Body, change: Change) -> None:
        """Set the half-life."""
        body["recency_half_life_hours"] = float(change.after or 0.0)

    def undo(self, body: Body, earlier: Body, change: Change) -> None:
        """Set the half-life that was there."""
        body["recency_half_life_hours"] = earlier["recency_half_life_hours"]


class FreshnessKind(HalfLifeSetting):
    """Any other half-life, which may only be wished for."""

    def finder(self, label: str) -> Finder:
        """Return what finds no item, because freshness is about no single one."""
        return lambda _item: False


class HalfLifeKind(PageKind, HalfLifeSetting):
    """A step of the half-life to the next level."""

    target = TARGET
    has_own_rule = True

    @property
    def is_faster(self) -> bool:
        """Return whether news would age faster."""
        return self.direction == FASTER

    def next_level(self, current: float) -> float | None:
        """Return the next level of the half-life on the way, or `None` at its end."""
        levels = [hours for hours in HALF_LIVES if (hours < current) is self.is_faster and hours != current]
        return (max if self.is_faster else min)(levels, default=None)

    def change(self, effective: EffectiveConfig) -> Change | None:
        """Return the change by one step, or `None` if there is no further one."""
        current = effective.config.recency_half_life_hours
        hours = self.next_level(current)
        return None if hours is None else Change(self, TARGET, PAGE_LABEL, current, hours)

    def found(self, rated: Sequence[RatedItem], effective: EffectiveConfig) -> Iterator[Change]:
        """Yield the step if the ratings bear it out, with the older items that say so."""
        change = self.change(effective)
        if change is None or not self.probability(change, rated):
            return
        middle = median(_age(item) for item in rated)
        older = [item for item in rated if _age(item) > middle and item.useful is self.liked]
        if len(older) >= RATINGS_MIN:
            yield change.with_evidence(evidence_of(older))

    def probability(self, change: Change, rated: Sequence[RatedItem]) -> float:
        """Return P(newer, or older, items are liked more), 0 below twenty ratings or the bar."""
        z = age_z(rated) * (-1 if self.is_faster else 1)
        if len(rated) < THUMBS_MIN or z < SURE_Z:
            return 0.0
        return logistic(log(SURE_P / (1 - SURE_P)) * z / SURE_Z)

    def stored(self, target: str, value: str, current: str) -> Change:
        """Return the change of a stored suggestion."""
        return Change(self, TARGET, PAGE_LABEL, float(current) if current else None, float(value))

    def read(self, draft: Draft, facts: Facts, named: str) -> Change | Refusal:
        """Return the change of a draft. It is always one step."""
        change = self.change(facts.effective)
        if change is None:
            return Refusal("no_change", "News ages at the last level of this way already.", TARGET)
        return change

    def value_text(self, state: State, label: str) -> str:
        """Return the hours."""
        return f"{float(state or 0.0):g}"

    def state_word(self, state: State) -> str:
        """Return the hours."""
        return f"{float(state or 0.0):g} hours"

    def value_words(self, value: str) -> str:
        """Return the half-life in words: "12 hours"."""
        return hours_words(round(float(value)))

    def reason(self, label: str, counts: tuple[int, int, int, int], *, is_author: bool) -> str:
        """Return which items of a source were liked more often."""
        which = "newer" if self.is_faster else "older"
        return f"Of the {counts[1]} articles you rated, you liked the {which} ones of a source more often."

    def still_words(self, label: str, about: int) -> str:
        """Return why today's page would not change."""
        return _("Today’s page would not change: all that is on it is of one age.")


def age_z(rated: Sequence[RatedItem]) -> float:
    """Return how clearly the liked items of each source are the older ones (below 0: the newer ones)."""
    return strata_z([[(_age(item), item) for item in own] for own in by_source(rated).values()])


def _age(item: RatedItem) -> float:
    """Return the hours of an item's age when it was rated."""
    return (item.at - item.dated_at) / timedelta(hours=1)


MAKE_FRESHER, MAKE_OLDER = FreshnessKind(FRESHER), FreshnessKind(OLDER)
AGE_FASTER = HalfLifeKind(
    FASTER,
    name=Kind.AGE_FASTER,
    liked=False,
    opposite=Kind.AGE_SLOWER,
    evidence_min=RATINGS_MIN,
    texts=Texts(
        headline=gettext_noop("Let news age faster on my page"),
        title="Let news age faster",
        doing="{} faster ageing of news",
        targets="faster ageing of news",
        about=(gettext_noop("how fast news ages"), gettext_noop("how fast news ages")),
        sentence=gettext_noop("An article counts half after {value}, so newer ones move up."),
        impact=gettext_noop("Newer articles will rank higher in your digest."),
        nothing_left=gettext_noop("News ages at this speed already, so nothing had to change."),
        for_model="news ages a step faster",
        argument="target `freshness`",
    ),
)
AGE_SLOWER = HalfLifeKind(
    SLOWER,
    name=Kind.AGE_SLOWER,
    opposite=Kind.AGE_FASTER,
    evidence_min=RATINGS_MIN,
    texts=Texts(
        headline=gettext_noop("Let good pieces stay longer on my page"),
        title="Let news age slower",
        doing="{} slower ageing of news",
        targets="slower ageing of news",
        about=(gettext_noop("how fast news ages"), gettext_noop("how fast news ages")),
        sentence=gettext_noop("An article counts half after {value} only, so older ones move up."),
        impact=gettext_noop("Older articles will rank higher in your digest."),
        nothing_left=gettext_noop("News ages at this speed already, so nothing had to change."),
        for_model="a step slower",
        argument="target `freshness`",
    ),
)
