"""Find early changes: clear tendencies in a reader's first answers, before suggestions are possible.

A source or category is judged as the learning loop judges a source (`ranking.learning`): a Beta posterior of
its like-rate, clear if P(rate > the reader's own) is at least 0.75, or at most 0.25. The loop acts without
asking, so it waits for five thumbs on a source, for more certainty and for its week. An early change asks
after three thumbs for the usual step of a wish, and leaves alone settings that the loop or the reader has
moved. A category counts only answers about sources that do not lean themselves. Pure.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from digest.entities import RatedItem
from ranking.entities import EffectiveConfig, SourceTally
from ranking.language import gettext as _
from ranking.language import gettext_noop
from ranking.learning import Posterior, base_rate, posterior
from suggestions.changes.change import ADD, LESS, MORE, Change
from suggestions.changes.phrases import categories_frequent
from suggestions.proposals import Facts, Refusal
from suggestions.rules import change_permission
from suggestions.wishes.changes import change_of
from suggestions.wishes.wish import SOURCE, TOPIC, USUAL, Target, Wish

ANSWERS_MIN = 5
# The most wishes for more, and for less, that a reader takes in at a glance.
SIDE_MAX = 2
# Three thumbs of the last fortnight; they decay by half in sixty days.
THUMBS_MIN = 2.5
# From here on a lean is asked about. After twenty answers of MovieLens' readers this limit and the usual step
# gain 1.2 to 2.7 times as much as 0.8 and the smallest step; somewhat more changes do harm (docs/planner.md).
SURE_MIN = 0.75
# Sums of decayed thumbs are equal up to this.
_NOTHING = 1e-6
# A wish and how sure it is: P(the like-rate lies on its side of the reader's own).
SureWish = tuple[Wish, float]


def answers_differ(tallies: Iterable[SourceTally]) -> bool:
    """Return whether there are answers enough, of both kinds.

    Who likes everything, or nothing, likes no source more than another.
    """
    rows = list(tallies)
    likes, total = sum(row.likes for row in rows), sum(row.n for row in rows)
    return sum(row.count for row in rows) >= ANSWERS_MIN and _NOTHING < likes < total - _NOTHING


def wishes_early(
    *, tallies: Sequence[SourceTally], rated: Sequence[RatedItem], titles: Mapping[str, str]
) -> list[Wish]:
    """Return the wishes that all of a reader's answers support, the surest first.

    `titles` are those of the reader's sources.
    """
    if not answers_differ(tallies):
        return []
    base = base_rate(sum(tally.likes for tally in tallies), sum(tally.n for tally in tallies))
    sources = _sources(tallies, titles, base)
    leaning = {wish.target.key for wish, _ in sources}
    topics = _topics([item for item in rated if item.source not in leaning], titles, base)
    read = [(wish, sureness) for wish, sureness in sources if wish.target.key in titles]
    surest = sorted([*read, *topics], key=lambda one: (-one[1], one[0].target.key))
    return [wish for wish, _ in surest]


def changes_early(wishes: Iterable[Wish], *, facts: Facts, settled: Collection[str]) -> list[Change]:
    """Return the changes that `wishes` mean: two of more at most, then two of less.

    Sources that have a weight of their own, or a learned one, are left alone, and so are those in `settled`.
    """
    settled = {*settled} | _weighed_sources(facts.effective)
    open_ = [wish for wish in wishes if wish.target.key not in settled]
    changes = [change for wish in open_ if (change := _change(wish, facts))]
    more = [change for change in changes if change.kind.liked]
    less = [change for change in changes if not change.kind.liked]
    return [*more[:SIDE_MAX], *less[:SIDE_MAX]]


_SOURCES = {MORE: gettext_noop("more {source}"), LESS: gettext_noop("less {source}")}


def answers_on(change: Change, rated: Sequence[RatedItem]) -> tuple[int, int]:
    """Return how many of the rated articles that a change is about were liked, and how many they are."""
    found = [item.useful for item in change.among(rated)]
    return sum(found), len(found)


def early_words(
    changes: Iterable[Change], titles: Mapping[str, str], answers: Iterable[tuple[int, int]]
) -> str:
    """Return changes in a few words: "more Quiet Port (you liked 3 of 3), less Gigawow (0 of 4)".

    `answers` are those of `answers_on`, in the changes' order.
    """
    parts: list[str] = []
    for change, (likes, thumbs) in zip(changes, answers, strict=True):
        counts = _("you liked {likes} of {thumbs}") if not parts else _("{likes} of {thumbs}")
        parts.append(f"{_change_words(change, titles)} ({counts.format(likes=likes, thumbs=thumbs)})")
    return ", ".join(parts)


def _change_words(change: Change, titles: Mapping[str, str]) -> str:
    if change.kind.of_source:
        return _(_SOURCES[change.kind.direction]).format(source=titles.get(change.label, change.label))
    return _("more about “{target}”").format(target=change.label)


def _weighed_sources(effective: EffectiveConfig) -> set[str]:
    learned = {source for source, delta in effective.deltas.items() if delta}
    return {*effective.config.source_weights} | learned


def _sources(tallies: Iterable[SourceTally], titles: Mapping[str, str], base: float) -> list[SureWish]:
    found = []
    for tally in tallies:
        belief = posterior(tally.likes, tally.n, base)
        if tally.n < THUMBS_MIN or 1 - SURE_MIN < belief.p_better < SURE_MIN:
            continue
        target = Target(SOURCE, tally.source, titles.get(tally.source, tally.source))
        found.append(_sure(MORE if belief.p_better >= SURE_MIN else LESS, target, belief))
    return found


def _topics(rated: Sequence[RatedItem], titles: Mapping[str, str], base: float) -> list[SureWish]:
    """Return the categories liked more than usual; less of one has no setting that a suggestion may touch."""
    found = []
    for category in categories_frequent(rated, titles):
        likes = sum(rated[n].useful for n in category.items)
        belief = posterior(likes, len(category.items), base)
        if belief.p_better >= SURE_MIN:
            found.append(_sure(ADD, Target(TOPIC, category.label, category.label), belief))
    return found


def _sure(direction: str, target: Target, belief: Posterior) -> SureWish:
    return Wish(direction, target, USUAL), max(belief.p_better, 1 - belief.p_better)


def _change(wish: Wish, facts: Facts) -> Change | None:
    """Return the change of a wish if all rules but those of evidence permit it."""
    change = change_of(wish, facts)
    if isinstance(change, Refusal):
        return None
    return None if change_permission(change, facts) else change
