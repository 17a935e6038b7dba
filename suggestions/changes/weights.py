"""More or less weight for a source: boost_source, reduce_source. Pure.

Weights are proposed in hundredths, move by at most 0.3, and stay within [0.1, 2.0].
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from math import ceil, floor, isfinite

from ranking.config_body import Body, body_weigh
from ranking.entities import SAME_WEIGHT, WEIGHT_MAX, WEIGHT_MIN, EffectiveConfig, clamp_weight
from ranking.language import gettext as _
from ranking.language import gettext_noop, ngettext
from suggestions.changes.change import LESS, MORE, Change, Field, Kind, Patterns, State, Texts
from suggestions.changes.columns import SOURCES, Attributes
from suggestions.changes.sources import SourceKind
from suggestions.proposals import WEIGHT_STEP_MAX, Draft, Facts, Refusal

# A smaller step is no change that a reader could notice.
STEP_MIN = 0.01
# A shorter rest of the way to a bound is not worth a reader's time.
SOURCE_STEP_MIN = 0.1
# Weights travel as decimal text, so bounds are compared with this much slack.
_SLACK = 1e-9
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]{1,12}(?:\.[0-9]{1,12})?")


class WeightKind(SourceKind):
    """A change of a source's weight."""

    field = Field.SOURCE_WEIGHTS
    weighs = True
    column = SOURCES
    places_min = 3

    def state(self, effective: EffectiveConfig, label: str) -> State:
        """Return the effective weight, rounded as wishes are signed."""
        return round(effective.weight(label), 4)

    def make(self, body: Body, change: Change) -> None:
        """Give the source exactly this weight, without a learned delta."""
        weight = change.weight
        if weight is not None and isfinite(weight):
            weight = clamp_weight(weight)
        # A value that is no number stays, so that the save refuses it.
        body_weigh(body, {change.target: weight})

    def undo(self, body: Body, earlier: Body, change: Change) -> None:
        """Give the source the person's weight and the learned delta that it had."""
        for part in ("source_weights", "learned"):
            body[part].pop(change.target, None)
            if change.target in earlier[part]:
                body[part][change.target] = earlier[part][change.target]

    def same(self, before: EffectiveConfig, after: EffectiveConfig, label: str) -> bool:
        """Return whether both weights are one."""
        return abs(before.weight(label) - after.weight(label)) < SAME_WEIGHT

    def changed_by_hand(self, agreed: EffectiveConfig, current: EffectiveConfig, label: str) -> bool:
        """Return whether a person gave the source another weight since."""
        return agreed.config.source_weights.get(label) != current.config.source_weights.get(label)

    def candidates(self, attributes: Attributes, effective: EffectiveConfig) -> Iterator[Change]:
        """Yield the largest step of each source, unless it is too short to be worth a reader's time."""
        for source in attributes.sources:
            current = effective.weight(source)
            weight = weight_clamp(weight_bounds(current)[self.liked], current)
            if abs(weight - current) >= SOURCE_STEP_MIN - _SLACK and (weight > current) is self.liked:
                yield self.change(source, effective, weight)

    def read(self, draft: Draft, facts: Facts, named: str) -> Change | Refusal:
        """Return the change of a draft about a source that the reader has."""
        key = self.source_named(draft, facts, named)
        if isinstance(key, Refusal):
            return key
        weight = weight_parse(draft.suggested_value)
        if weight is None:
            return Refusal("invalid_weight", "The suggested weight must be a plain number such as 1.3.", key)
        return self.change(key, facts.effective, weight)

    def stored(self, target: str, value: str, current: str) -> Change:
        """Return the change of a stored suggestion; a value that is no weight sets none."""
        return Change(self, target, target, weight_parse(current), weight_parse(value))

    def change(self, source: str, effective: EffectiveConfig, weight: float) -> Change:
        """Return the change that gives `source` this weight."""
        return Change(self, source, source, round(effective.weight(source), 4), float(weight))

    def with_value(self, draft: Draft, facts: Facts) -> Draft:
        """Return the draft with the largest permitted step if it has no weight."""
        if draft.suggested_value not in (None, ""):
            return draft
        bounds = weight_bounds(facts.effective.weight(str(draft.target_key)))
        return replace(draft, suggested_value=bounds[self.liked])

    def step(self, change: Change, facts: Facts) -> Change | Refusal:
        """Return the change with its weight in reach, or why it is in the wrong direction or none."""
        current, wanted = facts.effective.weight(change.target), change.weight or 0.0
        weight = weight_clamp(wanted, current)
        if abs(weight - current) < STEP_MIN - _SLACK:
            message = f"The weight is already {weight_text(current)}; there is nothing to change."
            return change.refusal("no_change", message)
        if (weight > current) is not self.liked:
            side = "above" if self.liked else "below"
            message = f"{self.name} needs a weight {side} the current {weight_text(current)}."
            return change.refusal("wrong_direction", message)
        notes: tuple[str, ...] = ()
        if abs(weight - wanted) >= STEP_MIN:
            limit = (
                f"at most {WEIGHT_STEP_MAX} from {weight_text(current)}, within {WEIGHT_MIN} and {WEIGHT_MAX}"
            )
            notes = (f"Weight clamped from {wanted:g} to {weight_text(weight)} ({limit}).",)
        return replace(change, after=weight, notes=notes)

    def rescore(self, score: float, interest: float, ratio: float, *, made: bool) -> float:
        """Return the score at the other weight: a score is proportional to it."""
        return score * ratio

    def value_text(self, state: State, label: str) -> str:
        """Return a weight as text."""
        return weight_text(float(state or 0.0))

    def state_word(self, state: State) -> str:
        """Return a weight as text."""
        return weight_text(float(state or 0.0))

    def still_words(self, label: str, about: int) -> str:
        """Return why today's page would not change."""
        if not about:
            words = _("Today’s page would not change: no article of the last seven days is from {label}.")
            return words.format(label=label)
        words = ngettext(
            "Today’s page would not change: the {n} recent article from {label} would keep its place, "
            "on the page or below it.",
            "Today’s page would not change: the {n} recent articles from {label} would keep their places, "
            "on the page or below it.",
            about,
        )
        return words.format(n=about, label=label)


_SAME = gettext_noop("It was already as you agreed to.")
BOOST_SOURCE = WeightKind(
    MORE,
    name=Kind.BOOST_SOURCE,
    opposite=Kind.REDUCE_SOURCE,
    patterns=Patterns("boosts_backfire"),
    texts=Texts(
        headline=gettext_noop("Show me more from {label}"),
        title="More from {}",
        doing="boosting {} source",
        targets="sources to raise",
        about=(gettext_noop("more from a source"), gettext_noop("more from {}")),
        impact=gettext_noop("Articles from {label} will rank higher in your digest."),
        small=gettext_noop("Articles from {label} will rank a bit higher in your digest."),
        nothing_left=_SAME,
        for_model="more weight for a source they like",
    ),
)
REDUCE_SOURCE = WeightKind(
    LESS,
    name=Kind.REDUCE_SOURCE,
    liked=False,
    opposite=Kind.BOOST_SOURCE,
    patterns=Patterns("reductions_backfire", barred_by="never_reduce_sources"),
    texts=Texts(
        headline=gettext_noop("Show me less from {label}"),
        title="Less from {}",
        doing="reducing {} source",
        targets="sources to lower",
        about=(gettext_noop("less from a source"), gettext_noop("less from {}")),
        impact=gettext_noop("Articles from {label} will rank lower in your digest."),
        small=gettext_noop("Articles from {label} will rank a bit lower in your digest."),
        nothing_left=_SAME,
        for_model="less weight for a source they dislike",
    ),
)


def weight_parse(value: object) -> float | None:
    """Return a finite number from a number or a plain decimal string ("1.3"); `None` for anything else."""
    if isinstance(value, str) and _PLAIN_NUMBER.fullmatch(value.strip()):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:
        return None


def step_share(chosen: str, current: str, proposed: str) -> float | None:
    """Return a chosen weight's step as a share of the proposed one; `None` unless all three are weights."""
    after, before, target = (weight_parse(value) for value in (chosen, current, proposed))
    if after is None or before is None or target is None or abs(target - before) < _SLACK:
        return None
    return (after - before) / (target - before)


def weight_text(weight: float) -> str:
    """Return a weight as stored and shown: at most two decimals, at least one ("1.0", "1.25")."""
    text = f"{weight:.2f}"
    return text[:-1] if text.endswith("0") else text


def weight_bounds(current: float, kind: str = "") -> tuple[float, float]:
    """Return the lowest and highest weight that may be proposed or agreed from `current`.

    With the `kind` of a suggestion those a reader may choose instead: more stays more, less stays less.
    """
    down, up = {BOOST_SOURCE.name: (0, 1), REDUCE_SOURCE.name: (1, 0)}.get(kind, (1, 1))
    low, high = current - down * WEIGHT_STEP_MAX, current + up * WEIGHT_STEP_MAX
    return max(WEIGHT_MIN, low), min(WEIGHT_MAX, high)


def weight_clamp(wanted: float, current: float) -> float:
    """Return `wanted` in hundredths, within ±0.3 of `current` and within [0.1, 2.0]."""
    low, high = weight_bounds(current)
    clamped = round(max(low, min(high, wanted)), 2)
    if clamped > high + _SLACK:
        return floor(high * 100) / 100
    return ceil(low * 100) / 100 if clamped < low - _SLACK else clamped
