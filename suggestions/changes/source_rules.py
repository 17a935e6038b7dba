"""The shared part of kinds of change about a rule for a source (`ranking.source_rules`). Pure.

No forecast is possible: past ratings tell nothing about items that were never shown, and no score changes. So
each kind needs evidence that chance does not give: at least five ratings, all of one sign, with

    P(so many by chance) = C(k, m) / C(n, m)  at most 0.05 / tests

where k of all n ratings have that sign, m are the five or more, and `tests` is the number of rules that could
have been found (Bonferroni). A daily limit tests all sources together first (`chance_max` of its kind). The
confidence is never high, and the card says that nothing could be measured beforehand.
"""

from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import sqrt
from typing import Any, ClassVar

from digest.entities import RatedItem
from ranking.common.probability import beta_below, drawn_above
from ranking.config_body import Body
from ranking.entities import EffectiveConfig
from ranking.language import gettext as _
from ranking.source_rules import rules_of, rules_read, rules_set
from suggestions.changes.change import Change, CutPart, State
from suggestions.changes.sources import SourceKind
from suggestions.proposals import Draft, Facts, Refusal

RATINGS_MIN, CHANCE_MAX, WITHIN_LIKES_MIN = 5, 0.05, 3
# A probability that was not measured is never called sure.
P_UNMEASURED_MAX = 0.79


class SourceRuleKind(SourceKind):
    """A change that sets a rule for a source without one of its kind."""

    has_own_rule = True
    is_measured = False
    # The name of the rule in `SourceRules`.
    rule: ClassVar[str]

    def state(self, effective: EffectiveConfig, label: str) -> State:
        """Return the rule that the source has; `None` or `False` for none."""
        value: State = getattr(rules_of(effective.config, label), self.rule)
        return value

    def make(self, body: Body, change: Change) -> None:
        """Set the rule."""
        self._set(body, change.target, change.after)

    def undo(self, body: Body, earlier: Body, change: Change) -> None:
        """Give the source the rule that it had."""
        self._set(body, change.target, getattr(rules_read(earlier, change.target), self.rule))

    def _set(self, body: Body, source: str, value: State) -> None:
        chosen: dict[str, Any] = {self.rule: value}
        rules_set(body, source, replace(rules_read(body, source), **chosen))

    @abstractmethod
    def value_read(self, value: object) -> State:
        """Return the rule's value in a draft; `None` if it is none."""

    def change(self, source: str, value: State) -> Change:
        """Return the change that sets this rule."""
        return Change(self, source, source, None, value)

    def stored(self, target: str, value: str, current: str) -> Change:
        """Return the change of a stored suggestion."""
        return self.change(target, self.value_read(value))

    def read(self, draft: Draft, facts: Facts, named: str) -> Change | Refusal:
        """Return the change of a draft about a source that the reader has and has set no such rule for."""
        key = self.source_named(draft, facts, named)
        if isinstance(key, Refusal):
            return key
        value = self.value_read(draft.suggested_value)
        if value is None:
            return Refusal("invalid_rule", self.value_refused, key)
        if self.state(facts.effective, key):
            return Refusal("no_change", "The reader has set such a rule for this source already.", key)
        return self.change(key, value)

    # The valid values, for an agent.
    value_refused: ClassVar[str] = ""

    def value_text(self, state: State, label: str) -> str:
        """Return the value as suggestions store it."""
        return str(state) if state else ""

    def state_word(self, state: State) -> str:
        """Return the value, or "none"."""
        return str(state) if state else "none"

    def still_words(self, label: str, about: int) -> str:
        """Return why today's page would not change."""
        return _("Today’s page would not change: it keeps to this rule already.")


class CutKind(SourceRuleKind):
    """A rule that leaves out items beyond a number: hours of age, or a place on the page.

    It is supported if the reader liked none beyond it, and at least three within it.
    """

    @abstractmethod
    def measure(self, rated: Sequence[RatedItem]) -> list[tuple[float, RatedItem]]:
        """Return the ratings of one source, each with the number that the rule cuts."""

    cuts: ClassVar[Sequence[int]]

    def found(self, rated: Sequence[RatedItem], effective: EffectiveConfig) -> Iterator[Change]:
        """Yield for each source without such a rule the least likely by chance, of equal ones the mildest."""
        for source, own in by_source(rated).items():
            if self.state(effective, source):
                continue
            borne_out = [cut for cut in self.cuts if self.probability(self.change(source, cut), rated)]
            if not borne_out:
                continue
            cut = min(borne_out, key=lambda one: (self._chance(own, one), -one))
            beyond, _within = cut_parts(self.measure(own), cut)
            change = self.change(source, cut).with_evidence(evidence_of(beyond))
            yield self.with_counts(change, own)

    def probability(self, change: Change, rated: Sequence[RatedItem]) -> float:
        """Return P(the reader likes less beyond the cut than within it), 0 if that may be chance."""
        own, cut = [item for item in rated if item.source == change.target], float(change.after or 0)
        beyond, within = cut_parts(self.measure(own), cut)
        likes = sum(item.useful for item in within)
        if any(item.useful for item in beyond) or likes < WITHIN_LIKES_MIN:
            return 0.0
        if self._chance(own, cut) > self.chance_max(rated):
            return 0.0
        rate = (likes + 1) / (len(within) + 2)
        return min(P_UNMEASURED_MAX, beta_below(1, 1 + len(beyond), rate))

    def chance_max(self, rated: Sequence[RatedItem]) -> float:
        """Return the highest probability by chance that one rule may have."""
        return CHANCE_MAX / (len(self.cuts) * tests_of(rated))

    def _chance(self, own: Sequence[RatedItem], cut: float) -> float:
        """Return the probability that chance alone put this many disliked items, and no other, beyond a
        cut."""
        beyond, _within = cut_parts(self.measure(own), cut)
        return chance_of(sum(not item.useful for item in own), len(own), len(beyond))

    def with_counts(self, change: Change, rated: Sequence[RatedItem]) -> Change:
        """Return the change with a note of the liked items beyond the cut and within it."""
        own = [item for item in rated if item.source == change.target]
        beyond, within = cut_parts(self.measure(own), float(change.after or 0))
        likes = sum(item.useful for item in within)
        note = self.counts.format(beyond=len(beyond), value=change.after, likes=likes, within=len(within))
        return replace(change, notes=(note,))

    def parts(self, change: Change, rated: Sequence[RatedItem]) -> list[CutPart]:
        """Return what was liked between neighbouring cuts, and beyond the last one."""
        measured = self.measure([item for item in rated if item.source == change.target])
        ends: list[int | None] = [*self.cuts, None]
        found, low = [], float("-inf")
        for end in ends:
            high = float("inf") if end is None else float(end)
            useful = [item.useful for at, item in measured if low < at <= high]
            found.append(CutPart(end, sum(useful), len(useful)))
            low = high
        return found


def cut_parts(
    measured: Sequence[tuple[float, RatedItem]], cut: float
) -> tuple[list[RatedItem], list[RatedItem]]:
    """Return the ratings beyond a cut, and those within it."""
    return [one for at, one in measured if at > cut], [one for at, one in measured if at <= cut]


def strata_z(strata: Sequence[Sequence[tuple[float, RatedItem]]]) -> float:
    """Return how clearly the liked items of each stratum have the higher numbers (below 0: the lower ones).

    A Wilcoxon test in strata (van Elteren 1960): z = sum(U - m n / 2) / sqrt(sum(m n (m + n + 1) / 12)). U
    counts the pairs in which the liked item has the higher number. m items are liked and n are not.
    """
    surplus = variance = 0.0
    for measured in strata:
        liked = [number for number, item in measured if item.useful]
        others = sorted(number for number, item in measured if not item.useful)
        m, n = len(liked), len(others)
        pairs = sum(bisect_left(others, one) + bisect_right(others, one) for one in liked) / 2
        surplus += pairs - m * n / 2
        variance += m * n * (m + n + 1) / 12
    return surplus / sqrt(variance) if variance else 0.0


def by_source(rated: Sequence[RatedItem]) -> dict[str, list[RatedItem]]:
    """Return the ratings by source."""
    found: dict[str, list[RatedItem]] = {}
    for item in rated:
        found.setdefault(item.source, []).append(item)
    return found


def tests_of(rated: Sequence[RatedItem]) -> int:
    """Return for how many sources a rule could be found: those with five ratings or more."""
    return max(1, sum(len(own) >= RATINGS_MIN for own in by_source(rated).values()))


def chance_of(of_sign: int, ratings: int, drawn: int) -> float:
    """Return the probability that `drawn` of `ratings` all have a sign that `of_sign` have; 1 for too few."""
    return drawn_above(drawn, drawn, of_sign, ratings) if drawn >= RATINGS_MIN else 1.0


def evidence_of(items: Sequence[RatedItem]) -> list[RatedItem]:
    """Return the five newest of these ratings, newest first."""
    return sorted(items, key=lambda item: item.at, reverse=True)[:RATINGS_MIN]
