"""A place for each item of a source until one has seen it: never_miss. Pure.

It may be suggested for a source of which the reader liked all they rated, and that posts rarely.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from digest.entities import RatedItem
from ranking.common.probability import beta_below
from ranking.entities import EffectiveConfig
from ranking.language import gettext_noop
from suggestions.changes.change import Change, Field, Kind, State, Texts
from suggestions.changes.source_rules import (
    CHANCE_MAX,
    P_UNMEASURED_MAX,
    RATINGS_MIN,
    SourceRuleKind,
    by_source,
    chance_of,
    evidence_of,
    tests_of,
)
from suggestions.proposals import Draft, Facts

KEEP = "keep"
YES = "yes"


class NeverMissedKind(SourceRuleKind):
    """A place for each item of a source."""

    field = Field.NEVER_MISSED
    rule = "never_missed"
    keeps_all = True
    # Of five places a day such a source may take two, so that others have theirs.
    posts_a_day_max = 2.0
    value_refused = 'The value of never_miss is "yes".'

    def value_read(self, value: object) -> State:
        """Return `True` for yes."""
        return True if value in (True, YES, "True") else None

    def value_text(self, state: State, label: str) -> str:
        """Return "yes", or nothing."""
        return YES if state else ""

    def with_value(self, draft: Draft, facts: Facts) -> Draft:
        """Return the draft with the only value there is if it has none."""
        return draft if draft.suggested_value not in (None, "") else replace(draft, suggested_value=YES)

    def found(self, rated: Sequence[RatedItem], effective: EffectiveConfig) -> Iterator[Change]:
        """Yield the sources of which everything was liked, more clearly than chance."""
        for source, own in by_source(rated).items():
            change = self.change(source, True)
            if not self.state(effective, source) and self.probability(change, rated):
                yield change.with_evidence(evidence_of(own))

    def probability(self, change: Change, rated: Sequence[RatedItem]) -> float:
        """Return P(the reader likes it more than the rest), 0 if they disliked any or it may be chance."""
        own = [item for item in rated if item.source == change.target]
        likes = sum(item.useful for item in rated)
        if not all(item.useful for item in own):
            return 0.0
        if chance_of(likes, len(rated), len(own)) > CHANCE_MAX / tests_of(rated):
            return 0.0
        rest = len(rated) - len(own)
        rate = (likes - len(own) + 1) / (rest + 2)
        return min(P_UNMEASURED_MAX, 1 - beta_below(1 + len(own), 1, rate))


NEVER_MISS = NeverMissedKind(
    KEEP,
    name=Kind.NEVER_MISS,
    evidence_min=RATINGS_MIN,
    texts=Texts(
        headline=gettext_noop("Never miss anything from {label}"),
        title="Never miss {}",
        doing="keeping places for {} source",
        targets="sources never to miss",
        about=(gettext_noop("sources never to miss"), gettext_noop("never missing {}")),
        sentence=gettext_noop(
            "Each article from {label} has a place in your digest until one has shown it. "
            "The page of the source counts them."
        ),
        impact=gettext_noop("No article from {label} will be missing from your digests."),
        nothing_left=gettext_noop("Nothing of {label} is missed already, so nothing had to change."),
        for_model="a place for each item of a rare source; five liked, none disliked",
        argument='"yes"',
    ),
)
